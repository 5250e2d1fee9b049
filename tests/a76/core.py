# SPDX-License-Identifier: MIT
"""Cycles of a block of instructions on the core alone, every load in L1 and every branch foreseen. The model is llvm-mca's of the Neoverse
N1, the Cortex-A76's twin for servers; llvm's own cortex-a76 is its Cortex-A57. A block is repeated ROUNDS times, as a loop's body is.

Two things the model lacks are put right:
- The core decodes DECODED instructions a cycle, the model takes 8 micro-operations. A block costs at least instructions / DECODED.
- A sum that only the next fmla of a chain reads is forwarded late: 2 cycles after the fmla before it, not 4. Such an fmla is shown to the
  model as a BIT of the same registers. That reads and writes the same, uses the same pipes, and takes 2."""
import json
import os
import re
import shutil
import subprocess

ROUNDS, DECODED, OLDEST_LLVM = 100, 4, 16


def tool(name):
    """The newest of llvm's tools that has the N1 model: (path, version), or None."""
    found = []
    for folder in os.environ.get("PATH", "").split(":"):
        for file in os.listdir(folder) if os.path.isdir(folder) else []:
            if re.fullmatch(name + r"(-\d+)?", file) and shutil.which(os.path.join(folder, file)):
                path = os.path.join(folder, file)
                text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
                version = re.search(r"version (\d+)", text)
                if version and int(version[1]) >= OLDEST_LLVM:
                    found.append((int(version[1]), path))
    return max(found)[::-1] if found else None


def disassemble(llvm_mc, words):
    """{word: text} of the instructions that llvm knows."""
    words = sorted(set(words))
    lines = "".join(" ".join(f"{byte:#x}" for byte in word.to_bytes(4, "little")) + "\n" for word in words)
    run = subprocess.run([llvm_mc, "--disassemble", "--triple=aarch64", "--mattr=+v8.2a,+dotprod,+fullfp16,+crypto"], input=lines,
                         capture_output=True, text=True)
    unknown = {int(n) - 1 for n in re.findall(r"<stdin>:(\d+):\d+: warning", run.stderr)}
    texts = [t.strip() for t in run.stdout.splitlines() if t.startswith("\t") and not t.startswith("\t.")]
    known = [w for i, w in enumerate(words) if i not in unknown]
    if len(texts) != len(known):
        raise RuntimeError(f"llvm-mc made {len(texts)} lines of {len(known)} instructions")
    return dict(zip(known, texts))


VECTOR = re.compile(r"\b[vqdshb](\d+)\b")
MULTIPLY_ADD = re.compile(r"fml[as]\s+v(\d+)\.(\w+), v(\d+)\.\w+, v(\d+)\.\w+(\[\d\])?$")


def is_link(texts, at, register):
    """Whether the next instruction, all around the loop, that names the register adds to it."""
    for i in range(1, len(texts) + 1):
        text = texts[(at + i) % len(texts)]
        if register in VECTOR.findall(text):
            next_one = MULTIPLY_ADD.match(text)
            return bool(next_one) and next_one[1] == register and register not in (next_one[3], next_one[4])
    return False


def forward_late(texts):
    out = []
    for at, text in enumerate(texts):
        found = MULTIPLY_ADD.match(text)
        if found and is_link(texts, at, found[1]):
            lanes = "8b" if found[2] in ("2s", "4h") else "16b"
            text = f"bit v{found[1]}.{lanes}, v{found[3]}.{lanes}, v{found[4]}.{lanes}"
        out.append(text)
    return out


def run_model(mca, blocks):
    """Cycles of ROUNDS rounds of each block, or the text of an instruction that the model does not have."""
    source = "".join(f"# LLVM-MCA-BEGIN b{i}\n" + "\n".join(texts) + f"\n# LLVM-MCA-END b{i}\n" for i, texts in enumerate(blocks))
    run = subprocess.run([mca, "--mtriple=aarch64", "--mcpu=neoverse-n1", f"--iterations={ROUNDS}", "--instruction-info=false",
                          "--resource-pressure=false", "--json"], input=source, capture_output=True, text=True)
    if not run.returncode:
        cycles = {r["Name"]: r["SummaryView"]["TotalCycles"] for r in json.loads(run.stdout)["CodeRegions"]}
        return [cycles[f"b{i}"] for i in range(len(blocks))]
    found = re.search(r"note: instruction:\s*(.*)", run.stderr)
    if not found:
        raise RuntimeError("llvm-mca: " + run.stderr[:2000])
    return " ".join(found[1].split())


def prices(blocks):
    """Cycles of each list of instruction texts. A call costs what a branch does; what the model does not have (system registers,
    atomics) costs a place in the decoder."""
    mca, _ = tool("llvm-mca")
    lists = [[re.sub(r"^bl(r?)\b", r"b\1", " ".join(text.split())) for text in forward_late(texts)] for texts in blocks]
    while isinstance(cycles := run_model(mca, lists), str):
        lists = [[text for text in texts if text != cycles] or ["nop"] for texts in lists]
    return [max(rounds / ROUNDS, len(texts) / DECODED) for rounds, texts in zip(cycles, blocks)]
