# SPDX-License-Identifier: MIT
"""estimate.py [options] [NET|BLOB ...]: cycles of an inference on a Cortex-A76, by step, without and with the caches of a Raspberry Pi 5.

QEMU counts which blocks of instructions run (trace.c), and llvm-mca says what each costs the core (core.py). Each line that moves between
the caches costs its LINE cycles (caches.c). Over windows of up to 5000 instructions of a step
    cycles = OTHER * sum of max(core, lines)
The second of two inferences is estimated: the caches are as the first left them. The same program gives the same figures.

Columns: core kcyc, the core alone with all data in L1; with caches, the formula; waiting, the share of that in which the core waits for
lines; DRAM MB, loaded from there and written back; x floor, with caches to one cycle for 32 MACs, what two dot products a cycle make.

Limits. One thread, data only: no instruction fetch, no wrong branches, no TLB, no kernel, no other user of L3 and DRAM. Virtual addresses
index the caches. PRFM and DC ZVA do nothing, but `make a76` builds prefetches as loads (prefetch.h). No latency of lines: all are taken to
come in streams that the prefetchers foresee. A network with many loads outside of streams is slower than its estimate. A block is priced as
if repeated, its branch foreseen. What overlaps across blocks on the core, up to 128 instructions, is priced as if it did not.

OTHER, the one fitted number, stands for what all this costs on average. By this method 26 networks of another runtime came out within 10 %
of what a Raspberry Pi 5 (2.4 GHz) takes for them. Two programs that differ by less are told apart by instructions that run or lines that
move alone, not by what is listed here."""
import argparse
import json
import os
import shutil
import subprocess
import sys

import core
import elf
import trace

QEMU, CROSS_CC = "qemu-aarch64", "aarch64-linux-gnu-gcc"
LINE = {"L2": 2, "L3": 6, "DRAM": 15}  # 32 bytes a cycle, about 10, and 10.2 GB/s at 2.4 GHz
OTHER, GHZ, MACS_A_CYCLE = 1.05, 2.4, 32
HOT = 0.999  # of the instructions are priced; the rest costs as much a piece as those do on average
BRANCHES = ("b", "bl", "br", "blr", "ret", "cbz", "cbnz", "tbz", "tbnz", "svc")


def line_cycles(traffic):
    """A store's line from DRAM is free, as streams of stores are not filled; its way back is not."""
    loads, stores, backs = traffic[0:3], traffic[3:6], traffic[6:9]
    price = LINE["L2"], LINE["L3"], LINE["DRAM"]
    return sum(p * (n + m) for p, n, m in zip(price, loads, backs)) + price[0] * stores[0] + price[1] * stores[1]


class Chains:
    """Blocks with what they run on into. QEMU also ends a block where a page or its buffer does, and the core sees nothing of that. So
    a block that does not end in a branch is priced together with the next. Where blocks A, B and C follow upon each other, C can be
    entered through B, or by a branch. Each entry that comes from a branch is one run of the whole rest of the chain. So a run of B is
    worth chain(B) - chain(C), and the sum is right whatever the counts."""

    def __init__(self, program, blocks):
        words = [program.words(b.address, b.count) for b in blocks]
        known = core.disassemble(core.tool("llvm-mc")[0], [w for b, ws in zip(blocks, words) if b.entered for w in ws or ()])
        self.blocks = blocks
        self.texts = [[known[w] for w in ws or () if w in known] if b.entered else [] for b, ws in zip(blocks, words)]
        at = {}
        for i, b in enumerate(blocks):
            if b.entered and (b.address not in at or b.entered > blocks[at[b.address]].entered):
                at[b.address] = i
        self.next = [None if not t or t[-1].split()[0].split(".")[0] in BRANCHES else at.get(b.address + 4 * b.count)
                     for b, t in zip(blocks, self.texts)]
        self.heads = [b.entered for b in blocks]  # entries by a branch
        for i, n in enumerate(self.next):
            if n is not None:
                self.heads[n] -= blocks[i].entered
        self._price()

    def members(self, i):
        out = [i]
        while self.next[out[-1]] is not None:
            out.append(self.next[out[-1]])
        return out

    def text(self, i):
        return [t for m in self.members(i) for t in self.texts[m]]

    def _price(self):
        """chain: cycles of each chain; cost: of each block within its chain."""
        lengths = [sum(self.blocks[m].count for m in self.members(i)) if b.entered else 0 for i, b in enumerate(self.blocks)]
        run = [i for i in range(len(lengths)) if self.heads[i] > 0 and self.texts[i]]
        order = sorted(run, key=lambda i: (-self.heads[i] * lengths[i], i))
        total, covered, hot = sum(self.heads[i] * lengths[i] for i in order), 0, []
        for i in order:
            if covered >= HOT * total:
                break
            covered += self.heads[i] * lengths[i]
            hot.append(i)
        unique = {}
        for i in hot:
            unique.setdefault("\n".join(self.text(i)), len(unique))
        prices = core.prices([t.split("\n") for t in unique])
        self.chain = {i: prices[unique["\n".join(self.text(i))]] for i in hot}
        each = sum(self.heads[i] * self.chain[i] for i in hot) / max(covered, 1)
        self.cost = [0.0] * len(lengths)
        for i, n in enumerate(lengths):
            following = self.next[i]
            behind = 0 if following is None else self.chain.get(following, each * lengths[following])
            self.cost[i] = self.chain.get(i, each * n) - behind


