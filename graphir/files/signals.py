"""Signals that end a process: held back while something must not be cut in two, and turned into an exception."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_interrupts = 0


class Ended(BaseException):
    """The process was asked to end. Not an Exception: what handles errors must not take it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that would end the process wait until the block is left.

    In other threads than the main one nothing needs to be done where handlers are Python's, which run in the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    kept = {}
    try:
        for number in ENDING:
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                kept[number] = handler
                signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise `Ended` in the block and SIGINT raises KeyboardInterrupt, so that what is half done is
    cleaned up. Signals that are ignored (nohup) or that the caller handles stay so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mended = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]
    show = sys.excepthook

    def show_errors(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # C code that imports may print an interrupt and raise an error of its own: whoever catches that says it once.
        if not issubclass(kind, KeyboardInterrupt | Ended):
            show(kind, error, trace)

    try:
        sys.excepthook = show_errors
        for number in mended:
            signal.signal(number, _interrupt if number == signal.SIGINT else _end)
        yield
    finally:
        sys.excepthook = show
        for number in mended:
            signal.signal(number, signal.SIG_DFL)


def was_interrupted() -> bool:
    """Return whether SIGINT came in a block of `ended_by_signals`."""
    return _interrupts > 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupts
    _interrupts += 1
    raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    raise Ended(number)
