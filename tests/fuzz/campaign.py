#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""campaign.py [seconds=N] [jobs=N] [only=NAME,NAME] [builds=fast] [report]: every fuzzer under libFuzzer, plain and with sanitizers, for N seconds in all.

`make campaign` builds them first. What was found grows from call to call, in build/campaign: first inputs and those that reached something
new (corpus/), inputs that crash or hang (found/), and a line for each slice of time (totals). `report` prints the table of what there is.
The exit status is 1 where this call met a crash or an input that hangs: more than a tenth of a second of its thread's own time and a second
a megabyte, for pictures 50 ns a pixel besides; ten times as much under sanitizers (meter.c)."""
import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
CAMPAIGN = pathlib.Path("build/campaign")
BUILDS = ("fast", "sanitize")
LONGEST = 300  # seconds of a slice: what an end of the machine loses
FIRST = 1000  # inputs to begin with
BLOBS, CONVERTER = ("open", "answers"), ("onnx", "graph")
# Of the time, by fuzzer and build: most where most is promised.
SHARES = {("open", "fast"): 6, ("answers", "fast"): 6, ("graph", "fast"): 5, ("onnx", "fast"): 2, ("answers", "sanitize"): 2,
          ("graph", "sanitize"): 3, ("open", "sanitize"): 2}
FIELDS = ("commit", "fuzzer", "build", "executions", "taken", "seconds", "slowest", "bytes", "edges", "of", "crashes", "hangs")
lock = threading.Lock()


def fuzzers(only):
    names = [p.stem[5:] for p in sorted(HERE.glob("fuzz_*.c"))]
    return [name for name in names if not only or name in only.split(",")]


@functools.cache  # of the programs, however long they run
def commit():
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "none"


def most_bytes(name):
    return 4096 if name in CONVERTER else 16384


def first_inputs(name):
    """Sound inputs by chance, written by the program that has the driver; for networks the recorded cases, too."""
    folder = CAMPAIGN / "seeds" / name
    if not folder.exists():
        folder.mkdir(parents=True)
        subprocess.run([f"build/tests/fuzz/fuzz_{name}", "--write", str(folder), "--runs", str(FIRST)], check=True, stdout=subprocess.DEVNULL)
        for path in pathlib.Path("tests/golden/cases").glob("*/net.onnx") if name in CONVERTER else ():
            if path.stat().st_size <= most_bytes(name):  # of a longer one half would be read
                (folder / path.parent.name).write_bytes(path.read_bytes())
    return folder


def number(pattern, text, default=0.0):
    found = re.findall(pattern, text)
    return float(found[-1]) if found else default


def run_slice(name, build, seconds, seed):
    corpus, found = CAMPAIGN / "corpus" / name, CAMPAIGN / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    command = [str(CAMPAIGN / build / "tests/fuzz" / f"fuzz_{name}"), f"-max_total_time={seconds}", "-print_final_stats=1", f"-max_len={most_bytes(name)}",
               f"-seed={seed}", "-timeout=300", "-report_slow_units=300", "-rss_limit_mb=3000", "-verbosity=1", "-reload=0",
               f"-artifact_prefix={found}/{name}-", f"-entropic={int(build != 'fast')}", str(corpus), str(first_inputs(name))]
    log = CAMPAIGN / f"{name}-{build}.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "MORSEL_METER": str(found)})
        _, status, usage = os.wait4(process.pid, 0)
    text = log.read_text(errors="replace")
    hangs = int(number(r"meter: inputs .* hangs (\d+)", text)) + ("ERROR: libFuzzer: timeout" in text)
    # A program that ends by itself says how many inputs it had; one that was stopped from outside is no crash of its own.
    crashes = int(status != 0 and "ERROR: libFuzzer: timeout" not in text and not (os.WIFSIGNALED(status) and "ERROR" not in text))
    row = {"commit": commit(), "fuzzer": name, "build": build, "seconds": round(usage.ru_utime + usage.ru_stime, 1),
           "executions": int(number(r"number_of_executed_units: (\d+)", text)), "taken": int(number(r"meter: inputs \d+ taken (\d+)", text)),
           "slowest": number(r"slowest ([\d.]+) s of", text), "bytes": int(number(r"slowest [\d.]+ s of (\d+) bytes", text)),
           "edges": int(number(r"cov: (\d+)", text)), "of": int(number(r"\((\d+) inline 8-bit counters", text)), "crashes": crashes, "hangs": hangs}
    with lock:
        with open(CAMPAIGN / "totals", "a") as totals:
            totals.write("\t".join(str(row[f]) for f in FIELDS) + "\n")
        if crashes or hangs:
            log.rename(found / f"{name}-{build}-{seed}.log")
            print(f"FAIL {name}, {build}: see {found}/{name}-{build}-{seed}.log and the input beside it", flush=True)
    return crashes + hangs


def run_all(seconds, jobs, only, builds):
    """Slices of all, in rounds, until the time is over; each round lasts at most as long as slices of LONGEST seconds allow."""
    pairs = [(name, build) for name in fuzzers(only) for build in builds]
    shares = sum(SHARES.get(pair, 1) for pair in pairs)
    end, bad, seed = time.time() + seconds, 0, int(time.time())
    commit()
    for name, _ in pairs:
        first_inputs(name)
    while (left := end - time.time()) >= 1:
        most = max(SHARES.get(pair, 1) for pair in pairs)
        unit = min(left * jobs / shares, LONGEST / most)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            tasks = []
            for pair in pairs:
                seed += 1
                tasks.append(pool.submit(run_slice, *pair, max(1, int(unit * SHARES.get(pair, 1))), seed % 2**31))
            bad += sum(task.result() for task in tasks)
    return bad


def add(rows, label):
    executions, seconds = sum(r["executions"] for r in rows), sum(r["seconds"] for r in rows)
    best, slow = max(rows, key=lambda r: r["edges"]), max(rows, key=lambda r: r["slowest"])
    taken = sum(r["taken"] for r in rows)
    print(f"{label:<22} {executions:>13,} {f'{taken:,}' if taken else '':>11} {executions / seconds if seconds else 0:>8,.0f} {seconds / 3600:>6.2f} "
          f"{1000 * slow['slowest']:>6.1f} of {slow['bytes']:<6,} {best['edges']:>6,} of {best['of']:<6,} "
          f"{sum(r['crashes'] for r in rows):>7} {sum(r['hangs'] for r in rows):>5}")


def read_totals():
    rows, totals = [], CAMPAIGN / "totals"
    if not totals.exists():
        sys.exit("campaign.py: none has run here so far: make campaign")
    for line in totals.read_text().splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        rows.append({f: v if f in FIELDS[:3] else float(v) if f in ("seconds", "slowest") else int(v) for f, v in row.items()})
    return rows


def report():
    rows = read_totals()
    print(f"{'fuzzer, build':<22} {'executions':>13} {'taken':>11} {'a second':>8} {'hours':>6} {'slowest, ms, bytes':>16} {'edges':>14} {'crashes':>7} "
          f"{'hangs':>5}")
    for pair in sorted({(r["fuzzer"], r["build"]) for r in rows}):
        add([r for r in rows if (r["fuzzer"], r["build"]) == pair], ", ".join(pair))
    for label, names in (("blobs", BLOBS), ("networks", CONVERTER), ("all", None)):
        some = [r for r in rows if names is None or r["fuzzer"] in names]
        if some:
            add(some, label)
    for one in dict.fromkeys(r["commit"] for r in rows):
        add([r for r in rows if r["commit"] == one], f"  at {one}")
    print("taken: blobs that opened and ran, networks that were converted; hours, rates and the slowest are of a thread's own time; edges of the best slice")


def main():
    words = dict(word.split("=", 1) if "=" in word else (word, "") for word in sys.argv[1:])
    if set(words) - {"seconds", "jobs", "only", "builds", "report"}:
        sys.exit(__doc__)
    bad = 0
    if "report" not in words:
        bad = run_all(int(words.get("seconds", 120)), int(words.get("jobs", os.cpu_count())), words.get("only", ""),
                      words["builds"].split(",") if "builds" in words else BUILDS)
    report()
    sys.exit(bad != 0)


main()
