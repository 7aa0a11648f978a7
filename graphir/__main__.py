"""`python -m graphir` is the command `graphir`."""

from __future__ import annotations

import signal
import sys


def run() -> int:
    """Run the command as a process of its own and return its exit code.

    While nothing is begun that could be half done, in imports and at the end, an interrupt ends the process without a
    traceback: `ended_by_signals` handles it in between.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
