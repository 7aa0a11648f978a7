"""`mx.io`: batches for networks that are run, of arrays in memory; those of files stand in `io_files`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.ndarray import NDArray
from graphir.converters.mxnet.mx.ndarray import array as array_of
from graphir.converters.mxnet.mx.refusals import refuse_training

ROLL_OVER, PAD, DISCARD = "roll_over", "pad", "discard"


class _Named(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_Named):
    """An input of a network: a pair of its name and shape, with a `dtype` and a `layout`."""

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: object = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        described = super().__new__(cls, name, tuple(shape))
        described.dtype = dtype
        described.layout = layout
        return described

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the axis of the batch in a layout, 0 without one."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Sequence[Any], types: Sequence[tuple[str, object]] | None) -> list[DataDesc]:
        """Descriptions from pairs of name and shape, and pairs of name and dtype."""
        dtypes = dict(types or ())
        return [DataDesc(name, shape, dtypes[name]) if types else DataDesc(name, shape) for name, shape in shapes]


class DataBatch:
    """Arrays for one run: `data` and `label` in the order of their names; the last `pad` rows count for nothing."""

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: object = None,
        bucket_key: object = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for what, arrays in (("Data", data), ("Label", label)):
            if arrays is not None and not isinstance(arrays, list | tuple):
                raise AssertionError(f"{what} must be list of NDArrays")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [array.shape for array in self.data or ()]
        label = None if self.label is None else [array.shape for array in self.label]
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """What gives batches: the base of iterators, which define `next`, or `iter_next` and the getters."""

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Begin anew."""

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Go to the next batch, if there is one."""
        raise NotImplementedError(f"{type(self).__name__} does not define iter_next")

    def getdata(self) -> Any:
        """Return the data of the batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define getdata")

    def getlabel(self) -> Any:
        """Return the labels of the batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define getlabel")

    def getindex(self) -> Any:
        """Return the numbers of the batch's rows, None if they are not known."""
        return None

    def getpad(self) -> int | None:
        """Return how many rows at the end of the batch count for nothing."""
        raise NotImplementedError(f"{type(self).__name__} does not define getpad")


class NDArrayIter(DataIter):
    """Batches of arrays, cut along their first axis.

    `data` and `label` are an array, a list of arrays (named `_0_data`, `_1_data`) or a dict, whose names are sorted;
    arrays of numpy become float32. A last batch that is not full is filled from the beginning (`pad`), left out
    (`discard`), or kept for the beginning of the next epoch (`roll_over`). `shuffle` draws with numpy's own generator:
    `np.random.seed` makes it repeatable, and gives MXNet's order.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = PAD,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        super().__init__(batch_size)
        self.data = _named(data, data_name)
        if not self.data:
            raise AssertionError("there is no data to iterate over")
        self.label = [] if label is None else _named(label, label_name)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.num_data = self.data[0][1].shape[0]
        self.idx = np.arange(self.num_data)
        self._drawn = self.idx.copy()
        self.cursor = -batch_size
        self._kept: NumpyArray[np.int64] | None = None
        self.reset()

    @property
    def provide_data(self) -> list[DataDesc]:
        """What a batch's data is."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """What a batch's labels are."""
        return self._described(self.label)

    def hard_reset(self) -> None:
        """Begin anew; rows that were kept for the next epoch are forgotten."""
        self._shuffle()
        self.cursor = -self.batch_size
        self._kept = None

    def reset(self) -> None:
        """Begin anew, with the rows that were kept."""
        left = self.num_data - self.cursor
        rolls = self.last_batch_handle == ROLL_OVER and 0 < left < self.batch_size
        self._kept = self.idx[self.cursor :].copy() if rolls else None
        self._shuffle()
        self.cursor = -left - self.batch_size if rolls else -self.batch_size

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end, and for a last batch that is not full and not
        filled."""
        if not self.iter_next() or len(self._rows()) != self.batch_size:
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), None)

    def getdata(self) -> list[NDArray]:
        return self._taken(self.data)

    def getlabel(self) -> list[NDArray]:
        return self._taken(self.label)

    def getpad(self) -> int:
        """Return how many rows of the batch stand in for missing ones; those of the last epoch too, under
        `roll_over`."""
        if self.last_batch_handle == PAD:
            return max(0, self.cursor + self.batch_size - self.num_data)
        return -self.cursor if self.last_batch_handle == ROLL_OVER and -self.batch_size < self.cursor < 0 else 0

    def _shuffle(self) -> None:
        if self.shuffle:
            np.random.shuffle(self._drawn)
            self.idx = self.idx[self._drawn]

    def _rows(self) -> NumpyArray[np.int64]:
        """Return the numbers of the batch's rows."""
        begin, end = self.cursor, self.cursor + self.batch_size
        if begin < 0:
            kept = self._kept if self._kept is not None else self.idx[begin:]
            return np.concatenate([kept, self.idx[:end]])
        if end > self.num_data and self.last_batch_handle == PAD:
            return np.concatenate([self.idx[begin:], self.idx[: end - self.num_data]])
        return self.idx[begin:end]

    def _taken(self, source: Sequence[tuple[str, NDArray]]) -> list[NDArray]:
        rows = self._rows()
        return [NDArray(np.asarray(array)[rows], array.context) for _, array in source]

    def _described(self, source: Sequence[tuple[str, NDArray]]) -> list[DataDesc]:
        return [DataDesc(name, (self.batch_size, *array.shape[1:]), array.dtype) for name, array in source]


def _named(given: Any, name: str) -> list[tuple[str, NDArray]]:
    if isinstance(given, NDArray | np.ndarray):
        given = [given]
    if isinstance(given, list | tuple):
        names = [name] if len(given) == 1 else [f"_{place}_{name}" for place in range(len(given))]
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, Mapping):
        kind = "nothing" if given is None else type(given).__name__
        if given is None:
            return []
        raise TypeError(f"data is an NDArray, a numpy array, a list of them or a dict by name, found {kind}")
    return [
        (key, array if isinstance(array, NDArray) else array_of(array))
        for key, array in sorted(given.items())
    ]  # fmt: skip


_OF_FILES = {
    **dict.fromkeys(("CSVIter", "LibSVMIter", "MNISTIter", "MXDataIter", "PrefetchingIter", "ResizeIter"), "io_files"),
    **dict.fromkeys(("ImageRecordIter", "ImageRecordUInt8Iter"), "image.iterator"),
}
"""The iterators over files, and those that put one around another, by the modules that hold them."""

_REFUSED = frozenset(("ImageDetRecordIter", "ImageRecordInt8Iter", "ImageRecordIter_v1", "ImageRecordUInt8Iter_v1"))


def __getattr__(name: str) -> Any:
    if name in _OF_FILES:
        return getattr(importlib.import_module(f"graphir.converters.mxnet.mx.{_OF_FILES[name]}"), name)
    if name in _REFUSED:
        refuse_training(f"mx.io.{name}", "mx.io.ImageRecordIter reads files of records")
    raise AttributeError(f"mx.io.{name} is not here; there are {', '.join((*__all__, *_OF_FILES))}")


__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter"]
