# SPDX-License-Identifier: MIT
"""The tool's verbs, each in a process of its own: Ctrl-C stops it at once, and where it ends for want of memory, Python goes on."""
from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Union

import numpy as np

from ._library import Error

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[str], None]
Rule = Union[Path, Mapping[str, Any], None]
Labels = Union[Path, Sequence[str], None]
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")


class Blob(bytes):
    """What convert() and quantize() give: the bytes, and in `report` what the tool says of them, by the keys of its --json."""

    report: Dict[str, Any] = {}


class ToolError(Error):
    """A verb that failed. `code` is its exit status: 1 the input is at fault, 2 the call, 3 the system. `report`: its JSON, if any."""

    def __init__(self, text: str, code: int = 0, report: Dict[str, Any] | None = None) -> None:
        super().__init__(text, code)
        self.report = report or {}


def _lines(process: subprocess.Popen[str], progress: Progress | None) -> List[str]:
    lines = []
    assert process.stderr is not None
    for line in process.stderr:
        line = line.rstrip("\n")
        lines.append(line[len("morsel: ") :] if line.startswith("morsel: ") else line)
        if progress:
            progress(lines[-1])
    return lines


def tool(verb: str, *words: Any, progress: Progress | None = None) -> Dict[str, Any]:
    """`morsel VERB WORDS... --json`: what it prints, as a dict. Lines that it says meanwhile go to `progress`."""
    if not sys.executable:
        raise Error("this Python does not say where its program is, and the tool runs in another process of it")
    given = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen([sys.executable, "-S", PROGRAM, verb, "--json", *given], stdin=subprocess.DEVNULL, stdout=said,
                                   stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        try:
            lines = _lines(process, progress)
            status = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            if process.stderr:
                process.stderr.close()
        said.seek(0)
        text = said.read()
    report = json.loads(text) if text.lstrip().startswith("{") else {}
    if status:
        words_of = [line for line in lines if not line.startswith("notice: ")]
        raise ToolError("\n".join(words_of) or f"the tool ended with status {status}", status, report)
    return report


def _path(path: Path) -> str:
    """No path is read as an option."""
    given = str(os.fspath(path))
    return os.path.join(os.curdir, given) if given.startswith("-") else given


# Options, by the arguments of the functions here.
_ARGUMENTS = {"--answer": "answer", "--arena": "arena", "--batch": "batch", "--count": "count", "--data": "data", "--dim": "dims",
              "--dynamic": "dynamic", "--eval": "evaluate", "--exclude": "exclude", "--half": "half", "--input-node": "input_nodes",
              "--labels": "labels", "--max-drop": "max_drop", "--method": "method", "--no-streaming": "streaming",
              "--output-node": "output_nodes", "--picture": "picture", "--set": "metadata", "--shape": "shapes", "--strip": "strip",
              "--text": "text", "--threads": "threads"}


class _Files:
    """What a verb reads and writes, in a folder for it alone."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.count = 0
        self.arguments: Dict[str, str] = {}  # which argument each file was

    def tool(self, verb: str, *words: Any, progress: Progress | None = None) -> Dict[str, Any]:
        """tool(), whose errors name arguments in the place of the files that they became, and of options."""
        try:
            return tool(verb, *words, progress=progress)
        except ToolError as error:
            raise ToolError(self._in_python(str(error)), error.code, error.report) from None

    def _in_python(self, text: str) -> str:
        for path, argument in self.arguments.items():
            text = text.replace(path, argument)
        return re.sub(r"(?<![\w-])--[a-z-]+(?: (?:PATH|DATASET|RULE\.json)\b)?",
                      lambda found: f"{_ARGUMENTS[found[0].split()[0]]}=" if found[0].split()[0] in _ARGUMENTS else found[0], text)

    def name(self, name: str) -> str:
        self.count += 1
        place = os.path.join(self.folder, str(self.count))
        os.mkdir(place)
        return os.path.join(place, name)

    def written(self, name: str, data: Any, argument: str) -> str:
        path = self.name(name)
        self.arguments[path] = argument
        with open(path, "wb") as file:
            file.write(data)
        return path

    def network(self, network: Any) -> str:
        if hasattr(network, "SerializeToString"):  # of the package onnx
            network = network.SerializeToString()
        if isinstance(network, (bytes, bytearray, memoryview)):
            return self.written("network.onnx", network, "network")
        return _path(network)

    def blob(self, blob: Any) -> str:
        return self.written("network.morsel", blob, "blob") if isinstance(blob, (bytes, bytearray, memoryview)) else _path(blob)

    def json(self, argument: str, value: Any) -> str:
        return self.written(f"{argument}.json", json.dumps(value).encode(), argument)

    def data(self, data: Any) -> List[str]:
        """Arrays become files; paths stay."""
        if data is None:
            return []
        if isinstance(data, Mapping):
            return [f"{name}={self.array(array)}" for name, array in data.items()]
        if isinstance(data, (str, os.PathLike)):
            return [os.fspath(data)]
        if isinstance(data, (list, tuple)) and all(isinstance(item, (str, os.PathLike)) for item in data):
            return [os.fspath(item) for item in data]
        return [self.array(data)]

    def array(self, array: Any) -> str:
        path = self.name("data.npy")
        self.arguments[path] = "data"
        numbers = np.ascontiguousarray(list(array) if isinstance(array, Iterator) else array)
        if numbers.dtype == object:
            raise TypeError(f"data is samples in an array, a list or an iterator, such by the names of inputs, or paths, "
                            f"not {type(array).__name__}")
        np.save(path, numbers, allow_pickle=False)
        return path


def _sizes(values: Any) -> str:
    return ",".join(str(int(value)) for value in (values if isinstance(values, (list, tuple)) else [values]))


def _names(values: Union[str, Sequence[str], None]) -> List[str]:
    return [values] if isinstance(values, str) else list(values or [])


def _beside(files: _Files, *, picture: Rule, labels: Labels, text: Path | None, answer: Rule,
            metadata: Mapping[str, Any] | None) -> List[str]:
    """The options for what stands in a blob beside the network. Empty ones stay empty: edit() takes a part out by them."""
    words: List[str] = []
    for option, rule in (("--picture", picture), ("--answer", answer)):
        if rule is not None:
            words += [option, files.json(option[2:], dict(rule)) if isinstance(rule, Mapping) else os.fspath(rule)]
    if labels is not None:
        is_path = isinstance(labels, (str, os.PathLike))
        given = os.fspath(labels) if is_path else files.json("labels", list(labels)) if labels else ""  # type: ignore[arg-type]
        words += ["--labels", given]
    if text is not None:
        words += ["--text", os.fspath(text)]
    for key, value in (metadata or {}).items():
        if "=" in key:
            raise ValueError(f"a key of metadata holds no '=', as {key!r} does")
        words += ["--set", f"{key}={'' if value is None else value}"]
    return words


def _common(files: _Files, *, shapes: Mapping[str, Sequence[int]] | None, dims: Mapping[str, Union[int, Sequence[int]]] | None,
            picture: Rule, labels: Labels, text: Path | None, answer: Rule, metadata: Mapping[str, Any] | None,
            output_nodes: Union[str, Sequence[str], None], input_nodes: Union[str, Sequence[str], None], strip: bool, half: bool,
            arena: int | None, streaming: bool) -> List[str]:
    """The options that convert and quantize share."""
    words: List[str] = []
    for name, shape in (shapes or {}).items():
        words += ["--shape", f"{name}={_sizes(tuple(shape))}"]
    for name, size in (dims or {}).items():
        words += ["--dim", f"{name}={_sizes(size)}"]
    words += _beside(files, picture=picture, labels=labels, text=text, answer=answer, metadata=metadata)
    for option, names in (("--output-node", output_nodes), ("--input-node", input_nodes)):
        for name in _names(names):
            words += [option, name]
    words += ["--strip"] * strip + ["--half"] * half + ["--no-streaming"] * (not streaming)
    return words + (["--arena", str(int(arena))] if arena is not None else [])


def _made(verb: str, files: _Files, path: str, words: Sequence[str], name: str, progress: Progress | None) -> Blob:
    """What the verb writes. Its notices are warnings at the line that called the function which calls this one, but for what was optimized:
    that stands in the report alone."""
    output = files.name(name)
    report = files.tool(verb, path, "-o", output, *words, progress=progress)
    with open(output, "rb") as file:
        blob = Blob(file.read())
    blob.report = report
    for notice in report.get("notices", []):
        if not notice.startswith("optimized, "):
            warnings.warn(notice, stacklevel=3)
    return blob


def convert(network: Any, *, shapes: Mapping[str, Sequence[int]] | None = None,
            dims: Mapping[str, Union[int, Sequence[int]]] | None = None, batch: int | None = None,
            picture: Rule = None, labels: Labels = None, text: Path | None = None, answer: Rule = None,
            metadata: Mapping[str, Any] | None = None, output_nodes: Union[str, Sequence[str], None] = None,
            input_nodes: Union[str, Sequence[str], None] = None, strip: bool = False, half: bool = False, arena: int | None = None, streaming: bool = True, progress: Progress | None = None) -> Blob:
    """A quantized ONNX network (a path, its bytes, or a ModelProto) as a blob: `morsel convert`, whose --help explains the options.

    `picture` (preprocessing) and `answer` (postprocessing) are rules as dicts, or their files; `labels` a list, or their file; `text` the file of a rule; `metadata` a
    dict. `dims={"sequence": (32, 128)}`
    makes a variant for each. `progress` is called with each line that the tool says. What is refused is told by ToolError.
    """
    with tempfile.TemporaryDirectory(prefix="morsel-") as folder:
        files = _Files(folder)
        words = _common(files, shapes=shapes, dims=dims, picture=picture, labels=labels, text=text, answer=answer,
                        metadata=metadata, output_nodes=output_nodes, input_nodes=input_nodes, strip=strip, half=half, arena=arena, streaming=streaming)
        if batch is not None:
            words += ["--batch", str(int(batch))]
        return _made("convert", files, files.network(network), words, "network.morsel", progress)


def quantize(network: Any, data: Any = None, *, dynamic: bool = False, form: str = "blob", count: int | None = None,
             method: str | None = None, exclude: Union[str, Sequence[str], None] = None, evaluate: Path | None = None,
             max_drop: float | None = None, threads: int | None = None, shapes: Mapping[str, Sequence[int]] | None = None,
             dims: Mapping[str, Union[int, Sequence[int]]] | None = None, picture: Rule = None, labels: Labels = None,
             text: Path | None = None, answer: Rule = None, metadata: Mapping[str, Any] | None = None,
             output_nodes: Union[str, Sequence[str], None] = None, input_nodes: Union[str, Sequence[str], None] = None,
             strip: bool = False, half: bool = False, arena: int | None = None, streaming: bool = True, options: Sequence[str] = (),
             progress: Progress | None = None) -> Blob:
    """A float ONNX network and typical inputs (calibration data) to a blob: `morsel quantize`, whose --help explains the options.

    `data` is an array whose first dimension counts samples, an iterator of samples, such by the names of the inputs, or a path or paths as of
    --data; `dynamic` wants none. `form="qdq"` gives the quantized network in ONNX. `options` are further ones, as of the command line.
    """
    if form not in ("blob", "qdq"):
        raise ValueError(f"form is 'blob' or 'qdq', not {form!r}")
    with tempfile.TemporaryDirectory(prefix="morsel-") as folder:
        files = _Files(folder)
        words = _common(files, shapes=shapes, dims=dims, picture=picture, labels=labels, text=text, answer=answer,
                        metadata=metadata, output_nodes=output_nodes, input_nodes=input_nodes, strip=strip, half=half, arena=arena, streaming=streaming)
        for path in files.data(data):
            words += ["--data", path]
        for name in _names(exclude):
            words += ["--exclude", name]
        given = {"--count": count, "--method": method, "--eval": evaluate, "--max-drop": max_drop, "--threads": threads}
        for option, value in given.items():
            words += [option, str(value)] if value is not None else []
        name = "network.onnx" if form == "qdq" else "network.morsel"
        return _made("quantize", files, files.network(network), [*words, *["--dynamic"] * dynamic, *options], name, progress)


def edit(blob: Any, *, picture: Rule = None, labels: Labels = None, text: Path | None = None, answer: Rule = None,
         metadata: Mapping[str, Any] | None = None) -> Blob:
    """A blob (a path, or its bytes) with other labels, rules or metadata, and the same network: `morsel edit`.

    "" in the place of a rule or of labels takes them out, and so does None for the value of a key of `metadata`.
    """
    with tempfile.TemporaryDirectory(prefix="morsel-") as folder:
        files = _Files(folder)
        words = _beside(files, picture=picture, labels=labels, text=text, answer=answer, metadata=metadata)
        return _made("edit", files, files.blob(blob), words, "network.morsel", None)


class Report:
    """A page of HTML that stands alone. A notebook shows it where it is the value of a cell."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        made = f"{os.fspath(path)}.{os.getpid()}.part"
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(self.html)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise

    def _repr_html_(self) -> str:
        return f'<iframe sandbox srcdoc="{html.escape(self.html)}" style="width: 100%; height: 40em; border: 0"></iframe>'


def report(blob: Any, network: Any = None, *, data: Any = None, options: Sequence[str] = (), progress: Progress | None = None) -> Report:
    """What a blob is, its memory, its time and its answers, as a page: `morsel report`.

    `network` is the float network that it is of, and `data` what quantize() takes, or a folder of labelled pictures.
    """
    with tempfile.TemporaryDirectory(prefix="morsel-") as folder:
        files = _Files(folder)
        words = [] if network is None else [files.network(network)]
        for path in files.data(data):
            words += ["--data", path]
        output = files.name("report.html")
        files.tool("report", files.blob(blob), *words, "-o", output, *options, progress=progress)
        with open(output, encoding="utf-8") as file:
            return Report(file.read())