class Part:
    """What a step cost, or everything."""

    def __init__(self):
        self.instructions, self.core, self.both, self.traffic = 0, 0.0, 0.0, [0] * trace.COUNTS

    def add(self, instructions, cycles, traffic):
        self.instructions += instructions
        self.core += cycles
        self.both += max(cycles, line_cycles(traffic))
        self.traffic = [a + b for a, b in zip(self.traffic, traffic)]

    def figures(self):
        mb = [n * 64e-6 for n in self.traffic]
        lines = {level: {"to_loads": mb[i], "to_stores": mb[3 + i], "written_back": mb[6 + i]} for i, level in enumerate(trace.LEVELS)}
        return {"instructions": self.instructions, "core_cycles": self.core, "cycles": OTHER * self.both,
                "waiting": 1 - self.core / self.both if self.both else 0, "mb": lines,
                "dram_mb": mb[2] + mb[8], "stray_mb": mb[9]}


def sum_up(windows, cost):
    parts, whole = {}, Part()
    for step, instructions, traffic, pairs in windows:
        cycles = sum(cost[pairs[i]] * pairs[i + 1] for i in range(0, len(pairs), 2))
        for part in (parts.setdefault(step, Part()), whole):
            part.add(instructions, cycles, traffic)
    return parts, whole


def hot_blocks(chains, whole, program, top):
    rows = []
    for i in sorted(chains.chain, key=lambda i: (-chains.heads[i] * chains.chain[i], i))[:top]:
        text = chains.text(i)
        lines = sum(line_cycles(chains.blocks[m].traffic) for m in chains.members(i))
        rows.append({"place": program.place(chains.blocks[i].address), "entered": chains.heads[i], "instructions": len(text),
                     "core_cycles": chains.chain[i], "share": chains.heads[i] * chains.chain[i] / whole.core, "line_cycles": lines,
                     "dots": sum(t.split()[0] in ("sdot", "udot") for t in text),
                     "macs": sum(t.split()[0].rstrip("2") in ("smlal", "smull", "umlal", "umull", "mla") for t in text),
                     "first": " ".join(text[0].split()), "last": " ".join(text[-1].split())})
    return rows


def turns(group):
    """The order in which steps of a group make their rows: core/format.h, struct morsel_blob_group."""
    strip, height, start = group[-1]["strip_rows"], group[-1]["output"][1], 0
    rows = [lambda t, s=s: max(0, min(s["stage_scale"] * t + s["stage_lead"], s["output"][1], s["stage_scale"] * height + s["stage_lead"]))
            for s in group]
    while any(s["stage_scale"] * start + s["stage_lead"] > 0 for s in group):
        start -= strip
    for t in range(start, height, strip):
        yield from (i for i, r in enumerate(rows) if r(t + strip) > r(t))


