"""`mx.mon`: statistics of the values that networks compute, for finding where they go wrong."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

from graphir.converters.mxnet.mx import ndarray
from graphir.converters.mxnet.mx.execution import Executor
from graphir.converters.mxnet.mx.ndarray import NDArray


class Monitor:
    """Statistics of every `interval`-th batch: of the outputs of operators (with `monitor_all` of what they read too),
    and of the arguments and auxiliary states, whose names match a pattern from their beginning.

    `stat_func` makes an array, or a list of them, of one; by default its norm by the root of its size. With `sort` the
    results come by name. There are no gradients: graphir does not train.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval, self.sort, self.monitor_all = interval, sort, monitor_all
        self.stat_func = _size if stat_func is None else stat_func
        self.re_prog = re.compile(pattern)
        self.activated = False
        self.step = 0
        self.queue: list[tuple[int, str, Any]] = []
        self.exes: list[Executor] = []

    def install(self, exe: Executor) -> None:
        """Take the values of an executor, beside those of others."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Note a value; what executors call."""
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self) -> None:
        """Begin a batch: call it before `forward`."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: its number, name and statistics as text for each value; nothing if it is not one to look at.

        Raises AssertionError for a `stat_func` that gives no arrays.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        noted, self.queue = self.queue, []
        if self.sort:
            noted.sort(key=lambda row: row[1])
        return [(step, name, _text(statistics)) for step, name, statistics in noted]

    def toc_print(self) -> None:
        """End a batch and log its results."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _size(array: NDArray) -> Any:
    return ndarray.norm(array) / math.sqrt(array.size)


def _text(statistics: Any) -> str:
    listed = [statistics] if isinstance(statistics, NDArray) else statistics
    if not isinstance(listed, list) or not all(isinstance(array, NDArray) for array in listed):
        raise AssertionError(f"stat_func gives an NDArray or a list of them, got {type(statistics).__name__}")
    return "".join(f"{array.asscalar() if array.shape == (1,) else array.asnumpy()!s}\t" for array in listed)


__all__ = ["Monitor"]
