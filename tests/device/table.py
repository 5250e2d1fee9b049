#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A report of `make device` as a table to paste.

    table.py REPORT.json [ESTIMATE.json]

ESTIMATE.json is what `make a76 A76="--json ESTIMATE.json NET|BLOB ..."` wrote. A network that is in both has the estimated time of a
Cortex-A76 beside its own, in one thread, at the clock that was measured.
"""
import json
import os
import sys


def estimates(path):
    """Cycles of a run by the network's name; the shipped network is known by its folder."""
    if not path:
        return {}
    with open(path) as f:
        return {os.path.basename(os.path.dirname(net)) if net.endswith("/network.morsel") else os.path.basename(net):
                result["whole"]["cycles"] for net, result in json.load(f).items()}


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def heat(row):
    before, after = row["before"]["celsius"], row["after"]["celsius"]
    return f"{before:.0f} to {after:.0f}" if after else ""


def time_rows(report, cycles):
    for network in report["networks"]:
        for row in network["times"]:
            mhz = row["after"]["mhz"]
            estimate = cycles.get(network["name"]) if row["threads"] == 1 else None
            yield [network["name"], row["cores"], str(row["threads"]), *(f"{row[key]:.3f}" for key in ("p50_ms", "p95_ms", "p99_ms")),
                   f"{mhz:.0f}", heat(row), *([f"{estimate / mhz * 1e-3:.3f}" if estimate else ""] if cycles else []),
                   row["throttled"] or ""]


def bytes_rows(report):
    for network in report["networks"]:
        yield [network["name"], str(network["blob_bytes"]), str(network["arena_bytes"]), network["crc"], "yes" if network["same"] else "**no**"]


def cores(kind):
    facts = [f"{len(kind['cores'])} x {kind['name']}", f"up to {kind['max_mhz']} MHz" if kind["max_mhz"] else "", kind["governor"] or ""]
    return ", ".join(fact for fact in facts if fact)


def main():
    with open(sys.argv[1]) as f:
        report = json.load(f)
    cycles = estimates(sys.argv[2] if len(sys.argv) > 2 else None)
    print(f"**{report['device']}** ({report['machine']}, Linux {report['kernel']}), Morsel {report['morsel']}, {' '.join(report['isas'])}: "
          + "; ".join(map(cores, report["kinds"])) + "\n")
    for key, what in (("kernels", "kernels equal plain C"), ("golden", "recorded answers")):
        print(f"- {what}: {report[key]['compared'] - report[key]['failed']} of {report[key]['compared']}")
    print("\n" + table(["network", "blob bytes", "arena bytes", "CRC", "same by all kernels"], bytes_rows(report)))
    if report["emulated"]:
        print(f"\nNo times: {report['emulated_why']}.")
        return
    head = ["network", "cores", "threads", "p50 ms", "p95", "p99", "MHz", "C"] + (["Cortex-A76 by `make a76`, ms"] if cycles else []) + ["noticed"]
    print("\n" + table(head, time_rows(report, cycles)))


if __name__ == "__main__":
    main()
