# SPDX-License-Identifier: MIT
"""The shared object, by ctypes: the structs of morsel.h, its functions, and what they say of failures."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

MAX_RANK = 6
ALIGNMENT = 64
UINT8, INT8, INT32, FLOAT32 = range(4)
ROW_MAJOR, CHANNELS_LAST = range(2)
ERR_CAPACITY = 22
ANSWER_NONE, ANSWER_CLASSES, ANSWER_DETECTIONS, ANSWER_EMBEDDING, ANSWER_SEGMENTATION, ANSWER_POINTS = range(6)
PIXELS = {"RGB": (0, 3), "BGR": (1, 3), "RGBA": (2, 4), "BGRA": (3, 4), "GRAY": (4, 1)}  # enum morsel_pixels, bytes of a pixel


class Model(ctypes.Structure):
    _fields_ = [("blob", c_void_p), ("blob_bytes", c_uint32), ("opened", c_uint32), ("error_part", c_uint32), ("error_index", c_uint32)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_uint32), ("flags", c_uint32), ("cpu_mask", c_uint32), ("tasks", c_uint32), ("parallel_for", c_void_p),
                ("parallel_ctx", c_void_p), ("barrier", c_void_p), ("fast", c_void_p), ("fast_bytes", c_size_t)]


class Session(ctypes.Structure):
    _fields_ = [("model", c_void_p), ("arena", c_void_p), ("steps", c_void_p), ("step_count", c_uint32), ("cpu", c_uint32),
                ("bands", c_uint32), ("spare_bytes", c_uint32), ("band_bytes", c_uint32), ("options", Options), ("watch", c_void_p),
                ("watch_ctx", c_void_p), ("tell", c_void_p), ("fast", c_void_p), ("behind", c_void_p),
                ("behind_bytes", c_size_t), ("reserve", c_void_p * 2)]


class View(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_uint32), ("type", c_int), ("layout", c_int), ("rank", c_uint32),
                ("dims", c_uint32 * MAX_RANK), ("scale", c_float), ("zero_point", c_int32), ("name", c_char_p), ("onnx_type", c_int),
                ("onnx_rank", c_uint32), ("onnx_dims", c_uint32 * MAX_RANK), ("sign_flip", c_uint32)]


class Plane(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t), ("stride", c_size_t)]


class Frame(ctypes.Structure):
    _fields_ = [("size", c_uint32), ("pixels", c_int), ("colors", c_int), ("width", c_uint32), ("height", c_uint32), ("left", c_uint32),
                ("top", c_uint32), ("region_width", c_uint32), ("region_height", c_uint32), ("turn", c_uint32), ("mirror", c_uint32),
                ("planes", Plane * 3)]


class Class(ctypes.Structure):
    _fields_ = [("index", c_uint32), ("p", c_float)]


class Box(ctypes.Structure):
    _fields_ = [("x0", c_float), ("y0", c_float), ("x1", c_float), ("y1", c_float), ("p", c_float), ("index", c_uint32),
                ("candidate", c_uint32)]


class Point(ctypes.Structure):
    _fields_ = [("x", c_float), ("y", c_float), ("p", c_float), ("index", c_uint32)]


MODEL, SESSION, VIEW, FRAME = POINTER(Model), POINTER(Session), POINTER(View), POINTER(Frame)
_FUNCTIONS = {
    "morsel_open": (c_int, MODEL, c_void_p, c_size_t, c_uint32),
    "morsel_open_variant": (c_int, MODEL, MODEL, c_uint32, c_uint32),
    "morsel_arena_bytes_for": (c_uint32, MODEL, c_uint32),
    "morsel_work": (c_uint64, MODEL),
    "morsel_input_count": (c_uint32, MODEL),
    "morsel_output_count": (c_uint32, MODEL),
    "morsel_label_count": (c_uint32, MODEL),
    "morsel_variant_count": (c_uint32, MODEL),
    "morsel_label": (c_char_p, MODEL, c_uint32),
    "morsel_network_name": (c_char_p, MODEL),
    "morsel_metadata_at": (c_char_p, MODEL, c_uint32, POINTER(c_char_p)),
    "morsel_session_open": (c_int, SESSION, MODEL, c_void_p, c_size_t, POINTER(Options)),
    "morsel_input": (c_int, SESSION, c_uint32, VIEW),
    "morsel_output": (c_int, SESSION, c_uint32, VIEW),
    "morsel_run": (c_int, SESSION),
    "morsel_quantize": (c_int, VIEW, c_void_p, c_size_t),
    "morsel_dequantize": (c_int, VIEW, c_void_p, c_size_t),
    "morsel_frame_bytes": (c_size_t, MODEL, FRAME),
    "morsel_frame": (c_int, MODEL, FRAME, c_void_p, c_size_t, VIEW, c_uint32),
    "morsel_answer_kind": (c_int, MODEL, POINTER(c_uint32)),
    "morsel_classes": (c_int, SESSION, c_uint32, POINTER(Class), c_size_t, POINTER(c_uint32)),
    "morsel_detect": (c_int, SESSION, FRAME, c_uint32, POINTER(Box), c_size_t, POINTER(c_uint32)),
    "morsel_segment": (c_int, SESSION, FRAME, c_uint32, c_void_p, c_size_t),
    "morsel_points": (c_int, SESSION, FRAME, c_uint32, POINTER(Point), c_size_t, POINTER(c_uint32)),
    "morsel_embedding": (c_int, SESSION, c_uint32, c_void_p, c_size_t, POINTER(c_uint32)),
    "morsel_text_put": (c_int, SESSION, c_char_p, c_size_t, c_uint32),
    "morsel_text_variant": (c_int, MODEL, c_char_p, c_size_t, POINTER(c_uint32)),
    "morsel_text_length": (c_uint32, MODEL),
    "morsel_error_text": (c_char_p, c_int),
    "morsel_version": (c_char_p,),
    "morsel_python_probabilities": (c_int, MODEL),
    "morsel_python_classes": (c_size_t, c_void_p, c_size_t, c_int, c_size_t, c_void_p),
    "morsel_python_part": (c_char_p, MODEL, c_char_p, c_size_t),
    "morsel_python_strings_fit": (c_int, MODEL, c_uint32),
    "morsel_python_lent": (c_size_t, c_uint32),
    "morsel_python_cpu": (c_int, c_char_p, POINTER(c_uint32)),
    "morsel_python_pool_open": (c_void_p, c_uint),
    "morsel_python_pool_close": (None, c_void_p),
}


def _load() -> ctypes.CDLL:
    # A CDLL, not a PyDLL: other threads of Python run while C computes.
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libmorsel.so"))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
pool_run = ctypes.cast(lib.morsel_python_pool_run, c_void_p)


class Error(Exception):
    """What the library or the tool refuses, in their words. `code`: enum morsel_error, or the tool's exit status."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


def text_of(code: int) -> str:
    return str(lib.morsel_error_text(code).decode())


def check(code: int, what: str = "") -> None:
    if code:
        raise Error(what + text_of(code), code)
