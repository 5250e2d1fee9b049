# SPDX-License-Identifier: MIT
"""Pictures a second of morsel.ray, and of ONNX Runtime in the same pipeline: the shipped network on a cluster of this machine.

usage: speed.py [ROWS] [ACTORS] [ROUNDS]       [4096 2 3]

Both get the same batches of pixels, and give label and p. ONNX Runtime has one thread an actor, as morsel has, and its batch is what the
file states. A round is each of them in turn. By the clock, reading and Ray's own work are inside; by the actors' CPU time, answers alone.
"""
import json
import os
import sys
import time

import morsel
import morsel.ray
import numpy as np
import ray

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NETWORK = os.path.join(ROOT, "models/cifar10/network")
with open(os.path.join(ROOT, "models/cifar10/picture.json"), encoding="utf-8") as rule:
    MEAN, STD = (np.array(values, np.float32) for values in map(json.load(rule).get, ("mean", "std")))


class Timed:
    """Puts the CPU time of a batch beside its rows."""

    def answers(self, values):
        start = time.thread_time()
        columns = super().answers(values)
        return {**columns, "cpu": np.full(len(values), (time.thread_time() - start) / len(values))}


class Morsel(Timed, morsel.ray.Classifier):
    pass


class Runtime(morsel.ray.Worker):
    def __init__(self, *arguments):
        import onnxruntime

        super().__init__(*arguments)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.session = onnxruntime.InferenceSession(NETWORK + ".onnx", options, providers=["CPUExecutionProvider"])
        self.name = self.session.get_inputs()[0].name

    def answers(self, values):
        label, p = [], []
        for picture in values:
            x = ((picture * np.float32(1 / 255) - MEAN) / STD).transpose(2, 0, 1)[None]
            (scores,) = self.session.run(None, {self.name: np.ascontiguousarray(x, np.float32)})
            e = np.exp(scores[0] - scores.max())
            label.append(self.model._label(int(e.argmax())))
            p.append(float(e.max() / e.sum()))
        return {"label": label, "p": p}


class Peer(Timed, Runtime):
    pass


def once(dataset, worker, rows, actors):
    start = time.monotonic()
    answered = morsel.ray.run(dataset, worker, NETWORK + ".morsel", "image", actors=actors, batch_size=64, top=1)
    labels, cpu = [], 0.0
    for batch in answered.iter_batches(batch_size=256):
        labels += zip(batch["row"], batch["label"])
        cpu += float(batch["cpu"].sum())
    assert len(labels) == rows
    return rows / (time.monotonic() - start), rows / cpu, dict(labels)


def main(rows=4096, actors=2, rounds=3):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=actors + 1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    images = np.random.default_rng(0).integers(0, 256, (rows, 32, 32, 3), np.uint8)
    dataset = ray.data.from_items([{"row": i, "image": images[i]} for i in range(rows)], override_num_blocks=32).materialize()
    seen = {}
    for _ in range(rounds):
        for worker in (Morsel, Peer):
            by_clock, by_cpu, labels = once(dataset, worker, rows, actors)
            seen.setdefault(worker.__name__, []).append((by_cpu, by_clock))
            seen[worker.__name__ + " labels"] = labels
    same = sum(seen["Morsel labels"][i] == label for i, label in seen["Peer labels"].items())
    print(f"{rows} pictures, {actors} actors, the best of {rounds}; {same} have the same label by both")
    for name, what in (("Morsel", "morsel"), ("Peer", "ONNX Runtime")):
        by_cpu, by_clock = (max(column) for column in zip(*seen[name]))
        print(f"  {what:<13} {by_clock:8.0f} a second by the clock, with starting   {by_cpu:8.0f} a second of an actor's CPU")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
