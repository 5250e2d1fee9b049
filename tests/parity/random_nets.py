# SPDX-License-Identifier: MIT
"""Networks put together by chance: what no list of cases thinks of is which operators come together."""
import numpy as np

from netbuilder import Net


class Picture:
    """A tensor of N C H W on the way through."""

    def __init__(self, name, channels, height, width):
        self.name, self.c, self.h, self.w = name, channels, height, width

    def like(self, name, c=None, h=None, w=None):
        return Picture(name, c or self.c, h or self.h, w or self.w)

    @property
    def shape(self):
        return self.c, self.h, self.w


def conv(b, x, kept):
    k, stride, out = b.pick(1, 3, 5), b.pick(1, 1, 2), b.pick(3, 8, 16, 20)
    group = b.pick(1, 1, 2)
    group = group if x.c % group == 0 else 1
    out = out // group * group
    y = b.conv(x.name, x.c, out, k, group=group, strides=[stride, stride], relu=b.pick(True, False), bias=b.pick(True, True, False))
    return x.like(y, out, (x.h - 1) // stride + 1, (x.w - 1) // stride + 1)


def depthwise(b, x, kept):
    k, stride = b.pick(3, 5), b.pick(1, 2)
    y = b.conv(x.name, x.c, x.c, k, group=x.c, strides=[stride, stride], relu=b.pick(True, False))
    return x.like(y, x.c, (x.h - 1) // stride + 1, (x.w - 1) // stride + 1)


def pool(b, x, kept):
    if min(x.h, x.w) < 3:
        return None
    op, stride = b.pick("MaxPool", "AveragePool"), b.pick(1, 2)
    y = b.op(op, x.name, kernel_shape=[3, 3], strides=[stride, stride], pads=[1, 1, 1, 1])
    return x.like(y, x.c, (x.h - 1) // stride + 1, (x.w - 1) // stride + 1)


def arithmetic(b, x, kept):
    same = [k for k in kept if k.shape == x.shape]
    other = same[b.rng.integers(len(same))].name if same else b.floats(1, x.c, 1, 1)
    return x.like(b.op(b.pick("Add", "Mul", "Sub"), *b.pick((x.name, other), (other, x.name))))


def excite(b, x, kept):
    s = b.op("GlobalAveragePool", x.name)
    s = b.op(b.pick("Sigmoid", "HardSigmoid"), b.conv(s, x.c, x.c, 1))
    return x.like(b.op("Mul", *b.pick((x.name, s), (s, x.name))))


def concat(b, x, kept):
    fit = [k for k in kept if (k.h, k.w) == (x.h, x.w)] or [x]
    other = fit[b.rng.integers(len(fit))]
    pair = b.pick((x, other), (other, x))
    return x.like(b.op("Concat", *[p.name for p in pair], axis=1), x.c + other.c) if x.c + other.c <= 64 else None


def split(b, x, kept):
    if x.c < 2:
        return None
    left = int(b.rng.integers(1, x.c))
    parts = b.op("Split", x.name, b.ints(left, x.c - left), outs=2, axis=1)
    kept.append(x.like(parts[0], left))
    return x.like(parts[1], x.c - left)


def cut(b, x, kept):
    axis, dim = b.pick((1, x.c), (2, x.h), (3, x.w))
    if dim < 3:
        return None
    start, step = int(b.rng.integers(0, 2)), b.pick(1, 2)
    y = b.op("Slice", x.name, b.ints(start), b.ints(dim), b.ints(axis), b.ints(step))
    left = (dim - start + step - 1) // step
    return x.like(y, *[left if axis == i else None for i in (1, 2, 3)])


def turned(b, x, kept):
    y = b.op("Transpose", x.name, perm=[0, 2, 3, 1])
    if b.pick(True, False):
        y = b.op("Relu", y)
    return x.like(b.op("Transpose", y, perm=[0, 3, 1, 2]))


def swapped(b, x, kept):
    return x.like(b.op("Transpose", x.name, perm=[0, 1, 3, 2]), x.c, x.w, x.h)


def shuffle(b, x, kept):
    g = b.pick(2, 4)
    if x.c % g:
        return None
    y = b.op("Transpose", b.op("Reshape", x.name, b.ints(1, g, x.c // g, x.h, x.w)), perm=[0, 2, 1, 3, 4])
    return x.like(b.op("Reshape", y, b.ints(1, x.c, x.h, x.w)))


def reshaped(b, x, kept):
    """As rows of another length and back: the order of the elements counts."""
    if (x.h * x.w) % 2:
        return None
    return x.like(b.op("Reshape", x.name, b.ints(1, x.c, x.h * x.w // 2, 2)), x.c, x.h * x.w // 2, 2)


def padded(b, x, kept):
    p = [int(v) for v in b.rng.integers(0, 3, 4)]
    mode = b.pick("constant", "edge", "reflect") if min(x.h, x.w) > 2 else "edge"
    y = b.op("Pad", x.name, b.ints(0, 0, p[0], p[1], 0, 0, p[2], p[3]), mode=mode)
    return x.like(y, x.c, x.h + p[0] + p[2], x.w + p[1] + p[3])


def resized(b, x, kept):
    if x.h > 12:
        return None
    y = b.op("Resize", x.name, "", b.const(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
             coordinate_transformation_mode=b.pick("asymmetric", "half_pixel"),
             nearest_mode=b.pick("floor", "round_prefer_floor"))
    return x.like(y, x.c, x.h * 2, x.w * 2)


def spaced(b, x, kept):
    if x.h % 2 == 0 and x.w % 2 == 0 and x.c <= 16 and b.pick(True, False):
        return x.like(b.op("SpaceToDepth", x.name, blocksize=2), x.c * 4, x.h // 2, x.w // 2)
    if x.c % 4 == 0 and x.h <= 12:
        return x.like(b.op("DepthToSpace", x.name, blocksize=2, mode=b.pick("DCR", "CRD")), x.c // 4, x.h * 2, x.w * 2)
    return None


def gathered(b, x, kept):
    picks = [int(v) for v in b.rng.integers(0, x.c, int(b.rng.integers(1, x.c + 2)))]
    return x.like(b.op("Gather", x.name, b.ints(*picks), axis=1), len(picks))


def function(b, x, kept):
    op = b.pick("Relu", "LeakyRelu", "HardSwish", "Clip", "Abs")
    if op == "Clip":
        return x.like(b.op(op, x.name, b.const(np.float32(-0.4)), b.const(np.float32(0.6))))
    return x.like(b.op(op, x.name))


def island(b, x, kept):
    """A few float operators without a pair between them."""
    y = x.name
    for _ in range(int(b.rng.integers(1, 4))):
        op = b.pick("Mul", "Add", "Relu", "HardSigmoid", "Square")
        y = (b.op(op, y, b.plain_floats(1, x.c, 1, 1)) if op in ("Mul", "Add") else b.op("Mul", y, y) if op == "Square" else b.op(op, y))
        b.keep_float(y)
    return x.like(b.op("Add", y, b.plain_floats(x.c, 1, 1)))


# --- drawn wider

def wide_conv(b, x, kept):
    """Dilations, uneven kernels, strides and pads, groups; a few large weights."""
    kh, kw, dh, dw = b.pick(1, 2, 3, 5), b.pick(1, 3, 4), b.pick(1, 1, 2, 3), b.pick(1, 1, 2)
    pads = [int(v) for v in b.rng.integers(0, 3, 4)]
    strides = [b.pick(1, 1, 2, 3), b.pick(1, 1, 2)]
    rows, columns = x.h + pads[0] + pads[2] - (kh - 1) * dh - 1, x.w + pads[1] + pads[3] - (kw - 1) * dw - 1
    group = b.pick(*[g for g in (1, 1, 2, 3, x.c) if x.c % g == 0])
    out = b.pick(1, 4, 7, 16, 33) * group if group < x.c else x.c * b.pick(1, 1, 2)
    if rows < 0 or columns < 0 or out > 70:
        return None
    y = b.conv(x.name, x.c, out, [kh, kw], group=group, strides=strides, dilations=[dh, dw], pads=pads, relu=b.pick(True, False),
               bias=b.pick(True, True, False))
    return x.like(y, out, rows // strides[0] + 1, columns // strides[1] + 1)


def wide_pool(b, x, kept):
    op = b.pick("MaxPool", "AveragePool", "AveragePool")
    kernel = [min(b.pick(1, 2, 3, 5), x.h), min(b.pick(1, 2, 3), x.w)]
    strides, pads = [b.pick(1, 2, 3), b.pick(1, 2)], [int(b.rng.integers(0, k)) for k in kernel + kernel]
    more = {"count_include_pad": b.pick(0, 1)} if op == "AveragePool" else {}
    y = b.op(op, x.name, kernel_shape=kernel, strides=strides, pads=pads, **more)
    return x.like(y, x.c, (x.h + pads[0] + pads[2] - kernel[0]) // strides[0] + 1, (x.w + pads[1] + pads[3] - kernel[1]) // strides[1] + 1)


def broadcast(b, x, kept):
    """An operand that repeats along any axes: a constant, or an activation's slice or mean."""
    shape = [1] + [b.pick(1, dim) for dim in (x.c, x.h, x.w)]
    if b.pick(True, False):
        other = b.floats(*(shape if b.pick(True, False) else shape[1:]))
    else:
        other = x.name
        for axis in (1, 2, 3):
            if shape[axis] == 1:
                other = b.op("Slice", other, b.ints(0), b.ints(1), b.ints(axis))
    return x.like(b.op(b.pick("Add", "Mul", "Sub", "Add", "Mul"), *b.pick((x.name, other), (other, x.name))))


def softmax(b, x, kept):
    return x.like(b.op("Softmax", x.name, axis=b.pick(1, 2, 3, -1)))


def product(b, x, kept):
    """Of two activations, or of one and a constant of rows."""
    if b.pick(True, False):
        n = b.pick(3, 8, 17)
        return x.like(b.op("MatMul", x.name, b.weight(x.w, n)), x.c, x.h, n)
    return x.like(b.op("MatMul", x.name, b.op("Transpose", x.name, perm=[0, 1, 3, 2])), x.c, x.h, x.h)


EXACT = ("Relu", "LeakyRelu", "Abs", "Neg", "HardSigmoid", "Floor", "Ceil", "Round", "Sign", "ThresholdedRelu", "Softsign")
TABLES = (*EXACT, "Sigmoid", "Tanh", "Elu", "Softplus", "HardSwish")


def wide_function(b, x, kept):
    op = b.pick(*TABLES, "PRelu")
    return x.like(b.op(op, x.name, b.plain_floats(x.c, 1, 1)) if op == "PRelu" else b.op(op, x.name))


def wide_island(b, x, kept):
    """Float operators without a pair between them, of operands that repeat."""
    y = x.name
    for _ in range(int(b.rng.integers(1, 5))):
        op = b.pick("Mul", "Add", "Sub", "Max", "Min", "Square", *EXACT[:5], "Slice")
        if op in ("Mul", "Add", "Sub", "Max", "Min"):
            y = b.op(op, y, b.plain_floats(1, b.pick(1, x.c), b.pick(1, x.h), b.pick(1, x.w)))
        elif op == "Slice":
            y = b.op("Add", y, b.keep_float(b.op("Slice", y, b.ints(0), b.ints(1), b.ints(1))))
        else:
            y = b.op("Mul", y, y) if op == "Square" else b.op(op, y)
        b.keep_float(y)
    return x.like(b.op("Add", y, b.plain_floats(x.c, 1, 1)))


def float_conv(b, x, kept):
    """A convolution whose result stays float: what follows reads it so."""
    y = b.keep_float(b.conv(x.name, x.c, 8, b.pick(1, 3)))
    return x.like(b.op(b.pick("Relu", "Abs", "HardSigmoid"), y), 8)


WIDE = [wide_conv, wide_conv, wide_conv, wide_pool, wide_pool, broadcast, broadcast, broadcast, softmax, product, wide_function, wide_function,
        wide_island, float_conv]
PARTS = [conv, conv, conv, depthwise, pool, arithmetic, arithmetic, excite, concat, split, cut, turned, swapped, shuffle, reshaped, padded,
         resized, spaced, gathered,
         function, island]


class RandomNet(Net):
    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]


def random_net(seed, wide=False):
    b = RandomNet(f"random{seed}", opset=14)
    parts = PARTS + WIDE if wide else PARTS
    c, h, w = int(b.rng.integers(1, 9)), int(b.rng.integers(5, 13)), int(b.rng.integers(5, 13))
    x = Picture(b.input(1, c, h, w), c, h, w)
    kept = [x]
    for _ in range(int(b.rng.integers(3, 9))):
        y = b.pick(*parts)(b, x, kept)
        if y is None or y.h > 40 or y.w > 60 or min(y.h, y.w) < 1:
            continue
        kept.append(y)
        x = y if b.rng.random() < 0.85 else b.pick(*kept)
    if x.name in b.inputs:
        x = x.like(b.op("Relu", x.name))
    end = b.pick("picture", "flat", "mean", "dense")
    if end == "flat":
        return b.out(b.op("Flatten", x.name))
    if end == "mean":
        return b.out(b.op("GlobalAveragePool", x.name), *[k.name for k in kept[-2:-1] if k.name not in b.inputs and k.name not in b.raw])
    if end == "dense":
        size = x.c * x.h * x.w
        return b.out(b.op("Gemm", b.op("Flatten", x.name), b.weight(5, size), b.vector(5), transB=1))
    return b.out(x.name)
