"""Arrays as MXNet's files hold them: dense tensors and the two sparse kinds, all lazy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphir.errors import FormatError
from graphir.safety.limits import check_expansion
from graphir.structure.record import record
from graphir.tensor import Tensor, why_unheld
from graphir.types import DType

ROW_SPARSE = "row_sparse"
CSR = "csr"
DENSE = "default"
NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")

_KINDS = ("arg", "aux")


@record
class SparseArray:
    """A sparse array as stored. `storage` is "row_sparse" (rows `indices` of axis 0 are `data`, the others 0) or "csr".

    In csr, row r has the values `data[indptr[r]:indptr[r + 1]]` in the columns `indices[...]` of the same range.
    """

    storage: str
    dtype: DType
    shape: tuple[int, ...]
    data: Tensor
    indices: Tensor
    indptr: Tensor | None = None

    def densify(self) -> Tensor:
        """Return the dense tensor, computed when it is read, which raises FormatError for indices out of range.

        Raises FormatError for a shape of far more elements than are stored.
        """
        reason = why_unheld(self.dtype, self.shape)
        if reason:
            raise FormatError(f"a {self.storage} array of shape {list(self.shape)} {reason}")
        check_expansion(math.prod(self.shape), self.data.size, f"a {self.storage} array of shape {list(self.shape)}")
        compute = self._dense_rows if self.storage == ROW_SPARSE else self._dense_csr
        return Tensor.computed(self.dtype, self.shape, compute)

    def _dense_rows(self) -> np.ndarray[Any, Any]:
        dense = np.zeros(self.shape, self.dtype.numpy())
        rows = self.indices.numpy()
        self._check("row", rows, self.shape[0])
        if rows.size:
            dense[rows] = self.data.numpy()
        return dense

    def _dense_csr(self) -> np.ndarray[Any, Any]:
        assert self.indptr is not None
        dense = np.zeros(self.shape, self.dtype.numpy())
        columns, starts = self.indices.numpy(), self.indptr.numpy()
        self._check("column", columns, self.shape[1])
        counts = np.diff(starts)
        if starts[:1].tolist() != [0] or (counts < 0).any() or int(counts.sum()) != columns.size:
            raise FormatError(f"csr array of shape {self.shape}: its row starts do not rise from 0 to {columns.size}")
        dense[np.repeat(np.arange(self.shape[0]), counts), columns] = self.data.numpy()
        return dense

    def _check(self, axis: str, indices: np.ndarray[Any, Any], limit: int) -> None:
        if indices.dtype.kind not in "iu":
            raise FormatError(f"{self.storage} array of shape {self.shape}: its {axis} indices are {indices.dtype}")
        if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < limit:
            raise FormatError(f"{self.storage} array of shape {self.shape}: a {axis} index is outside 0..{limit - 1}")


@record
class ParamsEntry:
    """One array of a file: its name there, and its elements; `sparse` is how they are stored if not densely."""

    name: str
    tensor: Tensor
    sparse: SparseArray | None = None

    @property
    def kind(self) -> str:
        """`arg` or `aux` by the name's prefix, "" without one."""
        kind = self.name[:3]
        return kind if kind in _KINDS and self.name[3:4] == ":" else ""

    @property
    def bare_name(self) -> str:
        """The name without its prefix."""
        return self.name[4:] if self.kind else self.name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The dense shape."""
        return self.tensor.shape

    @property
    def storage(self) -> str:
        """`default`, `row_sparse` or `csr`."""
        return DENSE if self.sparse is None else self.sparse.storage
