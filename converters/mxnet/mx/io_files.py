"""`mx.io`'s iterators over files, and those that put one iterator around another."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.base import MXNetError
from graphir.converters.mxnet.mx.io import DataBatch, DataDesc, DataIter
from graphir.converters.mxnet.mx.ndarray import NDArray

FileName = str | os.PathLike[str]


class MXDataIter(DataIter):
    """Batches of rows that are known by their numbers; subclasses define `rows_of`.

    A last batch that is not full is filled from the beginning, and the next epoch begins behind what filled it. Without
    `round_batch` it keeps rows of the batch before. `pad` counts the rows that stand in.
    """

    def __init__(
        self, count: int, batch_size: int, described: Sequence[tuple[str, Sequence[int], object]], round_batch: bool
    ) -> None:
        super().__init__(batch_size)
        self._count, self._round_batch = count, round_batch
        self._next = self._filled = self._pad = 0
        self._rows = np.zeros(batch_size, np.int64)
        data, label = (DataDesc(name, (batch_size, *shape), dtype) for name, shape, dtype in described)
        self.provide_data, self.provide_label = [data], [label]

    def rows_of(self, rows: NumpyArray[np.int64]) -> tuple[Any, Any]:
        """Return data and labels of these rows."""
        raise NotImplementedError(f"{type(self).__name__} does not define rows_of")

    def reset(self) -> None:
        """Begin anew, behind the rows that filled the last batch."""
        self._next, self._filled = self._filled, 0

    def iter_next(self) -> bool:
        """Go to the next batch, if there is one. Raises MXNetError for fewer rows than are missing."""
        if self._next >= self._count:
            return False
        rows = np.arange(self._next, self._next + self.batch_size)
        self._next += self.batch_size
        self._pad = missing = max(0, self._next - self._count)
        if missing > self._count and self._round_batch:
            raise MXNetError("number of input must be bigger than batch size")
        if self._round_batch:
            self._filled = missing
            rows %= self._count
        elif missing:
            rows[-missing:] = self._rows[-missing:]
        self._rows = rows
        self._data, self._label = (NDArray(array) for array in self.rows_of(rows))
        return True

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self._data], [self._label], self._pad, self.getindex())

    def getdata(self) -> NDArray:
        return self._data

    def getlabel(self) -> NDArray:
        return self._label

    def getindex(self) -> Any:
        """Return the numbers of the batch's rows."""
        return self._rows.astype(np.uint64)

    def getpad(self) -> int:
        """Return how many rows at the end of the batch stand in for missing ones."""
        return self._pad


class CSVIter(MXDataIter):
    """Batches of the rows of a file of numbers with commas between them."""

    def __init__(
        self, data_csv: FileName, data_shape: Sequence[int], label_csv: FileName | None = None,
        label_shape: Sequence[int] = (1,), batch_size: int = 1, round_batch: bool = True, dtype: Any = None,
        data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any,
    ) -> None:  # fmt: skip
        wanted = np.dtype(dtype or "float32")
        shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        self._elements = read_rows(data_csv, wanted, tuple(data_shape))
        labels = None if label_csv is None else read_rows(label_csv, wanted, shape)
        self._labels = np.zeros((len(self._elements), *shape), wanted) if labels is None else labels
        if len(self._labels) != len(self._elements):
            raise MXNetError(f"{data_csv} has {len(self._elements)} rows, {label_csv} {len(self._labels)}")
        described = (data_name, data_shape, wanted.type), (label_name, shape, wanted.type)
        super().__init__(len(self._elements), batch_size, described, round_batch)

    def rows_of(self, rows: NumpyArray[np.int64]) -> tuple[Any, Any]:
        return self._elements[rows], self._labels[rows]


