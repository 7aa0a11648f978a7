"""Sets of samples by number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphir.converters.mxnet.mx import recordio


class Dataset:
    """Samples by number; subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """Return the samples for which a function is true."""
        return self.sample([number for number in range(len(self)) if fn(self[number])])

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Return one of `num_shards` parts, whose sizes differ by at most one."""
        if not 0 <= index < num_shards:
            raise AssertionError(f"the shard {index} of {num_shards} does not exist")
        size, rest = divmod(len(self), num_shards)
        start = size * index + min(index, rest)
        return self.sample(range(start, start + size + (index < rest)))

    def take(self, count: int | None) -> Dataset:
        """Return the first samples."""
        return self.sample(range(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler: Iterable[int]) -> Dataset:
        """Return the samples of these numbers."""
        return _Sampled(self, list(sampler))

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Return the samples as a function gives them, of each when it is taken, or of all now."""
        lazily = _Transformed(self, fn)
        return lazily if lazy else SimpleDataset([lazily[number] for number in range(len(lazily))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Return the samples with their first part as a function gives it."""
        return self.transform(_First(fn), lazy)


class _First:
    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self.fn(first), *rest) if rest else self.fn(first)


class _Sampled(Dataset):
    def __init__(self, data: Dataset, numbers: Sequence[int]) -> None:
        self._data, self._numbers = data, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, idx: int) -> Any:
        return self._data[self._numbers[idx]]


class _Transformed(Dataset):
    def __init__(self, data: Dataset, fn: Callable[..., Any]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class SimpleDataset(Dataset):
    """The samples of a list or an array."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class ArrayDataset(Dataset):
    """Samples of several lists or arrays of the same length: tuples of their rows."""

    def __init__(self, *args: Any) -> None:
        if not args:
            raise AssertionError("Needs at least 1 arrays")
        self._length = len(args[0])
        for number, data in enumerate(args):
            if len(data) != self._length:
                raise AssertionError(
                    f"All arrays must have the same length; array[0] has length {self._length} while array[{number}] "
                    f"has {len(data)}."
                )
        # rows of an array of one axis are taken from its elements, so that labels are numbers
        flat = [hasattr(data, "asnumpy") and len(data.shape) == 1 for data in args]
        self._data = [data.asnumpy() if is_flat else data for data, is_flat in zip(args, flat, strict=True)]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)


class RecordFileDataset(Dataset):
    """The records of a file, whose index lies beside it as `.idx`."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self._record = recordio.MXIndexedRecordIO(self.idx_file, filename, "r")

    def __len__(self) -> int:
        return len(self._record.keys)

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])


class _DownloadedDataset(Dataset):
    """Samples and labels that `_get_data` of a subclass reads from files below `root`."""

    _data: Any
    _label: Any

    def __init__(self, root: str, transform: Callable[..., Any] | None) -> None:
        self._root, self._transform = os.path.expanduser(root), transform
        self._get_data()

    def _get_data(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not define _get_data")

    def __len__(self) -> int:
        return len(self._label)

    def __getitem__(self, idx: Any) -> Any:
        data, label = self._data[idx], self._label[idx]
        return (data, label) if self._transform is None else self._transform(data, label)


__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]
