# SPDX-License-Identifier: MIT
"""The topologies as ncnn's int8 models: what its quantizer makes of them, int8 between two convolutions and float elsewhere. Scales and
weights are made up: what is timed does not depend on them."""
import struct

import numpy as np

INT8_TAG = 0x000D4B38
REQUANTIZED = 100  # added to int8_scale_term: the output is int8 too


class Maker:
    """The methods of topologies.Maker; tensors are (name, channels, height, width)."""

    def __init__(self, name):
        self.random, self.layers, self.readers = np.random.default_rng(1), [], {}

    def layer(self, kind, inputs, parameters=None, outputs=1, weights=None):
        name = f"{kind.lower()}{len(self.layers)}"
        tops = [f"{name}_{i}" for i in range(outputs)]
        for x in inputs:
            self.readers.setdefault(x, []).append(kind)
        self.layers.append([kind, name, list(inputs), tops, dict(parameters or {}), weights])
        return tops[0] if outputs == 1 else tops

    def picture(self, h, w, c):
        self.shape = (c, h, w)
        return (self.layer("Input", []), c, h, w)

    def vector(self, n):
        self.shape = (n,)
        return (self.layer("Input", []), n)

    def conv(self, x, outputs, kernel, stride=1, relu=True, depthwise=False):
        name, c, h, w = x
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        taps = kh * kw * (1 if depthwise else c)
        p = {0: outputs, 1: kw, 11: kh, 3: stride, 4: -233, 5: 1, 6: outputs * taps, 8: 1, 9: int(relu)}
        if depthwise:
            p[7] = c
        y = self.layer("ConvolutionDepthWise" if depthwise else "Convolution", [name], p, weights=(outputs * taps, outputs))
        return (y, outputs, -(-h // stride), -(-w // stride))

    def depthwise(self, x, stride=1, relu=True):
        return self.conv(x, x[1], 3, stride, relu, True)

    def fc(self, x, outputs, relu=False):
        p = {0: outputs, 1: 1, 2: outputs * x[1], 8: 1, 9: int(relu)}
        return (self.layer("InnerProduct", [x[0]], p, weights=(outputs * x[1], outputs)), outputs)

    def add(self, a, b, relu=False):
        y = self.layer("BinaryOp", [a[0], b[0]], {0: 0})
        return (self.layer("ReLU", [y]) if relu else y, *a[1:])

    def max_pool(self, x):
        return (self.layer("Pooling", [x[0]], {0: 0, 1: 3, 2: 2, 3: 1, 5: 1}), x[1], x[2] // 2, x[3] // 2)

    def mean(self, x):
        return (self.layer("Pooling", [x[0]], {0: 1, 4: 1}), x[1])

    def concat(self, a, b):
        return (self.layer("Concat", [a[0], b[0]], {0: 0}), a[1] + b[1], *a[2:])

    def shuffle(self, x):
        return (self.layer("ShuffleChannel", [x[0]], {0: 2}), *x[1:])

    def halves(self, x):
        parts = self.layer("Slice", [x[0]], {-23300: "2,-233,-233", 1: 0}, outputs=2)
        return [(p, x[1] // 2, *x[2:]) for p in parts]

    def split(self):
        """A blob has one reader in ncnn: a Split layer makes copies for the others."""
        done, copies = [], {}
        for layer in self.layers:
            layer[2] = [copies[x].pop(0) if x in copies else x for x in layer[2]]
            done.append(layer)
            for top in layer[3]:
                count = len(self.readers.get(top, []))
                if count > 1:
                    copies[top] = [f"{top}_copy{i}" for i in range(count)]
                    done.append(["Split", f"split_{top}", [top], list(copies[top]), {}, None])
        return done

    def requantized(self, layer):
        readers = self.readers.get(layer[3][0], [])
        return layer[0].startswith("Convolution") and len(readers) == 1 and readers[0].startswith("Convolution")

    def data(self, weights, outputs, requantized):
        values = self.random.integers(-127, 128, weights).astype(np.int8).tobytes()
        scales = np.full(outputs, 100 * np.sqrt(weights / outputs), np.float32)
        activation = np.array([20], np.float32).tobytes()
        bias = (self.random.standard_normal(outputs) * 0.05).astype(np.float32)
        return (struct.pack("<I", INT8_TAG) + values + bytes(-len(values) % 4) + bias.tobytes() + scales.tobytes() + activation +
                (activation if requantized else b""))

    def end(self, y):
        """The texts of the two files, the shape of the input and the names of input and output."""
        binary, lines, layers = b"", [], self.split()
        for layer in layers:
            kind, name, inputs, tops, p, weights = layer
            if weights:
                more = self.requantized(layer)
                p[8] += REQUANTIZED if more else 0
                binary += self.data(*weights, more)
            settings = " ".join(f"{k}={v}" for k, v in p.items())
            lines.append(f"{kind} {name} {len(inputs)} {len(tops)} {' '.join(inputs + tops)} {settings}".strip())
        head = f"7767517\n{len(layers)} {sum(len(layer[3]) for layer in layers)}\n"
        return head + "\n".join(lines) + "\n", binary, self.shape, self.layers[0][3][0], y[0]