class MNISTIter(CSVIter):
    """Batches of MNIST's images, as numbers from 0 to 255/256, whose rows are shuffled with the seed.

    A last batch that is not full is left out.
    """

    def __init__(
        self, image: FileName = "./train-images-idx3-ubyte", label: FileName = "./train-labels-idx1-ubyte",
        batch_size: int = 128, shuffle: bool = True, flat: bool = False, seed: int = 0, silent: bool = False,
        data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any,
    ) -> None:  # fmt: skip
        images, labels = read_idx(image, 3), read_idx(label, 1)
        order = np.random.RandomState(seed).permutation(len(images)) if shuffle else np.arange(len(images))
        order = order[: len(order) // batch_size * batch_size]
        shape = (images[0].size,) if flat else (1, *images.shape[1:])
        self._elements = images[order].reshape(-1, *shape).astype(np.float32) / np.float32(256)
        self._labels = labels[order].astype(np.float32)
        described = (data_name, shape, np.float32), (label_name, (), np.float32)
        MXDataIter.__init__(self, len(order), batch_size, described, True)


class LibSVMIter(MXDataIter):
    """Batches of rows `label column:value ...`, whose data are CSRNDArrays; labels may stand in a file of their own."""

    def __init__(
        self, data_libsvm: FileName, data_shape: Sequence[int], label_libsvm: FileName | None = None,
        label_shape: Sequence[int] = (1,), batch_size: int = 1, round_batch: bool = True,
        data_name: str = "data", label_name: str = "softmax_label", **kwargs: Any,
    ) -> None:  # fmt: skip
        self._elements, labels = read_libsvm(data_libsvm, data_shape[0])
        shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        if label_libsvm is not None:
            labels = read_libsvm(label_libsvm, label_shape[0])[0].reshape(-1, *shape)
        self._labels = labels
        described = (data_name, data_shape, np.float32), (label_name, shape, np.float32)
        super().__init__(len(self._elements), batch_size, described, round_batch)

    def rows_of(self, rows: NumpyArray[np.int64]) -> tuple[Any, Any]:
        return self._elements[rows], self._labels[rows]

    def iter_next(self) -> bool:
        """Go to the next batch, if there is one."""
        is_there = super().iter_next()
        self._data = self._data.tostype("csr") if is_there else self._data
        return is_there


def read_libsvm(path: FileName, width: int) -> tuple[Any, Any]:
    """Return the rows of a file, and their labels. Raises MXNetError for what it cannot be."""
    try:
        lines = [line.split() for line in Path(path).read_text().splitlines() if line.strip()]
        elements = np.zeros((len(lines), width), np.float32)
        for row, (_, *entries) in enumerate(lines):
            for column, value in (entry.split(":") for entry in entries):
                elements[row, int(column)] = float(value)
        return elements, np.array([float(line[0]) for line in lines], np.float32)
    except (OSError, ValueError, IndexError) as error:
        raise MXNetError(f"{os.fspath(path)}: expected rows `label column:value` of width {width}: {error}") from error


def read_rows(path: FileName, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Return the rows of a file of numbers, each of this shape. Raises MXNetError for what it cannot be."""
    try:
        return np.loadtxt(path, np.float64, delimiter=",", ndmin=2).astype(dtype).reshape(-1, *shape)
    except (OSError, ValueError) as error:
        raise MXNetError(f"{os.fspath(path)}: expected rows of the shape {shape}: {error}") from error


def read_idx(path: FileName, rank: int) -> Any:
    """Return the bytes of a file of MNIST's format, packed by gzip or not. Raises MXNetError for any other file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise MXNetError(f"cannot open {os.fspath(path)}: {error}") from error
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    head = 4 + 4 * rank
    if len(content) < head or content[:4] != struct.pack(">I", 0x800 + rank):
        raise MXNetError(f"{os.fspath(path)} is no file of MNIST's format with {rank} axes")
    sizes = struct.unpack(f">{rank}I", content[4:head])
    elements = np.frombuffer(content, np.uint8, offset=head)
    if elements.size != np.prod(sizes, dtype=np.int64):
        raise MXNetError(f"{os.fspath(path)} states the sizes {sizes} and has {elements.size} elements")
    return elements.reshape(sizes)


class ResizeIter(DataIter):
    """Another iterator's batches, `size` of them an epoch, from its beginning again where it ends before."""

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal, self.cur = data_iter, size, reset_internal, 0
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Begin anew, and let the other iterator do so under `reset_internal`."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def next(self) -> DataBatch:
        if self.cur == self.size:
            raise StopIteration
        self.cur += 1
        try:
            batch: DataBatch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            batch = self.data_iter.next()
        return batch


class PrefetchingIter(DataIter):
    """The batches of several iterators joined, under other names if given. Nothing is read ahead."""

    def __init__(
        self, iters: Any, rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:  # fmt: skip
        self.iters = iters if isinstance(iters, list) else [iters]
        self.rename_data, self.rename_label = rename_data, rename_label
        super().__init__(self.provide_data[0].shape[0])

    @property
    def provide_data(self) -> list[DataDesc]:
        """What a batch's data is."""
        return _renamed([each.provide_data for each in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """What a batch's labels are."""
        return _renamed([each.provide_label for each in self.iters], self.rename_label)

    def reset(self) -> None:
        for each in self.iters:
            each.reset()

    def next(self) -> DataBatch:
        """Return the next batch. Raises StopIteration at the end, AssertionError for ends at other places."""
        batches = [next(each, None) for each in self.iters]
        if batches[0] is None:
            raise StopIteration
        if any(batch is None or batch.pad != batches[0].pad for batch in batches):
            raise AssertionError("Number of entry mismatches between iterators")
        data, label = (
            [array for batch in batches for array in getattr(batch, what) or ()] for what in ("data", "label")
        )
        return DataBatch(data, label, batches[0].pad, batches[0].index, None, self.provide_data, self.provide_label)


def _renamed(described: Sequence[Sequence[Any]], names: Sequence[Mapping[str, str]] | None) -> list[DataDesc]:
    each_names = names or [{}] * len(described)
    return [
        DataDesc(renames[row.name], row.shape, row.dtype) if renames and isinstance(row, DataDesc)
        else row if isinstance(row, DataDesc) else DataDesc(*row)
        for renames, rows in zip(each_names, described, strict=True) for row in rows
    ]  # fmt: skip


__all__ = ["CSVIter", "LibSVMIter", "MNISTIter", "MXDataIter", "PrefetchingIter", "ResizeIter", "read_rows"]
