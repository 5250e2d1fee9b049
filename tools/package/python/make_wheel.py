# SPDX-License-Identifier: MIT
"""Writes a wheel of the package around a shared object: a zip file, by Python alone. `make wheel` calls it.

usage: make_wheel.py LIBRARY.so OBJDUMP CC FOLDER [PACKAGE...]

FOLDER is where the wheel goes; each PACKAGE is one of pkg-config's that was linked in.

The platform's tag follows from what the objects ask for: the machine, and the newest version of glibc that a symbol of theirs has.
A library that no manylinux system has is put beside the shared object, which looks there first; its licence comes along.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
# What PEP 599 and PEP 600 let a wheel take from the system, of what C programs ask for.
SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s)\.so\.\d+|ld-linux.*\.so\.\d+")
MACHINES = {"i386:x86-64": "x86_64", "aarch64": "aarch64"}
DEBIAN = {"libprotobuf-c": ["libprotobuf-c-dev"], "libcjson": ["libcjson-dev"], "libpng": ["libpng-dev", "zlib1g-dev"],
          "libjpeg": ["libjpeg62-turbo-dev"]}
LEAST = (2, 17)  # of manylinux2014, the oldest that pip knows by this kind of name


def said(*call):
    return subprocess.run(call, check=True, stdout=subprocess.PIPE, encoding="utf-8", env={**os.environ, "LC_ALL": "C"}).stdout


def headers(objdump, path):
    """The machine, the libraries that are needed, and the versions of glibc that are asked for."""
    text = said(objdump, "-f", "-p", path)
    machine = MACHINES[re.search(r"architecture: ([^,\s]+)", text).group(1)]
    glibc = [tuple(map(int, version.split("."))) for version in re.findall(r"\sGLIBC_([\d.]+)$", text, re.M)]
    return machine, re.findall(r"NEEDED\s+(\S+)", text), glibc


def gathered(library, objdump, compiler):
    """All objects of the wheel by their names in it, and its tag."""
    files, glibc, machine, waiting = {}, [LEAST], "", [("libmorsel.so", library)]
    while waiting:
        name, path = waiting.pop()
        files[name] = path
        machine, needed, versions = headers(objdump, path)
        glibc += versions
        for other in needed:
            if not SYSTEM.fullmatch(other) and other not in files:
                place = said(compiler, "-print-file-name=" + other).strip()
                if place == other:
                    sys.exit(f"make_wheel: {path} needs {other}, which {compiler} does not find")
                waiting.append((other, os.path.realpath(place)))
    return files, "manylinux_%d_%d_%s" % (*max(glibc)[:2], machine)


def licences(packages):
    """Of this project, and of what is linked in or put beside, as Debian's packages have them."""
    found = {"LICENSE": os.path.join(ROOT, "LICENSE")}
    for package in packages:
        for debian in DEBIAN[package]:
            path = f"/usr/share/doc/{debian}/copyright"
            if not os.path.exists(path):
                sys.exit(f"make_wheel: there is no {path}: the licence of {package} goes into the wheel")
            found[f"LICENSE.{debian}"] = path
    return found


def read(path):
    with open(path, "rb") as file:
        return file.read()


def metadata(version):
    return f"""Metadata-Version: 2.1
Name: morsel-nn
Version: {version}
Summary: Runs int8 neural networks in memory that you hand it
License: MIT
Requires-Python: >=3.9
Requires-Dist: numpy>=1.21
Provides-Extra: ray
Requires-Dist: ray[data]>=2.9; extra == "ray"
Requires-Dist: pillow; extra == "ray"
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

""".encode() + read(os.path.join(HERE, "README.md"))


def contents(objects, tag, version, packages):
    info = f"morsel_nn-{version}.dist-info"
    package = os.path.join(HERE, "morsel")
    sources = [name for name in sorted(os.listdir(package)) if re.search(r"\.(py|typed)$", name)]
    files = {f"morsel/{name}": read(os.path.join(package, name)) for name in sources}
    files.update({f"morsel/{name}": read(path) for name, path in sorted(objects.items())})
    files.update({f"{info}/licenses/{name}": read(path) for name, path in licences(packages).items()})
    files[f"{info}/METADATA"] = metadata(version)
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: morsel\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nmorsel = morsel.__main__:main\n"
    sums = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                   for name, data in files.items())
    files[f"{info}/RECORD"] = f"{sums}{info}/RECORD,,\n".encode()
    return files


def main(library, objdump, compiler, folder, *packages):
    version = re.search(r'^#define MORSEL_VERSION "(.*)"', read(os.path.join(ROOT, "core", "morsel.h")).decode(), re.M).group(1)
    objects, tag = gathered(library, objdump, compiler)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"morsel_nn-{version}-py3-none-{tag}.whl")
    for old in os.listdir(folder):
        if re.fullmatch(r"morsel_nn-.*_" + tag.split("_", 3)[3] + r"\.whl", old):
            os.remove(os.path.join(folder, old))
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in contents(objects, tag, version, packages).items():
            entry = zipfile.ZipInfo(name)  # of 1980: the same objects make the same wheel
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            wheel.writestr(entry, data)
    os.replace(path + ".part", path)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
