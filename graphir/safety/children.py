"""Start every program that graphir needs, so that none of them takes anything from the current folder.

A folder of models is a stranger's: a `numpy.py`, a `libmxnet.so` or a `dot` in it must not be found before the real
one. An interpreter looks there where `-c` or `-m` starts it, where PYTHONPATH and its like say so, and the system's
loader and searches for programs do so for each empty or relative entry of a list of folders.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Lists of folders or files whose relative and empty entries mean the current folder.
PATH_LISTS = (
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT",
    "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "DYLD_INSERT_LIBRARIES",
)  # fmt: skip
# These may also name libraries without a folder, which the loader looks for where it looks for all.
MAY_BE_NAMES = ("LD_PRELOAD", "LD_AUDIT")
# What tells an interpreter where its modules are, and what it runs first: PYTHONPATH, PYTHONHOME, PYTHONWARNINGS, ...
OF_INTERPRETERS = re.compile(r"PYTHON[A-Z0-9]*|__PYVENV_LAUNCHER__")
# What an interpreter of any version runs: the script behind the given paths, without a folder of its own on the path.
BEGIN = (
    "import sys; sys.path[:] = [path for path in sys.path if path]; import json, runpy;"
    " given = json.loads(sys.argv[1]); sys.path[:] = given + [path for path in sys.path if path not in given];"
    " del sys.argv[:2]; runpy.run_path(sys.argv[0], run_name='__main__')"
)


Changes = Mapping[str, "str | None"]


def child_environment(changes: Changes | None = None) -> dict[str, str]:
    """Return this process's environment without what leads a child to the current folder or to other modules.

    `changes` are variables that the child gets besides, or, with None, does not get.
    """
    kept = {name: text for name, text in os.environ.items() if not OF_INTERPRETERS.fullmatch(name)}
    for name in PATH_LISTS:
        if name in kept:
            separators = r"[:\s]" if name in MAY_BE_NAMES else os.pathsep
            entries = [entry for entry in re.split(separators, kept[name]) if _is_safe(name, entry)]
            kept[name] = os.pathsep.join(entries)
            if not entries and name != "PATH":
                del kept[name]
    return {name: text for name, text in {**kept, **(changes or {})}.items() if text is not None}


def import_paths() -> list[str]:
    """Return the folders from which this process imports, as a child of the same interpreter may: absolute ones.

    The folder of graphir itself comes last, if it is not among them: it may be the current one.
    """
    paths = [path for path in sys.path if os.path.isabs(path)]
    root = str(Path(__file__).resolve().parents[2])
    return paths if root in paths else [*paths, root]


def start_python(
    script: Path,
    words: Sequence[str] = (),
    *,
    python: str = sys.executable,
    environment: Changes | None = None,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start an interpreter isolated from the current folder and from the environment's Python variables.

    This process's own interpreter imports from where this process does. Others, which may be as old as 2.7, know no
    other isolation than `-E`. `options` are those of Popen. Raises OSError if the interpreter cannot be started.
    """
    is_own = python == sys.executable
    command = [python, "-I" if is_own else "-E", "-c", BEGIN, json.dumps(import_paths() if is_own else []), str(script)]
    return subprocess.Popen([*command, *words], env=child_environment(environment), **options)


def find_program(name: str) -> str | None:
    """Return the path of a program in the absolute folders of PATH, None if it is in none of them."""
    return shutil.which(name, path=child_environment().get("PATH", os.defpath))


def run_program(path: str, *words: str, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program that `find_program` found and return how it ended, with what it wrote.

    `options` are those of `subprocess.run`, which says what is raised.
    """
    return subprocess.run([path, *words], env=child_environment(), capture_output=True, **options)


class ForkServer:
    """A process that has imported what is slow to import and forks a child for each request.

    It runs a script whose word is the descriptor of a socket, on which requests come as messages with descriptors. It
    is started at the first request and ends when its socket is closed. A fork of this process starts one of its own.
    """

    def __init__(self, script: Path, environment: Changes | None = None, **options: Any) -> None:
        self._script, self._environment, self._options = script, environment, options
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def request(self, message: bytes, descriptors: Sequence[int]) -> None:
        """Hand over a message of at most 4096 bytes. Raises OSError if the process cannot be started."""
        with self._lock:
            try:
                socket.send_fds(self._running(), [message], descriptors)
            except BrokenPipeError:  # it was ended from outside
                self._control = None
                socket.send_fds(self._running(), [message], descriptors)

    def _running(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair()
            with theirs:
                child = start_python(
                    self._script, [str(theirs.fileno())], environment=self._environment, pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, **self._options,
                )  # fmt: skip
            atexit.register(_end, os.getpid(), self._control, child)
        return self._control


def _end(owner: int, control: socket.socket, child: subprocess.Popen[bytes]) -> None:
    control.close()
    if os.getpid() == owner:
        child.kill()
        child.wait()


def _is_safe(name: str, entry: str) -> bool:
    return os.path.isabs(entry) or bool(name in MAY_BE_NAMES and entry and "/" not in entry)
