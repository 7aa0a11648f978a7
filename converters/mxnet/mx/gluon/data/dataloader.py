"""Batches of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphir.converters.mxnet.mx.gluon.data.sampler import KEEP, BatchSampler, RandomSampler, SequentialSampler
from graphir.converters.mxnet.mx.ndarray import NDArray, array


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Return samples as one array, or of tuples a list of one for each part."""
    if isinstance(data[0], NDArray):
        return NDArray(np.stack([np.asarray(sample) for sample in data]), data[0].context)
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data, strict=True)]
    stacked = np.asarray(data)
    return array(stacked, dtype=stacked.dtype)


default_mp_batchify_fn = default_batchify_fn


class DataLoader:
    """Batches of a dataset's samples, made in this process whatever `num_workers` states.

    The order is given by `batch_size` with `shuffle` or a `sampler`, or by a `batch_sampler`. `batchify_fn` makes a
    batch of a list of samples. Raises ValueError for arguments that contradict each other.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Any = None,
        last_batch: str | None = None,
        batch_sampler: Any = None,
        batchify_fn: Callable[[Sequence[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: int = 120,
        try_nopython: bool | None = None,
    ) -> None:
        self._dataset = dataset
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("batch_size must be specified unless batch_sampler is specified")
            if sampler is not None and shuffle:
                raise ValueError("shuffle must not be specified if sampler is specified")
            if sampler is None:
                sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or KEEP)
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is specified."
            )
        self._batch_sampler = batch_sampler
        self._batchify_fn = default_batchify_fn if batchify_fn is None else batchify_fn

    def __iter__(self) -> Iterator[Any]:
        for numbers in self._batch_sampler:
            yield self._batchify_fn([self._dataset[number] for number in numbers])

    def __len__(self) -> int:
        return len(self._batch_sampler)


_MultiWorkerIter = DataLoader  # the base of scripts that start processes of their own

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]
