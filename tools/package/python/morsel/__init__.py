# SPDX-License-Identifier: MIT
"""Morsel runs int8 neural networks. `Model("net.morsel").run(x)` runs one, `convert("net.onnx")` makes one."""
from ._arrays import Tensor
from ._library import Error, lib
from ._network import Box, Class, Model, Point, Session
from ._tool import Blob, Report, ToolError, convert, edit, quantize, report, tool

__version__: str = lib.morsel_version().decode()
__all__ = ["Blob", "Box", "Class", "Error", "Model", "Point", "Report", "Session", "Tensor", "ToolError", "convert", "edit", "quantize", "report",
           "tool", "__version__"]
