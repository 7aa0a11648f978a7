# mypy: ignore-errors
# ruff: noqa: RUF005, SIM105
# This runs where the framework is, in Python 2.7 too.
"""Run as a program: another program, under limits that it cannot lift. Imports nothing of graphir.

    child_limits.py LIMITS SCRIPT FOLDER WORD...

LIMITS is JSON: `memory` in bytes that it may allocate, `seconds` of one core's time. On Linux, where the kernel has
Landlock (5.13), the program can neither write, make nor remove a file outside of FOLDER, nor start another program;
nor, from later kernels on, connect to or listen on a TCP port, or send a signal to a process that it did not start.
Elsewhere no file that it writes can grow beyond 4 KB. Source of the numbers: linux/landlock.h.
"""

import ctypes
import json
import os
import runpy
import sys

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
NO_NEW_PRIVILEGES = 38
EXECUTE, WRITE_FILE = 1 << 0, 1 << 1
# Removing (4, 5) and making (6 to 12) files, then what later versions of the interface know: moving, truncating.
SINCE = {1: EXECUTE | WRITE_FILE | sum(1 << bit for bit in range(4, 13)), 2: 1 << 13, 3: 1 << 14}
TCP, SCOPES = 0b11, 0b11
# Without Landlock as little as Python and Keras need to find that they have a folder for temporary files.
LARGEST_FILE, LARGEST_ANYWHERE = 4 << 30, 4096


class Ruleset(ctypes.Structure):
    """What is forbidden unless a rule allows it."""

    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class Beneath(ctypes.Structure):
    """A rule: what is allowed beneath an opened folder."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def lock_in(folder):
    """Forbid this process what Landlock can forbid, but for writing to the folder; whether the kernel has it."""
    if not sys.platform.startswith("linux"):
        return False
    call = ctypes.CDLL(None, use_errno=True)
    version = call.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    files = sum(rights for since, rights in SINCE.items() if version >= since)
    rules = Ruleset(files, TCP if version >= 4 else 0, SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = call.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    for path, allowed in ((folder, files & ~EXECUTE), (os.devnull, WRITE_FILE)):
        parent = os.open(path, os.O_RDONLY)
        added = call.syscall(ADD_RULE, ruleset, 1, ctypes.byref(Beneath(allowed, parent)), 0)
        os.close(parent)
        if added < 0:
            return False
    is_locked = call.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and call.syscall(RESTRICT_SELF, ruleset, 0) == 0
    return bool(is_locked)


def limit(limits, may_write):
    """Set the limits that the system has."""
    if resource is None:
        return
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": LARGEST_FILE if may_write else LARGEST_ANYWHERE,
        "RLIMIT_DATA": limits["memory"],
        "RLIMIT_CPU": limits["seconds"],
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (lowered, lowered))
        except (ValueError, OSError, resource.error):  # a system that has the name, but not the limit
            pass


def main():
    """Limit this process, then run the program in it."""
    limits, script, folder = sys.argv[1:4]
    sys.dont_write_bytecode = True
    limit(json.loads(limits), lock_in(folder))
    sys.argv[:] = [script, folder] + sys.argv[4:]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
