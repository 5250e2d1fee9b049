# SPDX-License-Identifier: MIT
"""The notebook runs from its first cell to its last, and shows what it says."""
import importlib.util
import json
import os
import tempfile
import unittest

from support import ROOT, at

NOTEBOOK = at("tools/package/python/tour.ipynb")
WANTED = ("nbclient", "ipykernel", "PIL")


class Notebook(unittest.TestCase):
    def test_the_notebook_runs(self):
        for package in WANTED:
            if not importlib.util.find_spec(package):
                self.skipTest(f"no {package}")
        import nbclient
        import nbformat

        notebook = nbformat.read(NOTEBOOK, 4)
        with tempfile.TemporaryDirectory() as folder:
            os.environ.setdefault("IPYTHONDIR", folder)  # nothing is left in the home
            nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": ROOT}}).execute()
        shown = [[output for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]
        text = json.dumps(shown)
        for words in ("Box(label='blue'", "'arena_bytes'", "grün", "srcdoc=", "{'version': '2'}"):
            self.assertIn(json.dumps(words)[1:-1], text)

    def test_the_notebook_is_kept_without_what_it_showed(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        for cell in cells:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"))
