#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""train.py: trains the float network of models/cifar10 and goes on where it stopped.

    train.py STATE.pt --data cifar10_jpeg.tar.zst [--from WEIGHTS.pt | --from NETWORK.onnx] [--epochs N] [--finish N] [--skip P]
             [--mix P] [-o FLOAT.onnx]

Pictures lie in train/CLASS/ and test/CLASS/, in a folder or an archive. STATE.pt is written whole after each epoch; a run that finds it
goes on. --epochs N trains N epochs more at --rate. --finish N lets the rate fall to 0 within N epochs, which gains some points: that
comes last. --from starts with the weights of an ONNX file, float or in 8 bits as `morsel quantize` writes it, or with those of
MobileNetV2 on ImageNet: all but the last layer, of a state dictionary whose layers come in the order of ours, whatever their names.
--skip P leaves out some of what the network knows: a picture whose last loss was below the mean, with probability P; the others of these
count 1 / (1 - P) times, so that gradients are the same on average (InfoBatch, Qin et al. 2024). --mix P pastes a rectangle of another
picture into each of a batch, with probability P, and both classes count by their areas (CutMix, Yun et al. 2019). Losses of such a batch
say nothing about what the network knows. The last two epochs have all pictures, as they are.
-o writes the network as ONNX, batch norms folded, as `morsel quantize` takes it. By `torchrun --nproc-per-node 2 train.py ...` two
processes share each batch, and a batch norm sees its process's part. It runs at the lowest priority: what else the machine does goes
first. requirements.txt says what it needs; jemalloc is taken where it is installed."""
import argparse
import ctypes.util
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import time

# Before torch: large pages and no return of memory between batches, a fifth of the time. With jemalloc an epoch takes 0.76 of what it
# then takes with glibc's malloc. Threads sleep where they wait.
TUNED = {"MORSEL_TUNED": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=8000000000",
         "MALLOC_CONF": "oversize_threshold:0,metadata_thp:auto,dirty_decay_ms:-1,muzzy_decay_ms:-1,thp:always",
         "LD_PRELOAD": " ".join(filter(None, [ctypes.util.find_library("jemalloc"), os.environ.get("LD_PRELOAD")])),
         "GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "PASSIVE"}
if __name__ == "__main__" and "MORSEL_TUNED" not in os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **TUNED})

import numpy as np  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from torch import distributed, nn  # noqa: E402

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2430, 0.2610)
# Expansion, channels, count, stride.
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
BATCH, EDGE = 128, 4  # pictures; padding of the crop, in pixels
RANK, RANKS = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1)))  # as torchrun says


def conv(inputs, outputs, kernel, stride=1, groups=1, activation=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return layers + [nn.ReLU6(True)] * activation


class Block(nn.Module):
    """MobileNetV2's inverted residual."""

    def __init__(self, inputs, outputs, expansion, stride):
        super().__init__()
        wide = inputs * expansion
        self.layers = nn.Sequential(*(conv(inputs, wide, 1) if expansion > 1 else []), *conv(wide, wide, 3, stride, wide),
                                    *conv(wide, outputs, 1, activation=False))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.adds else y


def network():
    layers, channels = conv(3, 32, 3), 32
    for expansion, outputs, count, stride in BLOCKS:
        for i in range(count):
            layers.append(Block(channels, outputs, expansion, stride if i == 0 else 1))
            channels = outputs
    layers += [*conv(channels, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, len(CLASSES))]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def members(data):
    """(name, bytes) of each picture of a folder or an archive."""
    if data.is_dir():
        yield from ((str(p.relative_to(data)), p.read_bytes()) for p in sorted(data.rglob("*.jpg")))
        return
    unpacked = subprocess.Popen(["zstd", "-dcq", str(data)], stdout=subprocess.PIPE)
    with unpacked as pipe, tarfile.open(fileobj=pipe.stdout, mode="r|") as archive:
        yield from ((m.name, archive.extractfile(m).read()) for m in archive if m.name.endswith(".jpg"))


def load(data, cache):
    """{train, test: (pictures uint8 n x 3 x 32 x 32, classes)}, from the cache if it is there."""
    if not cache.exists():
        found = {"train": ([], []), "test": ([], [])}
        for name, content in sorted(members(data)):
            part, label = pathlib.PurePath(name).parts[-3:-1]
            found[part][0].append(np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).transpose(2, 0, 1))
            found[part][1].append(CLASSES.index(label))
        beside = cache.with_suffix(f".tmp{RANK}.npz")
        np.savez(beside, **{f"{part}_{i}": np.array(lists[i]) for part, lists in found.items() for i in (0, 1)})
        beside.replace(cache)
    arrays = np.load(cache)
    return {part: (torch.from_numpy(arrays[part + "_0"]), torch.from_numpy(arrays[part + "_1"]).long()) for part in ("train", "test")}


