# SPDX-License-Identifier: MIT
"""manifests.py FOLDER: each manifest of the bundle parses, has what its package manager demands, states the library's version and names
files that are there. Prints "ok NAME" or "FAIL NAME: why"; exit status 1 after a failure."""
import ast
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(sys.argv[1])
VERSION = re.search(r'MORSEL_VERSION "(.*)"', (FOLDER / "src/morsel.h").read_text()).group(1)
LAYOUT = r"(?m)^(\w[\w-]*):(?: \"?(.*?)\"?)?$"  # of YAML, as far as these files go


def lacks(found, *keys):
    return [f"no {key}" for key in keys if not found.get(key)]


def versions(found):
    return [] if found.get("version") == VERSION else [f"version {found.get('version')}, not {VERSION}"]


def files(*names):
    return [f"no {name}" for name in names if not (FOLDER / name).exists()]


def platformio():
    found = json.loads((FOLDER / "library.json").read_text())
    return lacks(found, "name", "description", "license") + versions(found) + files(f"{found['build']['srcDir']}/{found['headers']}")


def arduino():
    found = dict(line.split("=", 1) for line in (FOLDER / "library.properties").read_text().splitlines())
    needed = "name", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"
    return lacks(found, *needed) + versions(found) + files(f"src/{found['includes']}")


def esp_idf():
    found = dict(re.findall(LAYOUT, (FOLDER / "idf_component.yml").read_text()))
    return lacks(found, "description") + versions(found) + files("CMakeLists.txt")


def zephyr():
    text = (FOLDER / "zephyr/module.yml").read_text()
    named = dict(re.findall(r"(?m)^  (cmake|kconfig): (.*)$", text))
    return lacks(dict(re.findall(LAYOUT, text)), "name") + lacks(named, "cmake", "kconfig") + files(f"{named['cmake']}/CMakeLists.txt", named["kconfig"])


def vcpkg():
    found = json.loads((FOLDER / "vcpkg/vcpkg.json").read_text())
    return lacks(found, "name", "description", "license") + versions(found) + files("vcpkg/portfile.cmake", "LICENSE")


def conan():
    tree = ast.parse((FOLDER / "conanfile.py").read_text())
    recipe = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    found = {a.targets[0].id: ast.literal_eval(a.value) for a in recipe.body if isinstance(a, ast.Assign)}
    return lacks(found, "name", "license", "settings") + versions(found) + files(*(name for name in found["exports_sources"] if "*" not in name))


def swift():
    text = (FOLDER / "Package.swift").read_text()
    first = [] if text.startswith("// swift-tools-version:") else ["the first line does not state the version of the tools"]
    return first + files(re.search(r'path: "(.*?)"', text).group(1) + "/module.modulemap")


def main():
    bad = 0
    for check in (platformio, arduino, esp_idf, zephyr, vcpkg, conan, swift):
        try:
            faults = check()
        except (ValueError, KeyError, AttributeError, OSError, SyntaxError, StopIteration) as e:
            faults = [f"{type(e).__name__}: {e}"]
        bad += bool(faults)
        print(f"FAIL bundle {check.__name__}: {'; '.join(faults)}" if faults else f"ok bundle manifest of {check.__name__}")
    leftover = [p for p in FOLDER.rglob("*") if p.is_file() and re.search(r"@(so)?version@", p.read_text(errors="replace"))]
    if leftover:
        print(f"FAIL bundle: no version was put into {leftover[0].name}")
    return 1 if bad or leftover else 0


if __name__ == "__main__":
    sys.exit(main())
