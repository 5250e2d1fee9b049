# SPDX-License-Identifier: MIT
"""Graphs of one window over depth, height and width."""
from float_cases import Case, uniform, weights


def volumes():
    def conv(name, x, w, bias=True, **attributes):
        inputs = [uniform(name, *x), weights(name, *w)] + ([weights(name, w[0])] if bias else [])
        return Case(f"volume {name}", "Conv", *inputs, **attributes)

    yield conv("plain", (1, 3, 5, 6, 7), (4, 3, 3, 3, 3))
    yield conv("patches", (2, 3, 4, 8, 8), (6, 3, 2, 4, 4), strides=[2, 4, 4])
    yield conv("pads", (2, 3, 5, 6, 7), (4, 3, 3, 3, 3), pads=[1, 1, 0, 2, 1, 1], bias=False)
    yield conv("uneven", (1, 4, 6, 9, 8), (6, 2, 2, 3, 1), group=2, strides=[3, 1, 2], dilations=[2, 1, 1], pads=[0, 1, 0, 1, 1, 0])
    yield conv("depthwise", (1, 6, 5, 5, 5), (6, 1, 3, 3, 3), group=6, pads=[1] * 6, strides=[2, 1, 1])
    yield conv("planes", (1, 3, 4, 6, 6), (5, 3, 1, 3, 3), pads=[0, 1, 1, 0, 1, 1])
    yield conv("depth", (1, 3, 6, 4, 4), (5, 3, 3, 1, 1), pads=[1, 0, 0, 1, 0, 0])
    yield conv("SAME", (1, 3, 5, 6, 7), (4, 3, 3, 2, 3), auto_pad="SAME_UPPER", strides=[2, 2, 2])
    x = uniform("x", 2, 3, 6, 7, 8)
    for op in ("MaxPool", "AveragePool"):
        for name, attributes in (("plain", {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
                                 ("pads", {"kernel_shape": [3, 2, 3], "strides": [2, 1, 2], "pads": [1, 0, 1, 1, 1, 1]}),
                                 ("ceil", {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1}),
                                 ("SAME", {"kernel_shape": [3, 3, 2], "strides": [2, 2, 2], "auto_pad": "SAME_LOWER"})):
            yield Case(f"volume {name}", op, x, opset=12, **attributes)
    yield Case("volume dilated", "MaxPool", x, opset=12, kernel_shape=[2, 2, 2], dilations=[2, 3, 1])
    yield Case("volume counting", "AveragePool", x, opset=12, kernel_shape=[2, 3, 2], pads=[1] * 6, count_include_pad=1)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        yield Case("volume", op, x)
    yield Case("volume", "InstanceNormalization", x, weights("s", 3), weights("b", 3), epsilon=1e-3)
    yield Case("volume", "BatchNormalization", x, *[weights(n, 3) for n in "sbm"], weights_of_variance(3), opset=15)


def weights_of_variance(n):
    w = weights("v", n)
    w.array = abs(w.array) + 0.5
    return w