def normalized(pictures):
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (MEAN, STD))
    return ((pictures.float() / 255 - mean) / std).contiguous(memory_format=torch.channels_last)


def augmented(pictures, hole, generator):
    """Cropped at a random place of what is padded by reflection, mirrored or not, without a square of `hole` pixels a side."""
    n, size = len(pictures), pictures.shape[-1]
    wide = nn.functional.pad(pictures.float(), (EDGE,) * 4, mode="reflect")
    at = torch.randint(0, 2 * EDGE + 1, (2, n, 1), generator=generator) + torch.arange(size)
    flip = torch.rand(n, 1, generator=generator) < 0.5
    columns = torch.where(flip, at[1].flip(1), at[1])
    picture, channel = torch.arange(n)[:, None, None, None], torch.arange(3)[None, :, None, None]
    x = normalized(wide[picture, channel, at[0][:, None, :, None], columns[:, None, None, :]])
    if not hole:
        return x
    corner = torch.randint(-hole // 2, size - hole // 2, (2, n, 1), generator=generator)
    inside = (torch.arange(size) >= corner) & (torch.arange(size) < corner + hole)
    return x.masked_fill_((inside[0][:, :, None] & inside[1][:, None, :])[:, None], 0)


def mixed(x, generator):
    """CutMix: a rectangle of random size and place in each picture is that of the next one of the batch. The share of its own pixels."""
    size = x.shape[-1]
    side = size * torch.rand(1, generator=generator).sqrt()
    centre = torch.rand(2, generator=generator) * size
    low, high = ((centre + half).round().int().clamp(0, size).tolist() for half in (-side / 2, side / 2))
    inside = (slice(None), slice(None), slice(low[0], high[0]), slice(low[1], high[1]))
    x[inside] = x.roll(1, 0)[inside]
    return 1 - (high[0] - low[0]) * (high[1] - low[1]) / size ** 2


def together(tensors, share=1.0):
    """Each tensor becomes its sum over all processes, times `share`."""
    if RANKS == 1:
        return
    joined = torch.cat([t.detach().flatten() for t in tensors])
    distributed.all_reduce(joined)
    for t, part in zip(tensors, (joined * share).split([t.numel() for t in tensors])):
        t.copy_(part.view_as(t))


def accuracy(model, data):
    pictures, classes = (values[RANK::RANKS].split(500) for values in data)
    model.eval()
    with torch.inference_mode():
        right = torch.zeros(1)
        for some, known in zip(pictures, classes):
            right += (model(normalized(some)).argmax(1) == known).sum()
        together([right])
    model.train()
    return 100 * right.item() / len(data[0])


def folded(model):
    """[(weights, bias, convolution)] with each batch norm folded into what is before it."""
    pairs = []
    modules = [m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.BatchNorm2d))]
    for c, norm in zip(modules[::2], modules[1::2]):
        factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        pairs.append((c.weight * factor.view(-1, 1, 1, 1), norm.bias - norm.running_mean * factor, c))
    return pairs


def start_from_state(model, path):
    """Convolutions and norms of a state dictionary, in their order. The last layer stays as it is."""
    theirs = [v for v in torch.load(path, map_location="cpu", weights_only=True).values() if v.dim()]
    ours = [v for v in model.state_dict().values() if v.dim()][:-2]
    shapes = [[v.shape for v in values] for values in (theirs[:len(ours)], ours)]
    if shapes[0] != shapes[1]:
        sys.exit(f"{path}: these are not the weights of MobileNetV2 1.0 in the order of its layers")
    for mine, value in zip(ours, theirs):
        mine.copy_(value)


