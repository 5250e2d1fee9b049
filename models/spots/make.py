# SPDX-License-Identifier: MIT
"""Makes network.onnx, anchors.npy and pictures/spots.ppm: a detector of spots in three colours, set by hand and not trained.

    python3 make.py        wants numpy and onnx

It is an SSD in small: 32 x 32 pixels, anchors of two sizes on a grid of 8 x 8. A score is a matched filter: as much of the colour inside the anchor,
and as little around it. The box moves to where the brightness lies. So it finds squares and discs of about an anchor's size on a dark ground,
and nothing else: it shows how boxes come out of a network.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, STEP, SIZES, COLORS = 32, 4, (6, 10), 3
GRID = SIDE // STEP


def filters(size):
    """Scores [3, 3, K, K] and moves [4, 3, K, K] of an anchor, and the pads that put its centre into that of a cell."""
    window = size + 6
    inside = np.zeros((window, window))
    inside[3:-3, 3:-3] = 1 / size**2
    ring = np.where(inside > 0, 0, 1 / (window**2 - size**2))
    scores = np.empty((COLORS, COLORS, window, window))
    for wanted in range(COLORS):
        for channel in range(COLORS):
            scores[wanted, channel] = inside - ring if channel == wanted else -0.5 * inside
    offset = np.arange(window) - (window - 1) / 2
    moves = np.zeros((4, COLORS, window, window))
    moves[0] = offset[None, :] / size**2 / size / 0.1  # variance 0.1, in anchor's sides
    moves[1] = offset[:, None] / size**2 / size / 0.1
    moves[:, :, [0, 1, -2, -1], :] = moves[:, :, :, [0, 1, -2, -1]] = 0  # other spots stand there
    return scores.astype(np.float32), moves.astype(np.float32), (window - STEP) // 2


def network():
    nodes, constants, boxes, scores = [], [], [], []

    def constant(name, values):
        constants.append(numpy_helper.from_array(values, name))
        return name

    def lines(name, x, width):
        nodes.append(helper.make_node("Transpose", [x], [name + "_last"], perm=[0, 2, 3, 1]))
        shape = constant(name + "_shape", np.array([1, GRID * GRID, width], np.int64))
        nodes.append(helper.make_node("Reshape", [name + "_last", shape], [name]))
        return name

    for size in SIZES:
        of_scores, of_moves, pad = filters(size)
        for kind, weights, bias in (("scores", 24 * of_scores, np.full(COLORS, -7)), ("moves", of_moves, np.zeros(4))):
            name = f"{kind}{size}"
            nodes.append(
                helper.make_node("Conv", ["x", constant(name + "_weights", weights), constant(name + "_bias", bias.astype(np.float32))], [name],
                                 strides=[STEP, STEP], pads=[pad] * 4))
            (scores if kind == "scores" else boxes).append(lines(name + "_lines", name, len(weights)))
    nodes.append(helper.make_node("Concat", scores, ["logits"], axis=1))
    nodes.append(helper.make_node("Sigmoid", ["logits"], ["scores"]))
    nodes.append(helper.make_node("Concat", boxes, ["boxes"], axis=1))
    count = len(SIZES) * GRID * GRID
    graph = helper.make_graph(nodes, "spots", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, SIDE, SIDE])], [
        helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, count, 4]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, count, COLORS])
    ], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def anchors():
    centres = (np.arange(GRID) + 0.5) * STEP
    rows = [(x, y, size, size) for size in SIZES for y in centres for x in centres]
    return np.array(rows, np.float32)


def picture(width=96, height=72, seed=3):
    """Discs and a square on a dark ground that is no even one: centre x, y, half a side, colour."""
    random = np.random.RandomState(seed)
    pixels = random.randint(0, 40, (height, width, 3))
    y, x = np.mgrid[:height, :width]
    for cx, cy, half, color, disc in ((20, 22, 9, 0, 1), (68, 25, 15, 1, 1), (30, 54, 13, 2, 0), (80, 58, 9, 0, 1)):
        inside = np.hypot(x - cx, y - cy) < half if disc else np.maximum(abs(x - cx), abs(y - cy)) < half
        pixels[inside] = random.randint(0, 40, (inside.sum(), 3))
        pixels[inside, color] = random.randint(215, 256, inside.sum())
    return pixels.astype(np.uint8)


def main():
    onnx.save(network(), "network.onnx")
    np.save("anchors.npy", anchors())
    pixels = picture()
    with open("pictures/spots.ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())


if __name__ == "__main__":
    main()
