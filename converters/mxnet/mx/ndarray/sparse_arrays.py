"""`mx.nd.sparse`: arrays that show their elements by rows; all of their elements lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from graphir.converters.mxnet.mx.base import WrongValue
from graphir.converters.mxnet.mx.context import Context
from graphir.converters.mxnet.mx.ndarray.array import NDArray, numpy_dtype
from graphir.errors import ArgumentError

Parts = tuple[NumpyArray[Any], ...]


class BaseSparseNDArray(NDArray):
    """An array with a storage type, of which operators give dense results. What is stated holds until it is written."""

    __slots__ = ("_stated",)

    def __init__(self, elements: object, context: Context | None = None, *, stated: Parts | None = None) -> None:
        super().__init__(elements, context)
        self._stated = None if stated is None else (self.version, stated)

    def _parts(self) -> Parts:
        """Return the arrays of the storage: as stated, or of what is not zero."""
        if self._stated is not None and self._stated[0] == self.version:
            return self._stated[1]
        return self._counted(self._elements())

    def _counted(self, elements: NumpyArray[Any]) -> Parts:
        raise NotImplementedError

    @property
    def data(self) -> NDArray:
        """The elements that are stored."""
        return NDArray(self._parts()[0], self.context)

    @property
    def indices(self) -> NDArray:
        """The columns of the stored elements, or the numbers of the stored rows."""
        return NDArray(self._parts()[1].astype(np.int64), self.context)

    def copy(self) -> NDArray:
        """Return an array of its own with the same elements and storage."""
        return type(self)(self.asnumpy(), self.context, stated=self._parts())

    def astype(self, dtype: object, copy: bool = True) -> NDArray:
        wanted = numpy_dtype(dtype)
        if wanted == self.dtype and not copy:
            return self
        data, *places = self._parts()
        return type(self)(self._elements().astype(wanted), self.context, stated=(data.astype(wanted), *places))

    def __repr__(self) -> str:
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"


class CSRNDArray(BaseSparseNDArray):
    """A matrix by rows: `data`, their columns in `indices`, and where each row begins in `indptr`."""

    __slots__ = ()
    stype = "csr"

    def _counted(self, elements: NumpyArray[Any]) -> Parts:
        rows, columns = np.nonzero(elements)
        begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(elements)))])
        return elements[rows, columns], columns, begins

    @property
    def indptr(self) -> NDArray:
        """Where each row begins in `data`, and where the last one ends."""
        return NDArray(self._parts()[2].astype(np.int64), self.context)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            key = slice(key, key + 1 or None)
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise ValueError(f"a CSRNDArray is cut into rows by a number or a slice of step 1, found {key!r}")
        return CSRNDArray(self._elements()[key], self.context)

    def asscipy(self) -> Any:
        """Return a matrix of SciPy."""
        import scipy.sparse

        return scipy.sparse.csr_matrix(self._parts(), shape=self.shape, dtype=self.dtype)


class RowSparseNDArray(BaseSparseNDArray):
    """An array by its first axis: the rows that are stored in `data`, their numbers in `indices`."""

    __slots__ = ()
    stype = "row_sparse"

    def _counted(self, elements: NumpyArray[Any]) -> Parts:
        rows = np.flatnonzero(elements.reshape(len(elements), -1).any(1))
        return elements[rows], rows


KINDS: dict[str, type[BaseSparseNDArray]] = {"csr": CSRNDArray, "row_sparse": RowSparseNDArray}


def _plain(given: Any, dtype: Any = None) -> NumpyArray[Any]:
    elements = given.asnumpy() if isinstance(given, NDArray) else np.asarray(given)
    has_dtype = isinstance(given, NDArray | np.ndarray | np.generic)
    return elements.astype(numpy_dtype(dtype) if dtype else elements.dtype if has_dtype else np.float32)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> CSRNDArray:
    """Return a CSRNDArray of (data, indices, indptr) or (data, (row, column)), of a shape, or of a matrix.

    The matrix is dense or SciPy's. Raises ArgumentError for another number of arrays.
    """
    if hasattr(arg1, "tocsr"):
        matrix = arg1.tocsr()
        arg1, shape = (matrix.data.astype(dtype or matrix.dtype), matrix.indices, matrix.indptr), matrix.shape
    if isinstance(arg1, CSRNDArray):
        return arg1.astype(dtype or arg1.dtype)  # type: ignore[return-value]
    if not isinstance(arg1, tuple):
        return CSRNDArray(_plain(arg1, dtype), ctx)
    if len(arg1) == 2 and not isinstance(arg1[1], tuple | list):
        return CSRNDArray(np.zeros(arg1, numpy_dtype(dtype or np.float32)), ctx)
    data = _plain(arg1[0], dtype)
    if len(arg1) == 2:
        rows, columns = (_plain(places, np.int64) for places in arg1[1])
        elements = np.zeros(shape or (rows.max() + 1, columns.max() + 1), data.dtype)
        np.add.at(elements, (rows, columns), data)
        return CSRNDArray(elements, ctx)
    if len(arg1) != 3:
        raise ArgumentError(f"a CSRNDArray is made of (data, indices, indptr), found {len(arg1)} arrays")
    columns, begins = (_plain(places, np.int64) for places in arg1[1:])
    rows = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    elements = np.zeros(shape or (len(begins) - 1, columns.max() + 1), data.dtype)
    np.add.at(elements, (rows, columns), data)
    return CSRNDArray(elements, ctx, stated=(data, columns, begins))


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Context | None = None, dtype: Any = None) -> RowSparseNDArray:
    """Return a RowSparseNDArray of (data, indices), of a shape, or of a dense array."""
    if not isinstance(arg1, tuple):
        return RowSparseNDArray(_plain(arg1, dtype), ctx)
    if not all(isinstance(part, int) for part in arg1):
        data, rows = _plain(arg1[0], dtype), _plain(arg1[1], np.int64)
        elements = np.zeros(shape or (rows.max() + 1, *data.shape[1:]), data.dtype)
        elements[rows] = data
        return RowSparseNDArray(elements, ctx, stated=(data, rows))
    return RowSparseNDArray(np.zeros(arg1, numpy_dtype(dtype or np.float32)), ctx)


def zeros(stype: str, shape: Sequence[int], ctx: Context | None = None, dtype: Any = None, **kwargs: Any) -> NDArray:
    """Return an array of zeros with a storage type."""
    return cast_storage(NDArray(np.zeros(shape, numpy_dtype(dtype or np.float32)), ctx), stype)


empty = zeros


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """Return a copy of a sparse array or of SciPy's matrix. Raises ValueError for a dense one."""
    if isinstance(source_array, BaseSparseNDArray):
        return source_array.astype(dtype or source_array.dtype)
    if hasattr(source_array, "tocsr"):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    raise ValueError(f"Unexpected source_array type: {type(source_array)}; mx.nd.array takes dense arrays")


def cast_storage(arr: NDArray, stype: str) -> NDArray:
    """Return the elements with a storage type: `default`, `csr` or `row_sparse`. Raises WrongValue for another one."""
    if stype == arr.stype:
        return arr
    if stype != "default" and stype not in KINDS:
        raise WrongValue(f"the storage type is {stype!r}, expected default, {', '.join(KINDS)}")
    return KINDS.get(stype, NDArray)(arr.asnumpy(), arr.context)


def retain(data: RowSparseNDArray, indices: NDArray) -> RowSparseNDArray:
    """Return the stored rows of these numbers alone."""
    rows = np.intersect1d(data.indices.asnumpy(), indices.asnumpy().astype(np.int64))
    return row_sparse_array((data._elements()[rows], rows), data.shape, data.context)


__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray", "array", "cast_storage", "csr_matrix", "empty", "retain",
    "row_sparse_array", "zeros",
]  # fmt: skip
