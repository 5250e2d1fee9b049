# SPDX-License-Identifier: MIT
"""The tool `morsel`, as `python -m morsel VERB ...`. It runs as a script, too, without the package: convert() does so."""
import ctypes
import os
import signal
import sys

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libmorsel.so")


def main() -> int:
    # The tool is one piece of C: Python's handlers would be asked only behind its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = [ctypes.create_string_buffer(os.fsencode(word)) for word in ["morsel", *sys.argv[1:]]]
    argv = (ctypes.c_void_p * (len(words) + 1))(*[ctypes.addressof(word) for word in words], None)
    return int(ctypes.CDLL(LIBRARY).morsel_tool(len(words), argv))


if __name__ == "__main__":
    sys.exit(main())
