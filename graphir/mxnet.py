"""`python -m graphir.mxnet script.py [arguments]` runs a script whose `import mxnet` means graphir's own.

All else is as under `python script.py`: its arguments, the first folder of its path, `__main__`, tracebacks and exit
status. `-m module` runs a module instead.
"""

from __future__ import annotations

import builtins
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType

USAGE = "usage: python -m graphir.mxnet [-m MODULE | SCRIPT] [ARGUMENT ...]"
OWN_FILES = (__file__, runpy.run_module.__code__.co_filename)


def run(arguments: list[str]) -> None:
    """Run a script or a module with its arguments. Raises what it raises."""
    if not arguments or arguments == ["-m"]:
        sys.exit(USAGE)
    if arguments[0] in ("-h", "--help"):
        print(__doc__, USAGE, sep="\n")
        return
    from graphir.converters.mxnet.mx.finder import install

    install()
    try:
        if arguments[0] == "-m":
            put_first(os.getcwd())
            sys.argv[:] = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            run_script(arguments[0], arguments)
    except BaseException:
        show = sys.excepthook

        def show_script_frames(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            own = without_own_frames(trace)
            show(kind, error.with_traceback(own), own)

        sys.excepthook = show_script_frames
        raise


def run_script(path: str, arguments: list[str]) -> None:
    """Run a script as Python does. It ends the process with status 2 if the file cannot be read."""
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: {error}", file=sys.stderr)
        sys.exit(2)
    sys.argv[:] = arguments
    put_first(os.path.dirname(os.path.realpath(path)))
    file = os.path.abspath(path)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=file, __builtins__=builtins, __cached__=None, __annotations__={})
    main.__loader__ = SourceFileLoader("__main__", file)
    main.__package__ = None
    sys.modules["__main__"] = main
    exec(compile(source, file, "exec", dont_inherit=True), main.__dict__)


def put_first(folder: str) -> None:
    """Put a folder first in the path of imports, where `graphir` has removed what Python put there."""
    if not sys.flags.safe_path:
        sys.path.insert(0, folder)


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the script's first frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename in OWN_FILES:
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    run(sys.argv[1:])
