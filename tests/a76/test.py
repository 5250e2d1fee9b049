# SPDX-License-Identifier: MIT
"""test.py [FOLDER]: the estimator on a program whose figures are known (probe.S)."""
import os
import subprocess
import sys

import core
import elf
import estimate
import trace

LINES, L1, L2, L3 = ((kb << 10) // 64 for kb in (4096, 64, 512, 2048))
OTHER = estimate.OTHER
failures = 0


def check(name, got, want, within=0.0):
    global failures
    good = abs(got - want) <= within * want
    failures += not good
    print(f"ok {name}" if good else f"FAIL {name}: {got}, not {want}" + (f" within {100 * within:g} %" if within else ""))


def lines(step, level, way):
    return round(step["mb"][level][way] / 64e-6)


def check_core(steps):
    for i, (name, cycles) in enumerate((("dots", 8), ("decoded", 10), ("late forwarding", 8), ("joined blocks", 4))):
        check(f"core: {name}", steps[i]["core_cycles"], 1000 * cycles, 0.02)
        check(f"core: {name}, nothing to wait for", steps[i]["cycles"], OTHER * steps[i]["core_cycles"], 0.001)


def check_lines(stores, first_loads, loads, reloads, across, whole):
    """Each step also reads its address from a line of its own."""
    check("stores: none comes at a price", sum(lines(stores, level, "to_stores") for level in ("L2", "L3")), 0)
    check("stores: cycles", stores["cycles"], OTHER * (2 * (LINES - L1) + 6 * (LINES - L2) + 15 * (LINES - L2 - L3)), 0.03)
    check("loads: cycles, and what was stored before", first_loads["cycles"], OTHER * (15 * LINES + 2 * L1 + 6 * L2 + 15 * (L2 + L3)), 0.03)
    for level in trace.LEVELS:
        check(f"what was stored goes back to {level}", lines(whole, level, "written_back"), LINES)
    check("loads: from DRAM", lines(loads, "DRAM", "to_loads"), LINES + 1)
    check("loads: a stream", loads["stray_mb"] < 0.001, True)
    check("loads: cycles", loads["cycles"], OTHER * 15 * LINES, 0.001)
    check("reloads: from L2", lines(reloads, "L2", "to_loads"), 9 * 4096)
    check("reloads: from beyond", lines(reloads, "L3", "to_loads") + lines(reloads, "DRAM", "to_loads"), 4096 + 1)
    check("across: all in L1", sum(lines(across, level, "to_loads") for level in trace.LEVELS), 1)


def check_texts():
    body = ["fmla v0.4s, v1.4s, v2.s[1]", "fmla v3.4s, v1.4s, v2.4s", "fadd v4.4s, v3.4s, v3.4s"]
    check("a chain is forwarded late, another sum is not", core.forward_late(body) == ["bit v0.16b, v1.16b, v2.16b", *body[1:]], True)
    check("a factor is no link", core.forward_late(["fmla v0.4s, v0.4s, v2.4s"])[0].startswith("fmla"), True)


def main(folder="build/a76"):
    absent = estimate.missing()
    if absent:
        print(f"skip a76: {absent}")
        return 0
    check_texts()
    plugin = trace.build_plugin(os.environ.get("CC", "cc"), estimate.QEMU, folder)
    probe = os.path.join(folder, "probe")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.S")
    subprocess.run([estimate.CROSS_CC, "-nostdlib", "-static", "-o", probe, source], check=True)
    program = elf.Program(probe)
    result = estimate.estimate(estimate.QEMU, plugin, program, [probe])
    check("steps", len(result["steps"]), 9)
    check_core(result["steps"])
    check_lines(*result["steps"][4:], result["whole"])
    check("the same again", result == estimate.estimate(estimate.QEMU, plugin, program, [probe]), True)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
