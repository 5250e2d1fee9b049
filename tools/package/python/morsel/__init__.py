# SPDX-License-Identifier: MIT
"""Morsel runs int8 neural networks. `Model("net.morsel").run(x)` runs one, `convert("net.onnx")` makes one."""
from ._arrays import Tensor
from ._library import Error, lib
from ._network import Class, Model, Session
from ._tool import Blob, ToolError, convert, quantize, tool

__version__: str = lib.morsel_version().decode()
__all__ = ["Blob", "Class", "Error", "Model", "Session", "Tensor", "ToolError", "convert", "quantize", "tool", "__version__"]