def start_from_onnx(model, path, pictures):
    """Weights of an ONNX file whose norms are folded, float or QDQ. Norms get the statistics of some pictures, and the scale and bias that
    undo them."""
    import onnx
    graph = onnx.load(path).graph
    values = {t.name: torch.tensor(onnx.numpy_helper.to_array(t)) for t in graph.initializer}
    for n in graph.node:
        if n.op_type == "DequantizeLinear" and n.input[0] in values:
            value, scale = values[n.input[0]], values[n.input[1]]
            if len(n.input) > 2 and values[n.input[2]].any():
                sys.exit(f"{path}: {n.name}: weights have a zero point, which those of `morsel quantize` have not")
            values[n.output[0]] = value * scale.view(-1, *[1] * (value.dim() - 1))
    nodes = iter([[values[i] for i in n.input[1:]] for n in graph.node if n.op_type in ("Conv", "Gemm")])
    modules = [m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.BatchNorm2d))]
    hooks = []

    def measured(norm, bias):
        def hook(_, inputs):
            variance, mean = torch.var_mean(inputs[0], (0, 2, 3), unbiased=False)
            norm.running_mean.copy_(mean), norm.running_var.copy_(variance)
            norm.weight.copy_(torch.sqrt(variance + norm.eps)), norm.bias.copy_(bias + mean)
        return hook

    with torch.no_grad():
        for c, norm in zip(modules[::2], modules[1::2]):
            weights, bias = next(nodes)
            c.weight.copy_(weights)
            hooks.append(norm.register_forward_pre_hook(measured(norm, bias)))
        weights, bias = next(nodes)
        model[-1].weight.copy_(weights), model[-1].bias.copy_(bias)
        model.eval()(normalized(pictures))
        model.train()
    for hook in hooks:
        hook.remove()


def export(model, path):
    """The float network as ONNX, batch free, written whole."""
    import onnx
    from onnx import helper, numpy_helper
    nodes, constants, state = [], [], {"at": "input"}

    def constant(name, value):
        constants.append(numpy_helper.from_array(value.detach().numpy() if torch.is_tensor(value) else np.float32(value), name))
        return name

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    limits = [constant("zero", 0), constant("six", 6)]
    pairs = iter(folded(model))

    def chain(modules):
        for m in modules:
            if isinstance(m, nn.Conv2d):
                weights, bias, c = next(pairs)
                name = f"conv{len(constants) // 2}"
                inputs = [state["at"], constant(name + ".weight", weights), constant(name + ".bias", bias)]
                state["at"] = node("Conv", inputs, name, group=c.groups, kernel_shape=list(c.kernel_size), strides=list(c.stride),
                                   pads=list(c.padding) * 2, dilations=[1, 1])
            elif isinstance(m, nn.ReLU6):
                state["at"] = node("Clip", [state["at"], *limits], state["at"] + ".relu6")
            elif isinstance(m, Block):
                before = state["at"]
                chain(m.layers)
                if m.adds:
                    state["at"] = node("Add", [before, state["at"]], state["at"] + ".add")

    chain(model)
    node("GlobalAveragePool", [state["at"]], "pool")
    node("Flatten", ["pool"], "flat")
    node("Gemm", ["flat", constant("fc.weight", model[-1].weight), constant("fc.bias", model[-1].bias)], "output", transB=1)
    picture, answer = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
                       for name, shape in (("input", ["batch", 3, 32, 32]), ("output", ["batch", len(CLASSES)])))
    graph = helper.make_graph(nodes, "mobilenetv2_cifar10", [picture], [answer], constants)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="morsel")
    onnx.checker.check_model(whole)
    write(path, lambda beside: onnx.save(whole, beside))


def write(path, save):
    beside = path.with_name(path.name + ".tmp")
    save(str(beside))
    beside.replace(path)


def optimizer_of(model, rate):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 5e-4}, {"params": others, "weight_decay": 0}]
    return torch.optim.SGD(groups, rate, momentum=0.9, nesterov=True)


def some_of(losses, skip, generator):
    """The pictures of an epoch in random order, and what each picture counts."""
    order, counts = torch.randperm(len(losses), generator=generator), torch.ones(len(losses))
    known = losses < losses[losses < torch.inf].mean()  # NaN, and so none, in the first epoch
    counts[known] = 1 / (1 - skip)
    out = known & (torch.rand(len(losses), generator=generator) < skip)
    return order[~out[order]], counts


def losses_of(model, pictures, classes, counts, mix, args, generator):
    """(loss of each picture, what it adds to the loss of the batch, whether pictures are mixed)."""
    x = augmented(pictures, args.hole, generator)
    mixes = torch.rand(1, generator=generator) < mix
    share = mixed(x, generator) if mixes else 1
    with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
        scores = model(x).float()

    def loss(known):
        return nn.functional.cross_entropy(scores, known, label_smoothing=0.05, reduction="none")

    each = loss(classes)
    added = each * counts
    if mixes:
        added = share * added + (1 - share) * loss(classes.roll(1, 0)) * counts.roll(1, 0)
    return each.detach(), added, mixes


