"""The order of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

KEEP, DISCARD, ROLLOVER = "keep", "discard", "rollover"


class Sampler:
    """The numbers of samples in some order; subclasses define `__iter__` and `__len__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")


class SequentialSampler(Sampler):
    """Numbers in order."""

    def __init__(self, length: int, start: int = 0) -> None:
        self._length, self._start = length, start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(SequentialSampler):
    """Numbers in an order that NumPy draws, which `np.random.seed` repeats, as in MXNet."""

    def __iter__(self) -> Iterator[int]:
        numbers = np.arange(self._length)
        np.random.shuffle(numbers)
        return iter(numbers)


class FilterSampler(Sampler):
    """The numbers of the samples for which a function is true."""

    def __init__(self, fn: Callable[[Any], bool], dataset: Any) -> None:
        self._numbers = [number for number in range(len(dataset)) if fn(dataset[number])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class BatchSampler(Sampler):
    """Lists of so many numbers. A shorter last one is kept, discarded, or begins the next epoch (`rollover`)."""

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = KEEP) -> None:
        if last_batch not in (KEEP, DISCARD, ROLLOVER):
            raise ValueError(f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {last_batch}")
        self._sampler, self._batch_size, self._last_batch = sampler, batch_size, last_batch
        self._kept: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._kept = self._kept, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == KEEP:
            yield batch
        elif self._last_batch == ROLLOVER:
            self._kept = batch

    def __len__(self) -> int:
        count = len(self._sampler) + (len(self._kept) if self._last_batch == ROLLOVER else 0)
        return -(-count // self._batch_size) if self._last_batch == KEEP else count // self._batch_size


__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]
