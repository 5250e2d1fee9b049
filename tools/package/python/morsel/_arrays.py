# SPDX-License-Identifier: MIT
"""Between numpy's arrays and memory that C reads and writes: whatever passes here has its type, shape and layout checked."""
from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import Any, Dict, Tuple

import numpy as np

from . import _library as c
from ._library import Error

TYPES: Dict[int, np.dtype[Any]] = {
    c.UINT8: np.dtype(np.uint8),
    c.INT8: np.dtype(np.int8),
    c.INT32: np.dtype(np.int32),
    c.FLOAT32: np.dtype(np.float32),
}


@dataclass(frozen=True)
class Tensor:
    """An input or an output as the ONNX graph states it, and how its numbers are stored: real = scale * (stored - zero_point)."""

    name: str
    shape: Tuple[int, ...]
    dtype: np.dtype[Any]
    stored: np.dtype[Any]
    scale: float
    zero_point: int


def tensor_of(view: c.View) -> Tensor:
    name = (view.name or b"").decode("utf-8", "replace")
    shape = tuple(view.onnx_dims[: view.onnx_rank])
    return Tensor(name, shape, TYPES[view.onnx_type], TYPES[view.type], view.scale, view.zero_point)


def aligned(size: int) -> np.ndarray:
    """Bytes that start at a multiple of MORSEL_ALIGNMENT."""
    room = np.empty(size + c.ALIGNMENT, np.uint8)
    start = -room.ctypes.data % c.ALIGNMENT
    return room[start:][:size]  # in two steps: of no bytes, too, the pointer is that of the start


def pointer(array: np.ndarray) -> int:
    return array.ctypes.data


def memory_of(view: c.View, arena: np.ndarray) -> np.ndarray:
    """The tensor where it lies in the arena, its channels moved to where ONNX has them: by strides, nothing is copied."""
    start = view.data - pointer(arena)
    memory = arena[start : start + view.bytes].view(TYPES[view.type]).reshape(tuple(view.dims[: view.rank]))
    return np.moveaxis(memory, -1, 1) if view.layout == c.CHANNELS_LAST and view.rank > 2 else memory


def shaped(view: c.View, arena: np.ndarray) -> np.ndarray:
    """The same in the graph's shape, as which not every memory can be seen."""
    array = memory_of(view, arena).reshape(tuple(view.onnx_dims[: view.onnx_rank]))
    if not np.may_share_memory(array, arena):
        raise Error(f"tensor '{tensor_of(view).name}' does not lie in memory in the graph's shape: run() copies it")
    return array


def _cast(array: np.ndarray, tensor: Tensor) -> np.ndarray:
    kinds = "fiub" if tensor.dtype.kind == "f" else "iub"
    if array.dtype.kind not in kinds:
        raise TypeError(f"input '{tensor.name}' is {tensor.dtype.name}: an array of {array.dtype} does not fit it")
    if tensor.dtype.kind != "f" and array.size and not np.can_cast(array.dtype, tensor.dtype, "safe"):
        limits = np.iinfo(tensor.dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ValueError(f"input '{tensor.name}' is {tensor.dtype.name}: a value of the array does not fit it")
    return np.require(array, tensor.dtype, ["C", "A"])


def fitted(value: Any, tensor: Tensor) -> Tuple[np.ndarray, int]:
    """The value as a contiguous array of the input's type; for how many runs it is. An array that is so already is not copied."""
    array = np.asarray(value)
    shape, have = tensor.shape, array.shape
    runs = 1
    if shape and len(have) == len(shape) and have[0] and have[0] % shape[0] == 0:
        runs = have[0] // shape[0]
    if have != ((runs * shape[0], *shape[1:]) if shape else ()):
        raise ValueError(f"input '{tensor.name}' has the shape {list(shape)}: an array of {list(have)} does not fit it "
                         "(the first dimension may be a multiple)")
    return _cast(array, tensor), runs


def put(view: c.View, arena: np.ndarray, array: np.ndarray) -> None:
    """One run's values, of the input's type and contiguous, into the arena."""
    if view.onnx_type == c.FLOAT32:
        c.check(c.lib.morsel_quantize(ctypes.byref(view), pointer(array), array.size))
        return
    if view.onnx_type != view.type:
        raise Error(f"input '{tensor_of(view).name}' is {TYPES[view.onnx_type]} in the graph and {TYPES[view.type]} in the blob")
    memory = memory_of(view, arena)
    memory[...] = array.reshape(memory.shape)


def get(view: c.View, arena: np.ndarray, out: np.ndarray) -> None:
    """The output into an array of its type and shape, which is contiguous."""
    if view.onnx_type == c.FLOAT32:
        c.check(c.lib.morsel_dequantize(ctypes.byref(view), pointer(out), out.size))
        return
    if view.onnx_type != view.type:
        raise Error(f"output '{tensor_of(view).name}' is {TYPES[view.onnx_type]} in the graph and {TYPES[view.type]} in the blob")
    memory = memory_of(view, arena)
    out.reshape(memory.shape)[...] = memory


def _opened(path: Any) -> Any:
    """A file as a picture of Pillow's."""
    try:
        from PIL import Image
    except ImportError:
        raise TypeError(f"picture is the path {os.fspath(path)!r}: Pillow opens those ('pip install pillow'), or give an array") from None
    with Image.open(path) as picture:
        picture.load()
        return picture


def frame_of(picture: Any, pixels: str | None) -> Tuple[c.Frame, np.ndarray]:
    """A path, a picture of Pillow's, or an array [height, width] or [height, width, channels] of bytes, and what keeps its memory."""
    if isinstance(picture, (str, os.PathLike)):
        picture = _opened(picture)
    if hasattr(picture, "getexif") and hasattr(picture, "convert"):
        from PIL import ImageOps  # it is there where the picture comes from

        deep = picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG")
        picture = ImageOps.exif_transpose(picture)
        if deep:  # 16 bits keep the upper byte, as by the tool; Pillow's convert() takes all from 255 on for white
            return frame_of((np.asarray(picture) >> 8).astype(np.uint8), "GRAY")
        picture, pixels = picture.convert("RGB"), "RGB"
    array = np.asarray(picture)
    if array.dtype != np.uint8 or array.ndim not in (2, 3):
        raise TypeError("picture is a path, a picture of Pillow's, or an array of uint8 [height, width] or [height, width, channels], "
                        f"not {array.dtype} {list(array.shape)}")
    channels = array.shape[2] if array.ndim == 3 else 1
    pixels = pixels or {1: "GRAY", 3: "RGB", 4: "RGBA"}.get(channels)
    if pixels not in c.PIXELS or c.PIXELS[pixels][1] != channels:
        raise ValueError(f"a picture of {channels} channels is not {pixels or 'one of 1, 3 or 4'}")
    if not array.size or max(array.shape[:2]) > 32768:
        raise ValueError(f"a picture of {list(array.shape[:2])}: sides are 1 to 32768")
    height, width = array.shape[:2]
    array = array.reshape(height, width, channels)
    if array.strides[2] != 1 or array.strides[1] != channels or array.strides[0] < width * channels:
        array = np.ascontiguousarray(array)
    frame = c.Frame(size=ctypes.sizeof(c.Frame), pixels=c.PIXELS[pixels][0], width=width, height=height)
    stride = array.strides[0] if height > 1 else width * channels
    frame.planes[0] = c.Plane(pointer(array), (height - 1) * stride + width * channels, stride)
    return frame, array
