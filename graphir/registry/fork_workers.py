"""Run as a program: fork a worker process for each request.

The word is the descriptor of a socket. Each message there is JSON: the `memory` that a worker may take, the `folder`
it works in, and the one for its `temporary` files. With it come two descriptors: the worker's end of a pipe for tasks,
and one on which this process writes the worker's id, then, when it has ended, its status; both are 8 bytes. On Linux
everything that a model needs is imported before the first fork. Elsewhere, where libraries do not survive a fork, each
worker imports for itself. Where who started this is gone, its workers end, and their temporary files go with them.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection

from graphir.registry.pool import NUMBER, serve


def reap(ended: dict[int, int], options: int = os.WNOHANG) -> None:
    """Write the statuses of the workers that have ended; `ended` are the descriptors for them by process."""
    while ended:
        try:
            process, status = os.waitpid(-1, options)
        except ChildProcessError:
            return
        if not process:
            return
        descriptor = ended.pop(process)
        with suppress(OSError):  # nobody waits for it any more
            os.write(descriptor, NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os.close(descriptor)


def become_worker(tasks: int, folder: str, temporary: str, memory: int | None) -> None:
    """Serve as a worker until nobody is at the other end of the pipe."""
    os.environ["TMPDIR"] = tempfile.tempdir = temporary
    with suppress(OSError):  # a folder that is gone is missed by who looks for something in it
        os.chdir(folder)
    serve(Connection(tasks), memory)


def main() -> None:
    """Fork workers until the one who started this closes its socket."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a terminal sends them to all; who started this closes the socket
    if sys.platform.startswith("linux"):
        import graphir.registry.warm  # noqa: F401

        gc.freeze()
    control = socket.socket(fileno=int(sys.argv[1]))
    woken, wakes = os.pipe()
    for descriptor in (woken, wakes):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    ended: dict[int, int] = {}
    folders: set[str] = set()
    while True:
        ready = select.select([control.fileno(), woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            reap(ended)
        if control.fileno() not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 4096, 2)
        if not message:
            for process in ended:
                os.kill(process, signal.SIGKILL)
            reap(ended, 0)
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
            return
        tasks, states = descriptors
        request = json.loads(message)
        folders.add(request["temporary"])
        process = os.fork()
        if not process:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (control.detach(), woken, wakes, states, *ended.values()):
                os.close(descriptor)
            try:
                become_worker(tasks, **request)
            finally:
                os._exit(1)
        os.close(tasks)
        ended[process] = states
        with suppress(OSError):  # who asked for it is gone, which the socket tells
            os.write(states, NUMBER.pack(process))


if __name__ == "__main__":
    main()
