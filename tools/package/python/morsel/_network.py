# SPDX-License-Identifier: MIT
"""A network and its sessions. A session keeps its model, its arena and its threads alive; a model keeps its blob."""
from __future__ import annotations

import ctypes
import mmap
import os
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple, Union

import numpy as np

from . import _arrays as arrays
from . import _library as c
from ._arrays import Tensor
from ._library import Error, lib

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
Inputs = Union[Any, Sequence[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Class:
    """An answer of classify(). The label is "" where the blob has none."""

    label: str
    index: int
    p: float


@dataclass(frozen=True)
class Box:
    """An answer of detect(), in the picture's pixels."""

    label: str
    index: int
    p: float
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True)
class Point:
    """An answer of points(), in the picture's pixels."""

    label: str
    index: int
    p: float
    x: float
    y: float


def _read(path: Union[str, "os.PathLike[str]"]) -> np.ndarray:
    with open(path, "rb", buffering=0) as file:
        blob = arrays.aligned(os.fstat(file.fileno()).st_size)
        have, room = 0, memoryview(blob.data)
        while have < len(room):
            count = file.readinto(room[have:])
            if not count:
                raise Error(f"{os.fspath(path)}: it became shorter while it was read")
            have += count
    return blob


def _map(path: Union[str, "os.PathLike[str]"]) -> np.ndarray:
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return arrays.aligned(0)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


class Model:
    """An open network, by a path or the blob's bytes. It never changes: any number of threads may share it.

    `run`, `classify`, `detect` and the others use a session that the calling thread has for itself. With `map_file` the file is mapped, not read:
    processes share its pages. Then nobody may write to it while the model lives, as that voids all checks.
    """

    def __init__(self, source: Source, *, map_file: bool = False) -> None:
        if isinstance(source, (bytes, bytearray, memoryview)):
            if map_file:
                raise TypeError("map_file wants a path: bytes are in memory already")
            blob = arrays.aligned(memoryview(source).nbytes)
            if blob.size:
                blob[:] = np.frombuffer(source, np.uint8)
        else:
            source = os.fspath(source)  # a number would be an open file of the process
            blob = _map(source) if map_file else _read(source)
        blob.flags.writeable = False
        if isinstance(source, (bytearray, memoryview)):
            source = blob.data  # who changes theirs changes nothing here
        self._source, self._map_file = source, map_file
        self._open(blob, "" if isinstance(source, (bytes, bytearray, memoryview)) else f"{os.fspath(source)}: ")

    @classmethod
    def _over(cls, blob: np.ndarray) -> Model:
        """Over bytes that nobody writes, where they lie; a copy of those that are not aligned."""
        if arrays.pointer(blob) % c.ALIGNMENT or blob.flags.writeable:
            return cls(blob.data)
        model = object.__new__(cls)
        model._source, model._map_file = blob.data, False
        model._open(blob, "")
        return model

    def _open(self, blob: np.ndarray, where: str) -> None:
        model = c.Model()
        code = lib.morsel_open(ctypes.byref(model), arrays.pointer(blob), blob.size, 0)
        if code:
            part = ctypes.create_string_buffer(64)
            raise Error(where + lib.morsel_python_part(ctypes.byref(model), part, len(part)).decode() + c.text_of(code), code)
        self._settle(model, blob, lib.morsel_variant_count(ctypes.byref(model)))

    def _settle(self, model: c.Model, blob: np.ndarray, variants: int) -> None:
        if not lib.morsel_python_strings_fit(ctypes.byref(model), variants):
            raise Error("names or labels of the blob share bytes, or a label has over 1,024 bytes: no writer of blobs lays them so")
        self._blob, self._model, self._at = blob, model, ctypes.byref(model)
        self._own = threading.local()
        self._variants: List[Model] = [self]
        output = ctypes.c_uint32(0)
        self._answer = int(lib.morsel_answer_kind(self._at, ctypes.byref(output)))
        self._answer_output = output.value
        self._probabilities = bool(lib.morsel_python_probabilities(self._at))
        session = self._session()
        self.inputs: Tuple[Tensor, ...] = tuple(arrays.tensor_of(view) for view in session._inputs)
        self.outputs: Tuple[Tensor, ...] = tuple(arrays.tensor_of(view) for view in session._outputs)

    def __reduce__(self) -> Any:
        source = self._source
        if isinstance(source, (bytearray, memoryview)):
            source = bytes(source)
        return (_model_of, (source, self._map_file, self._index))

    def __repr__(self) -> str:
        def said(tensor: Tensor) -> str:
            return f"{tensor.name}: {tensor.dtype.name}{list(tensor.shape)}"

        return f"<morsel.Model '{self.name}' ({', '.join(map(said, self.inputs))}) -> ({', '.join(map(said, self.outputs))})>"

    _index = 0

    @property
    def name(self) -> str:
        """The network's name, which is that of its ONNX file without ending."""
        return str(lib.morsel_network_name(self._at).decode("utf-8", "replace"))

    @property
    def labels(self) -> List[str]:
        return [self._label(i) for i in range(lib.morsel_label_count(self._at))]

    def _label(self, index: int) -> str:
        return str((lib.morsel_label(self._at, index) or b"").decode("utf-8", "replace"))

    @property
    def metadata(self) -> Dict[str, str]:
        """What the blob says of itself, by `--set` of the tool or `metadata` of convert(): version, licence."""
        pairs: Dict[str, str] = {}
        value, index = ctypes.c_char_p(), 0
        while (key := lib.morsel_metadata_at(self._at, index, ctypes.byref(value))) is not None:
            pairs.setdefault(key.decode("utf-8", "replace"), (value.value or b"").decode("utf-8", "replace"))
            index += 1
        return pairs

    @property
    def arena_bytes(self) -> int:
        """What a session of one thread takes."""
        return int(lib.morsel_arena_bytes_for(self._at, 1))

    @property
    def work(self) -> int:
        """What a run computes at most, in multiply-accumulates and bytes: for limits on networks of others."""
        return int(lib.morsel_work(self._at))

    @property
    def variants(self) -> Tuple[Model, ...]:
        """The network at each size that it was converted for, the largest first: this one."""
        if self._index:
            return (self,)
        opened, count = list(self._variants), lib.morsel_variant_count(self._at)
        for i in range(len(opened), count):
            model = c.Model()
            c.check(lib.morsel_open_variant(ctypes.byref(model), self._at, i, 0), f"variant {i}: ")
            variant = object.__new__(Model)
            variant._source, variant._map_file, variant._index = self._source, self._map_file, i
            variant._settle(model, self._blob, count)
            opened.append(variant)
        self._variants = opened
        return tuple(opened)

    def _session(self) -> Session:
        session = getattr(self._own, "session", None)
        if session is None:
            session = self._own.session = Session(self)
        return session

    def run(self, inputs: Inputs) -> List[np.ndarray]:
        """From inputs to outputs, both as the ONNX graph states them.

        Inputs are an array, a list of arrays, or arrays by name. A first dimension that is a multiple of the network's is run in turn.
        An array of the input's type that is contiguous is read where it lies. Session.run() can give views in place of copies.
        """
        return self._session().run(inputs)

    def classify(self, picture: Any, top: int | None = None, *, pixels: str | None = None) -> List[Class]:
        """The best `top` classes of a picture (image), each with its label, index and p: left out, 5.

        The picture is a path, which Pillow opens, one of Pillow's, or uint8 [height, width, channels]. The picture rule in the blob is its
        preprocessing: no resizing is needed before. Three channels are RGB, four RGBA, one is GRAY, unless `pixels` says BGR or BGRA.
        Where the blob has an answer rule of kind classes, it says what p is, and how many are told at most.
        """
        return self._session().classify(picture, top, pixels=pixels)

    def detect(self, picture: Any, *, pixels: str | None = None) -> List[Box]:
        """What a detector finds in a picture, best first, by the answer rule in the blob, with non-maximum suppression (NMS).

        Boxes have a label, an index, p, and x0, y0, x1, y1 in the picture's pixels. For pictures and `pixels` see classify().
        """
        return self._session().detect(picture, pixels=pixels)

    def segment(self, picture: Any, *, pixels: str | None = None) -> np.ndarray:
        """The class of each pixel of a picture, by the answer rule in the blob: uint8 [height, width].

        255 is what the network did not see. For pictures and `pixels` see classify().
        """
        return self._session().segment(picture, pixels=pixels)

    def points(self, picture: Any, *, pixels: str | None = None) -> List[Point]:
        """Points of a picture in the order of their index, by the answer rule in the blob.

        Each has a label, an index, p, and x and y in the picture's pixels. For pictures and `pixels` see classify().
        """
        return self._session().points(picture, pixels=pixels)

    def embed(self, what: Any, *, pixels: str | None = None) -> np.ndarray:
        """The vector of a text or a picture, or of each of a list: float32 [width] or [many, width].

        Texts go in by the text rule in the blob, and of several sizes each takes the shortest that holds it. A str is a text, never a path:
        pictures are as of classify(), their paths pathlib's. They go in by the picture rule, and come out by an answer rule of kind embedding.
        """
        if isinstance(what, str):
            return self._variant_for(what)._session().embed(what)
        if not isinstance(what, (list, tuple)):
            return self._session().embed(what, pixels=pixels)
        vectors = [self.embed(one, pixels=pixels) for one in what]
        if len({vector.shape for vector in vectors}) > 1:
            raise Error("the first output grows with the length of the text: pool its vectors, or take one of the model's variants")
        return np.stack(vectors) if vectors else np.empty((0, 0), np.float32)

    def _variant_for(self, text: str) -> Model:
        index = ctypes.c_uint32(0)
        if not self._index and lib.morsel_variant_count(self._at) > 1:
            utf8 = text.encode("utf-8", "replace")
            c.check(lib.morsel_text_variant(self._at, utf8, len(utf8), ctypes.byref(index)))
        return self.variants[index.value]


def _model_of(source: Source, map_file: bool, index: int) -> Model:
    return Model(source, map_file=map_file).variants[index]


def _arena_of(model: Model, threads: int) -> np.ndarray:
    size = lib.morsel_arena_bytes_for(model._at, threads)
    if not size:
        raise Error(f"an arena for {threads} threads would take 2 GiB or more")
    return arrays.aligned(size + lib.morsel_python_lent(threads))


class _Turn:
    """Held by the thread that a session works for. Nobody waits for it: that two want it is a mistake of theirs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise Error("another thread uses this session: each wants one of its own")

    def __exit__(self, *failure: Any) -> None:
        self._lock.release()


class Session:
    """A network with memory of its own: one thread's at a time. A second one that calls meanwhile gets an Error.

    `threads` share each step of a run; with more than one it is not for use behind a fork(). `cpu` caps the kernels, as the tool's --cpu.
    """

    def __init__(self, model: Model, *, threads: int = 1, cpu: str | None = None) -> None:
        if not 1 <= threads <= 256:
            raise ValueError(f"{threads} threads: 1 to 256 are possible")
        options = c.Options(size=ctypes.sizeof(c.Options))
        if cpu is not None:
            mask = ctypes.c_uint32(0)
            if not lib.morsel_python_cpu(cpu.encode(), ctypes.byref(mask)):
                raise ValueError(f"there are no kernels of the name '{cpu}'")
            options.cpu_mask = mask.value
        self.model = model
        self._keeps = model._model, model._blob  # what C points at, whatever becomes of the model
        self._turn = _Turn()
        self._arena = _arena_of(model, threads)
        self._scratch = arrays.aligned(0)
        if threads > 1:
            pool = lib.morsel_python_pool_open(threads)
            if not pool:
                raise Error(f"the system gives no {threads} threads")
            weakref.finalize(self, lib.morsel_python_pool_close, pool).atexit = False
            options.tasks, options.parallel_for, options.parallel_ctx = threads, c.pool_run, pool
        session = c.Session()
        self._session, self._at = session, ctypes.byref(session)
        c.check(lib.morsel_session_open(self._at, model._at, arrays.pointer(self._arena), self._arena.size, ctypes.byref(options)))
        self._inputs = list(self._views(lib.morsel_input, lib.morsel_input_count(model._at)))
        self._outputs = list(self._views(lib.morsel_output, lib.morsel_output_count(model._at)))

    def _views(self, find: Any, count: int) -> Iterator[c.View]:
        for i in range(count):
            view = c.View()
            c.check(find(self._at, i, ctypes.byref(view)))
            yield view

    def __reduce__(self) -> Any:
        raise TypeError("a session belongs to one thread of one process: send its model, and open another there")

    def _named(self, inputs: Mapping[str, Any]) -> List[Any]:
        names = [tensor.name for tensor in self.model.inputs]
        if sorted(inputs) != sorted(names):
            raise ValueError(f"the network's inputs are {names}, not {list(inputs)}")
        return [inputs[name] for name in names]

    def _fit(self, inputs: Inputs) -> Tuple[List[np.ndarray], int]:
        if isinstance(inputs, Mapping):
            inputs = self._named(inputs)
        elif not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        if len(inputs) != len(self._inputs):
            raise ValueError(f"the network has {len(self._inputs)} inputs, not {len(inputs)}")
        pairs = [arrays.fitted(value, tensor) for value, tensor in zip(inputs, self.model.inputs)]
        if len({runs for _, runs in pairs}) > 1:
            raise ValueError("the first dimensions of the inputs are for several numbers of runs: " + ", ".join(str(r) for _, r in pairs))
        return [array for array, _ in pairs], pairs[0][1] if pairs else 1

    def run(self, inputs: Inputs, *, copy: bool = True) -> List[np.ndarray]:
        """From inputs to outputs, both as the ONNX graph states them.

        Inputs are an array, a list of arrays, or arrays by name. A first dimension that is a multiple of the network's is run in turn.
        An array of the input's type that is contiguous is read where it lies. With `copy=False` outputs that the arena holds as the
        graph states them come as views of it, which the next run writes over.
        """
        values, runs = self._fit(inputs)
        tensors = self.model.outputs
        if runs > 1 and not all(tensor.shape for tensor in tensors):
            raise ValueError(f"the arrays are for {runs} runs, and an output has no dimension to stack them in")
        with self._turn:
            if not copy and runs == 1:
                self._run(values, 0, 1)
                return [self._seen(view, tensor) for view, tensor in zip(self._outputs, tensors)]
            outs = [np.empty((runs * t.shape[0], *t.shape[1:]) if t.shape else (), t.dtype) for t in tensors]
            for i in range(runs):
                self._run(values, i, runs)
                for view, out in zip(self._outputs, outs):
                    arrays.get(view, self._arena, _share(out, i, runs))
            return outs

    def _run(self, values: List[np.ndarray], i: int, runs: int) -> None:
        for view, array in zip(self._inputs, values):
            arrays.put(view, self._arena, _share(array, i, runs))
        c.check(lib.morsel_run(self._at))

    def _seen(self, view: c.View, tensor: Tensor) -> np.ndarray:
        if tensor.stored == tensor.dtype:
            try:
                seen = arrays.shaped(view, self._arena)
                seen.flags.writeable = False
                return seen
            except Error:
                pass
        out = np.empty(tensor.shape, tensor.dtype)
        arrays.get(view, self._arena, out)
        return out

    def input(self, which: Union[int, str] = 0) -> np.ndarray:
        """The input in the arena, in the type that it is stored in: for who writes it himself. A run spends it."""
        return arrays.shaped(self._find(self._inputs, which), self._arena)

    def output(self, which: Union[int, str] = 0) -> np.ndarray:
        """The output in the arena, in the type that it is stored in, until the next inputs are written."""
        return arrays.shaped(self._find(self._outputs, which), self._arena)

    def run_in_place(self) -> None:
        """A run on what input() was given, for output() to show."""
        with self._turn:
            c.check(lib.morsel_run(self._at))

    @staticmethod
    def _find(views: List[c.View], which: Union[int, str]) -> c.View:
        if isinstance(which, int):
            return views[which]
        names = [arrays.tensor_of(view).name for view in views]
        if which not in names:
            raise ValueError(f"there is no '{which}': there are {names}")
        return views[names.index(which)]

    def _first_floats(self) -> np.ndarray:
        out = np.empty(self.model.outputs[0].shape, self.model.outputs[0].dtype)
        arrays.get(self._outputs[0], self._arena, out)
        return np.ascontiguousarray(out, np.float32).reshape(-1)

    def _see(self, picture: Any, pixels: str | None) -> c.Frame:
        """A run on a picture, for who holds the turn. The frame that comes back has its size."""
        if not self._inputs or not self._outputs or self.model.inputs[0].shape[:1] != (1,):
            raise Error("a network of one picture at a time is wanted")
        frame, keep = arrays.frame_of(picture, pixels)
        need = lib.morsel_frame_bytes(self.model._at, ctypes.byref(frame))
        if need > self._scratch.size:
            self._scratch = arrays.aligned(need)
        c.check(lib.morsel_frame(self.model._at, ctypes.byref(frame), arrays.pointer(self._scratch), self._scratch.size,
                                 ctypes.byref(self._inputs[0]), 0))
        del keep
        c.check(lib.morsel_run(self._at))
        return frame

    def classify(self, picture: Any, top: int | None = None, *, pixels: str | None = None) -> List[Class]:
        """The best `top` classes of a picture, by the picture rule in the blob: a path, which Pillow opens, one of Pillow's, or
        uint8 [height, width, channels].

        Three channels are RGB, four RGBA, one is GRAY, unless `pixels` says BGR or BGRA. Rows of an array may have gaps. Where the blob has
        an answer rule of kind classes, it says what p is, and how many are told at most; else they are 5.
        """
        if top is not None and top < 1:
            raise ValueError(f"top is how many classes are told, 1 at least, not {top}")
        by_rule = self.model._answer == c.ANSWER_CLASSES
        if not by_rule and any(size != 1 for size in self.model.outputs[0].shape[2:]):
            raise Error(f"its first output is no list of classes: {list(self.model.outputs[0].shape)}")
        with self._turn:
            self._see(picture, pixels)
            if by_rule:
                return self._classes_by_rule(top)
            scores = self._first_floats()
        indices = np.empty(min(5 if top is None else top, scores.size), np.uint32)
        have = lib.morsel_python_classes(arrays.pointer(scores), scores.size, self.model._probabilities, indices.size,
                                         arrays.pointer(indices))
        return [Class(self.model._label(int(i)), int(i), float(scores[i])) for i in indices[:have]]

    def _classes_by_rule(self, top: int | None) -> List[Class]:
        most = int(np.prod(self.model.outputs[0].shape))
        found = (c.Class * (most if top is None else min(top, most)))()
        count = ctypes.c_uint32(0)
        c.check(lib.morsel_classes(self._at, 0, found, len(found), ctypes.byref(count)))
        return [Class(self.model._label(f.index), f.index, f.p) for f in found[: count.value]]

    def detect(self, picture: Any, *, pixels: str | None = None) -> List[Box]:
        """What a detector finds in a picture, best first, by the answer rule in the blob. For pictures see classify()."""
        self._wants(c.ANSWER_DETECTIONS, "detections")
        count, room = ctypes.c_uint32(0), 1024
        with self._turn:
            frame = self._see(picture, pixels)
            while True:
                found = (c.Box * room)()
                c.check(lib.morsel_detect(self._at, ctypes.byref(frame), 0, found, room, ctypes.byref(count)))
                if count.value < room or room > 65536:
                    break
                room = 65537  # no rule tells more
        return [Box(self.model._label(f.index), f.index, f.p, f.x0, f.y0, f.x1, f.y1) for f in found[: count.value]]

    def segment(self, picture: Any, *, pixels: str | None = None) -> np.ndarray:
        """The class of each pixel of a picture, by the answer rule in the blob: uint8 [height, width].

        255 is what the network did not see.
        """
        self._wants(c.ANSWER_SEGMENTATION, "segmentation")
        with self._turn:
            frame = self._see(picture, pixels)
            out = np.empty((frame.height, frame.width), np.uint8)
            c.check(lib.morsel_segment(self._at, ctypes.byref(frame), 0, arrays.pointer(out), out.size))
            return out

    def points(self, picture: Any, *, pixels: str | None = None) -> List[Point]:
        """Points of a picture in the order of their index, by the answer rule in the blob."""
        self._wants(c.ANSWER_POINTS, "points")
        count, room = ctypes.c_uint32(0), 256
        with self._turn:
            frame = self._see(picture, pixels)
            while True:
                found = (c.Point * room)()
                code = lib.morsel_points(self._at, ctypes.byref(frame), 0, found, room, ctypes.byref(count))
                if code != c.ERR_CAPACITY or room > 1 << 24:
                    break
                room *= 8
            c.check(code)
        return [Point(self.model._label(f.index), f.index, f.p, f.x, f.y) for f in found[: count.value]]

    def _wants(self, kind: int, name: str) -> None:
        if self.model._answer != kind:
            raise Error(f"there is no answer rule of kind {name} in the blob: convert the network with answer='rule.json'")

    def embed(self, what: Any, *, pixels: str | None = None) -> np.ndarray:
        """The vector of a text or a picture, as float32 [width]; a text that is longer than the network is cut.

        It is that of an answer rule of kind embedding, or without one, of a text, the first output.
        """
        if not isinstance(what, str):
            self._wants(c.ANSWER_EMBEDDING, "embedding")
            with self._turn:
                self._see(what, pixels)
                return self._vector()
        if not lib.morsel_text_length(self.model._at):
            raise Error("there is no text rule in the blob: convert the network with text='rule.json'")
        by_rule = self.model._answer == c.ANSWER_EMBEDDING
        if not self._inputs or not self._outputs or self.model.inputs[0].shape[:1] != (1,) or \
                (not by_rule and self.model.outputs[0].dtype != np.float32):
            raise Error("a network of one text at a time is wanted, with floats as its first output")
        utf8 = what.encode("utf-8", "replace")
        with self._turn:
            c.check(lib.morsel_text_put(self._at, utf8, len(utf8), 0))
            c.check(lib.morsel_run(self._at))
            return self._vector() if by_rule else self._first_floats()

    def _vector(self) -> np.ndarray:
        output = self.model.outputs[self.model._answer_output]
        out = np.empty(int(np.prod(output.shape)), np.float32)
        count = ctypes.c_uint32(0)
        c.check(lib.morsel_embedding(self._at, 0, arrays.pointer(out), out.size, ctypes.byref(count)))
        return out[: count.value]


def _share(array: np.ndarray, i: int, runs: int) -> np.ndarray:
    """The part of one run in an array for several."""
    if runs == 1:
        return array
    rows = array.shape[0] // runs
    return array[i * rows : (i + 1) * rows]
