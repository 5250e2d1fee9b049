# SPDX-License-Identifier: MIT
"""How the converter's time and memory grow: families of networks at three sizes each, the last two apart by a factor of 4.

    MORSEL=build/morsel build/venv/bin/python tests/bench_scale/run.py [--check] [FAMILY...]

Steps of a blob go up to 4,096, what is folded or refused up to 100,000, and so do float networks that passes change or that are quantized
dynamically; with samples, up to 32,000. The exponent is that of time over n between the last two sizes: n log n is 1.2 there. --check: fails where it is above 1.5, or
where memory is more than 100 MB and 200 times the file. For quantize, which holds the network several times, that is 1000 times, and with
samples what the histograms of all values share comes on top.
"""
import math
import os
import subprocess
import sys
import tempfile

FAMILIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "families.py")
SIZES = {"steps": (250, 1000, 4000), "folded": (6250, 25000, 100000), "optimized": (6250, 25000, 100000), "quantized": (6250, 25000, 100000),
         "calibrated": (2000, 8000, 32000)}
# MB at most: a part, and so many times the file's.
MEMORY = {"quantized": (100, 1000), "calibrated": (100 + 550, 1000)}
MORSEL = os.environ.get("MORSEL", "build/morsel")
STARTED = 0.02  # seconds that time is not measured below
MOST_EXPONENT = 1.5


def call(group, path, out):
    """Seconds of the processor, MB at the peak, and how it ended."""
    command = {"optimized": ["inspect", path, "--optimized"],
               "quantized": ["quantize", path, "--dynamic", "-o", out],
               "calibrated": ["quantize", path, "--data", path + ".npy", "--threads", "1", "-o", path + ".qdq.onnx"]}.get(
                   group, ["convert", path, "-o", out])
    process = subprocess.Popen([MORSEL, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, code, message.strip().split("\n")[-1]


def row(group, family, folder):
    path, out = os.path.join(folder, "n.onnx"), os.path.join(folder, "n.morsel")
    took = []
    sizes = SIZES[group]
    for n in sizes:
        write = [sys.executable, FAMILIES, family, str(n), path]
        subprocess.run(write, check=True)  # apart: what this process holds would count as the converter's peak
        size = os.path.getsize(path) / 1e6
        seconds, peak, code, message = call(group, path, out)
        took.append(seconds)
        print(f"{family:18} {n:7} {size:7.2f} MB {seconds:8.3f} s {peak:8.1f} MB  {'ok' if code == 0 else message[:110]}",
              flush=True)
    exponent = math.log(max(took[-1], STARTED) / max(took[-2], STARTED)) / math.log(sizes[-1] / sizes[-2])
    part, times = MEMORY.get(group, (100, 200))
    good = exponent <= MOST_EXPONENT and peak <= part + times * size and code in (0, 1)
    print(f"{family:18} grows by n^{exponent:.2f}{'' if good else '   MISSED'}", flush=True)
    return good


def main():
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        listed = subprocess.run([sys.executable, FAMILIES, "--list"], check=True, capture_output=True, text=True).stdout
        for group, family in (line.split() for line in listed.splitlines()):
            if not names or family in names:
                good &= row(group, family, folder)
    sys.exit(0 if good or "--check" not in sys.argv else 1)


if __name__ == "__main__":
    main()
