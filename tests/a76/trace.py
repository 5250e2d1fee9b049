# SPDX-License-Identifier: MIT
"""Runs a program under QEMU with trace.c and reads what it wrote."""
import array
import os
import subprocess
import tempfile

NO_STEP, END = 0xFFFFFFFE, 0xFFFFFFFF
COUNTS = 10  # of a struct traffic: to loads, to stores, written back, by level; strays
LEVELS = ("L2", "L3", "DRAM")
ENVIRONMENT = {"PATH": os.defpath}  # the same for everyone: it lies on the program's stack and so moves what lies below


class Block:
    """traffic: of its own accesses."""

    def __init__(self, words):
        self.address, self.count, self.traffic = words[0] | words[1] << 32, words[2], tuple(words[3:])
        self.entered = 0


class Trace:
    """windows: (piece or NO_STEP, instructions, traffic, block indices and counts alternating), in the order of running."""

    def __init__(self, words, by_step):
        at, self.windows = 0, []
        while words[at] != END:
            pairs = at + COUNTS + 3
            end = pairs + 2 * words[pairs - 1]
            self.windows.append((words[at], words[at + 1], words[at + 2:pairs - 1], words[pairs:end]))
            at = end
        size, first = COUNTS + 3, at + 2
        self.blocks = [Block(words[first + size * i:first + size * (i + 1)]) for i in range(words[at + 1])]
        while by_step and self.windows and self.windows[-1][0] == NO_STEP:  # what followed the last step
            self.windows.pop()
        for _, _, _, pairs in self.windows:
            for i in range(0, len(pairs), 2):
                self.blocks[pairs[i]].entered += pairs[i + 1]


def qemu_version(qemu):
    text = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True).stdout
    return int(text.split("version ")[1].split(".")[0])


def build_plugin(compiler, qemu, folder):
    """The plugin for this QEMU: before 9.0 its interface was version 1 or less, after that 2 or more."""
    here = os.path.dirname(os.path.abspath(__file__))
    version = 2 if qemu_version(qemu) >= 9 else 1
    path = os.path.join(folder, f"trace{version}.so")
    sources = [os.path.join(here, name) for name in ("trace.c", "caches.c", "caches.h", "qemu.h")]
    if not os.path.exists(path) or any(os.path.getmtime(s) > os.path.getmtime(path) for s in sources):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([*compiler.split(), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden",
                        f"-DQEMU_VERSION={version}", "-I", os.path.join(here, "../.."), "-o", path, *sources[:2]], check=True)
    return path


def run(qemu, plugin, program, command):
    """The trace of the second inference where the program has morsel_run, else of everything. Raises where the program fails."""
    loop = program.find("run_entries") or program.find("morsel_run")
    steps = [s for s in map(program.find, ("morsel_run_units", "morsel_run_rows")) if s]
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "trace")
        arguments = [f"{plugin},out={out}"]
        if loop and steps:
            arguments.append(f"run={loop[0]:#x},end={loop[0] + loop[1]:#x},measure=2")
            arguments += [f"step={s[0]:#x}" for s in steps]
        done = subprocess.run([qemu, "-cpu", "cortex-a76", "-plugin", ",".join(arguments), *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        if done.returncode or not os.path.exists(out):
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
        words = array.array("I")
        with open(out, "rb") as f:
            words.frombytes(f.read())
    return Trace(words, bool(loop and steps))