def order_of(layers):
    """The step of each piece of a run, one thread and a batch of 1."""
    order, at = [], 0
    while at < len(layers):
        end = at + 1
        while layers[at]["group"] and end < len(layers) and layers[end]["group"] == layers[at]["group"]:
            end += 1
        order += [at + i for i in turns(layers[at:end])] if layers[at]["group"] else [at]
        at = end
    return order


def estimate(qemu, plugin, program, command, top=8, layers=None):
    """{whole, steps: [...], outside, blocks} of a command whose first word is the program. `layers` as bench tells of them; without, each
    piece that runs is a step."""
    ran = trace.run(qemu, plugin, program, command)
    if not ran.windows:
        raise RuntimeError(f"{' '.join(command)}: it ran no second inference")
    if layers:
        order, pieces = order_of(layers), max(w[0] for w in ran.windows if w[0] != trace.NO_STEP) + 1
        if pieces != len(order):
            raise RuntimeError(f"{pieces} pieces ran, of {len(order)}")
        ran.windows = [(w[0] if w[0] == trace.NO_STEP else order[w[0]], *w[1:]) for w in ran.windows]
    chains = Chains(program, ran.blocks)
    parts, whole = sum_up(ran.windows, chains.cost)
    outside = parts.pop(trace.NO_STEP, Part())
    return {"llvm": core.tool("llvm-mca")[1], "ghz": GHZ, "whole": whole.figures(), "outside": outside.figures(),
            "steps": [parts[i].figures() if i in parts else Part().figures() for i in range(max(parts, default=-1) + 1)],
            "blocks": hot_blocks(chains, whole, program, top)}


def shape_text(layer):
    """As 56x56x24 > 56x56x144, and the window where it is larger than 1."""
    def product(dims):
        out = 1
        for d in dims:
            out *= d
        return out
    source, to = layer.get("input"), layer.get("output")
    if not source or not to:
        return ""
    text = " > ".join("x".join(map(str, dims[1:] if len(dims) > 1 and dims[0] == 1 else dims)) for dims in (source, to))
    inputs = {"conv": source[-1], "depthwise": 1}.get(layer["op"])
    window = layer["macs"] / (inputs * product(to)) if inputs else 0
    side = round(window ** 0.5)
    return text + (f" {side}x{side}" if window > 1 and side * side == window else "")


def join(result, layers):
    if len(layers) != len(result["steps"]):
        raise RuntimeError(f"{len(result['steps'])} steps ran, of a network of {len(layers)}")
    for figures, layer in zip(result["steps"], layers):
        figures.update(name=layer["name"], op=layer["op"], isa=layer["isa"], macs=layer["macs"], shape=shape_text(layer))
    result["whole"]["macs"] = sum(layer["macs"] for layer in layers)
    for figures in [*result["steps"], result["whole"]]:
        figures["to_floor"] = figures["cycles"] * MACS_A_CYCLE / figures["macs"] if figures["macs"] else None


def print_row(index, f, labels):
    floor = f"{f['to_floor']:7.2f}" if f.get("to_floor") else "      -"
    print(f"{index:>4}  {labels[0]:<11}{labels[1]:<8}{f.get('macs', 0) / 1e6:8.2f}{f['core_cycles'] / 1e3:10.1f}{f['cycles'] / 1e3:10.1f}"
          f"{100 * f['waiting']:6.1f}%{f['dram_mb']:8.2f}{floor}  {labels[2]}".rstrip())


