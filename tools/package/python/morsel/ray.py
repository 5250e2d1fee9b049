# SPDX-License-Identifier: MIT
"""A stage of Ray Data: networks over folders, Parquet and tables that are too many for one machine. It needs `morsel-nn[ray]`.

    import morsel.ray
    import ray
import ray.data

    pictures = ray.data.read_images("pictures/", include_paths=True)
    morsel.ray.classify(pictures, "food.morsel").write_parquet("answers/")

The blob is put into Ray's store once. A machine has one copy of it, which its actors read where it lies. Each actor takes one core and
one arena. Where an actor or its machine dies, Ray gives its batches to another: each row is answered once.
"""
from __future__ import annotations

import io
import json
import os
from dataclasses import asdict
from typing import Any, Dict, List, Mapping, Tuple, Type, Union

import numpy as np
import ray

from ._network import Model

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
Columns = Dict[str, Any]


class Worker:
    """What an actor has: the network, and which column it reads. For answers of another kind, `answers` of a subclass makes them."""

    def __init__(self, blob: Any, column: str, keep: bool, options: Mapping[str, Any]) -> None:
        self.model = Model._over(ray.get(blob))
        self.column, self.keep, self.options = column, keep, options

    def __call__(self, batch: Columns) -> Columns:
        if self.column not in batch:
            raise KeyError(f"there is no column '{self.column}': there are {sorted(batch)}")
        rest = {name: values for name, values in batch.items() if self.keep or name != self.column}
        return {**rest, **self.answers(batch[self.column])}

    def answers(self, values: Any) -> Columns:
        """Columns of answers, for the values of the column that is read."""
        raise NotImplementedError


def picture_of(value: Any) -> Any:
    """Pixels as they are; the bytes of a file, as Parquet has them, by Pillow."""
    if not isinstance(value, bytes):
        return np.asarray(value)
    from PIL import Image

    return Image.open(io.BytesIO(value))


def lists_of(values: List[List[Any]]) -> np.ndarray:
    """A column of lists, which Parquet has as lists: not a tensor."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


class Classifier(Worker):
    """Columns `label`, `index` and `p`; with `top` more than 1 each holds as many."""

    def answers(self, values: Any) -> Columns:
        top = self.options["top"]
        found = [self.model.classify(picture_of(value), top) for value in values]
        columns: Columns = {}
        for name in ("label", "index", "p"):
            lists = [[getattr(answer, name) for answer in best] for best in found]
            columns[name] = lists_of(lists) if top > 1 else [best[0] for best in lists]
        return columns


class Detector(Worker):
    """A column `boxes`, of JSON: a list of {"label", "index", "p", "x0", "y0", "x1", "y1"}, the best first."""

    def answers(self, values: Any) -> Columns:
        return {"boxes": [json.dumps([asdict(box) for box in self.model.detect(picture_of(value))]) for value in values]}


class Embedder(Worker):
    """A column `vector`, float32 [width]."""

    def answers(self, values: Any) -> Columns:
        return {"vector": self.model.embed([str(value) for value in values])}


def run(dataset: Any, worker: Type[Worker], model: Source, column: str, *, keep: bool = False,
        actors: Union[int, Tuple[int, int], None] = None, batch_size: int = 64, ray_options: Mapping[str, Any] | None = None,
        **options: Any) -> Any:
    """The dataset with a worker's answers beside its columns; `keep`: and with the one that was read.

    `actors` is how many, or the least and the most: from 1 to as many as the cluster has cores, as far as reading leaves them. `model` is
    a path on this machine, or the blob's bytes. `ray_options` go to map_batches(), `options` to the worker.
    """
    if not isinstance(model, (bytes, bytearray, memoryview)):
        with open(model, "rb") as file:
            model = file.read()
    Model(model)  # one that is refused is refused here
    blob = ray.put(np.frombuffer(model, np.uint8))
    if actors is None:
        actors = (1, max(1, int(ray.cluster_resources().get("CPU", 1))))
    least, most = (actors, actors) if isinstance(actors, int) else actors
    pool = ray.data.ActorPoolStrategy(min_size=least, max_size=most)
    given = {"num_cpus": 1, "batch_size": batch_size, "batch_format": "numpy", "compute": pool, **(ray_options or {})}
    return dataset.map_batches(worker, fn_constructor_args=(blob, column, keep, options), **given)


def classify(dataset: Any, model: Source, column: str = "image", *, top: int = 1, **more: Any) -> Any:
    """`label`, `index` and `p` of each picture: of pixels, as read_images() gives them, or of a file's bytes. `more`: see run()."""
    return run(dataset, Classifier, model, column, top=top, **more)


def detect(dataset: Any, model: Source, column: str = "image", **more: Any) -> Any:
    """`boxes` of each picture, as JSON. `more`: see run()."""
    return run(dataset, Detector, model, column, **more)


def embed(dataset: Any, model: Source, column: str = "text", **more: Any) -> Any:
    """`vector` of each text. `more`: see run()."""
    return run(dataset, Embedder, model, column, **more)


__all__: List[str] = ["Classifier", "Detector", "Embedder", "Worker", "classify", "detect", "embed", "run"]
