"""Whether work grows with its size, judged by ratios within one run and not by seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

SLACK = 4  # caches, collections and other processes make a few times of nothing


def is_near_linear(work: Callable[[int], object], small: int, large: int) -> bool:
    """Whether the CPU time of `work(large)` is to that of `work(small)` about as the sizes are.

    The small one is done twice, after a first one that pays for what is imported; the large one again if it took long.
    """

    def seconds(size: int) -> float:
        started = time.process_time()
        work(size)
        return time.process_time() - started

    work(small)
    allowed = large / small * min(seconds(small), seconds(small)) * SLACK
    return seconds(large) < allowed or seconds(large) < allowed


__all__ = ["is_near_linear"]