def print_text(title, result, top):
    whole = result["whole"]
    print(f"{title}: one inference, estimated by llvm-mca {result['llvm']}")
    if result["steps"] and "op" in result["steps"][0]:
        print("\nstep  op         isa         MMAC core kcyc with caches waiting DRAM MB x floor  shape, name")
        for i, f in enumerate(result["steps"]):
            print_row(i, f, (f["op"], f["isa"], f"{f['shape']}  {f['name']}".strip()))
        print_row("", result["outside"], ("", "", "outside: the loop, writing the inputs"))
        print_row("", whole, ("all", "", ""))
    print(f"\n{whole['instructions'] / 1e6:.2f} M instructions, {whole['instructions'] / whole['core_cycles']:.2f} a cycle")
    for name, cycles in (("core alone", whole["core_cycles"]), ("with caches", whole["cycles"])):
        floor = f", {cycles * MACS_A_CYCLE / whole['macs']:.2f} times the floor" if whole.get("macs") else ""
        print(f"{name:<12} {cycles / 1e6:8.3f} M cycles = {cycles / GHZ * 1e-6:7.3f} ms at {GHZ} GHz{floor}")
    if whole.get("macs"):
        floor = whole["macs"] / MACS_A_CYCLE
        print(f"{'floor':<12} {floor / 1e6:8.3f} M cycles = {floor / GHZ * 1e-6:7.3f} ms: {MACS_A_CYCLE} MACs a cycle")
    print(f"waiting for lines {100 * whole['waiting']:.1f} %; MB moved:")
    for level, mb in whole["mb"].items():
        print(f"  {level:<5}{mb['to_loads']:8.3f} to loads {mb['to_stores']:8.3f} to stores {mb['written_back']:8.3f} written back to it")
    print(f"  {whole['stray_mb']:.3f} of the loads from L3 and DRAM outside of streams")
    if top:
        print("\nhottest blocks, share of the core's cycles")
    for b in result["blocks"]:
        kind = f", {b['dots']} dot" if b["dots"] else f", {b['macs']} mul" if b["macs"] else ""
        lines = f", lines {b['line_cycles'] / 1e3:.0f} kcyc" if b["line_cycles"] else ""
        print(f"  {100 * b['share']:4.1f} %  {b['core_cycles']:6.1f} cycles x {b['entered']:<8} {b['instructions']:3} instructions"
              f"{kind}{lines}  {b['place']}  {b['first']} .. {b['last']}")


def missing():
    """What has to be installed, in words, or None."""
    absent = [] if shutil.which(QEMU) else ["qemu-user"]
    if not shutil.which(CROSS_CC):
        absent += ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"]
    if not core.tool("llvm-mca") or not core.tool("llvm-mc"):
        absent.append("llvm-19")
    return f"it needs {QEMU}, {CROSS_CC} and llvm-mca {core.OLDEST_LLVM} or newer: apt-get install -y --no-install-recommends " \
           f"{' '.join(absent)}" if absent else None


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cpu", help="cap of the kernels: c, neon, dotprod")
    p.add_argument("--top", type=int, default=8, help="hottest blocks to show")
    p.add_argument("--json", help="a file for the figures: one object for each network")
    p.add_argument("--morsel", default="build/a76/morsel", help="the AArch64 program, static")
    p.add_argument("--folder", default="build/a76", help="where the plugin is built")
    p.add_argument("--ready", action="store_true", help="only say whether there is all that this takes")
    p.add_argument("--no-streaming", action="store_true", help="of a NET: step by step")
    p.add_argument("nets", nargs="*", default=["mobilenetv2-224"])
    return p.parse_args()


def main():
    a = arguments()
    absent = missing()
    if absent:
        print(f"skip a76: {absent}")
    if absent or a.ready:
        return 1 if absent and a.ready else 0
    cap = (["--cpu", a.cpu] if a.cpu else []) + (["--no-streaming"] if a.no_streaming else [])
    plugin = trace.build_plugin(os.environ.get("CC", "cc"), QEMU, a.folder)
    program, results = elf.Program(a.morsel), {}
    for net in a.nets or ["mobilenetv2-224"]:
        bench = [a.morsel, "bench", net, "--runs", "1", "--warmup", "0", *cap]
        listed = subprocess.run([QEMU, "-cpu", "cortex-a76", *bench, "--layers", "--json"], stdout=subprocess.PIPE, text=True)
        if listed.returncode:
            return listed.returncode
        described = json.loads(listed.stdout)
        result = results[net] = estimate(QEMU, plugin, program, bench, a.top, described["layers"])
        join(result, described["layers"])
        print_text(f"{net}, {described['isa']}", result, a.top)
        sys.stdout.flush()
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError, ValueError) as e:
        sys.exit(f"a76: {e}")