def train_epoch(model, optimizer, data, losses, rate_at, args, seed, skip, mix):
    """One pass over the pictures, which brings losses of those that are not mixed up to date. The mean of what it minimized. Each process
    has its share of each batch, and batch norms of its own, whose statistics are averaged at the end."""
    generator = torch.Generator().manual_seed(seed)
    order, counts = some_of(losses, skip, generator)
    if RANK > 0:
        generator.manual_seed(1_000_003 * RANK + seed)
    batches, parameters = order.split(BATCH), list(model.parameters())
    found, current, total = torch.zeros_like(losses), torch.zeros_like(losses), torch.zeros(1)
    for step, whole in enumerate(batches):
        some = whole[RANK::RANKS]
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step / len(batches))
        each, added, mixes = losses_of(model, data[0][some], data[1][some], counts[some], mix, args, generator)
        if not mixes:
            found[some], current[some] = each, 1
        optimizer.zero_grad(set_to_none=True)
        added.sum().div(len(whole)).backward()
        together([p.grad for p in parameters])
        optimizer.step()
        total += added.detach().sum()
        if sys.stderr.isatty() and RANK == 0:
            print(f"\r{step + 1}/{len(batches)} batches, loss {added.detach().mean():.3f} ", end="", file=sys.stderr)
    together([found, current, total])
    together([b for b in model.buffers() if b.is_floating_point()], 1 / RANKS)
    losses.copy_(torch.where(current > 0, found, losses))
    return total.item() / len(order)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder or .tar.zst with train/CLASS/*.jpg and test/CLASS/*.jpg")
    parser.add_argument("--from", dest="start", type=pathlib.Path, help="weights to start with, where there is no state yet")
    parser.add_argument("--epochs", type=int, default=0, help="epochs more at the full rate")
    parser.add_argument("--finish", type=int, default=0, help="epochs more in which the rate falls to 0")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--skip", type=float, default=0, help="share of the pictures of a small loss that an epoch leaves out")
    parser.add_argument("--hole", type=int, default=10, help="pixels a side of the square that each picture lacks")
    parser.add_argument("--mix", type=float, default=0, help="share of the batches whose pictures are mixed")
    parser.add_argument("--threads", type=int, default=max(1, os.cpu_count() // RANKS), help="of each process")
    parser.add_argument("--bf16", action="store_true", help="products in bfloat16; worth it where the CPU has AMX")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args()


def main():
    args = arguments()
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    if RANKS > 1:
        distributed.init_process_group("gloo")
    data = load(args.data, args.state.with_suffix(".npz"))
    model = network()
    torch.manual_seed(1 + RANK)  # of what each process leaves out
    optimizer, done, losses = optimizer_of(model, args.rate), 0, torch.full((len(data["train"][0]),), torch.inf)
    if args.state.exists():
        saved = torch.load(args.state, weights_only=True)
        model.load_state_dict(saved["model"]), optimizer.load_state_dict(saved["optimizer"])
        done, losses = saved["epochs"], saved.get("losses", losses)
    elif args.start and args.start.suffix != ".onnx":
        start_from_state(model, args.start)
    elif args.start:
        start_from_onnx(model, args.start, data["train"][0][::50])
        mark = accuracy(model, data["test"])
        if RANK == 0:
            print(f"{args.start}: {mark:.2f} %", flush=True)
    epochs = args.epochs + args.finish
    for i in range(epochs):
        began = time.time()

        def rate_at(part, i=i):
            return args.rate * min(1, done + part) * (1 if i < args.epochs else 1 - (i - args.epochs + part) / args.finish)

        skip, mix = (args.skip, args.mix) if i + 2 < epochs else (0, 0)
        loss = train_epoch(model, optimizer, data["train"], losses, rate_at, args, done + 1, skip, mix)
        done += 1
        if RANK == 0:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epochs": done, "losses": losses}
            write(args.state, lambda beside, saved=saved: torch.save(saved, beside))
        mark = accuracy(model, data["test"])
        if RANK == 0:
            print(f"\repoch {done}: loss {loss:.4f}, {mark:.2f} % of the test pictures, {time.time() - began:.0f} s", flush=True)
    if args.output and RANK == 0:
        export(model.eval(), args.output)


if __name__ == "__main__":
    main()
