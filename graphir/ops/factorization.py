"""Factors of matrices, and what is computed by them. ONNX has no such operators: its export writes their loops.

Matrices stand in the last two axes, which a batch of any number of axes precedes.
"""

from __future__ import annotations

from graphir.errors import ShapeError
from graphir.types import UNKNOWN, Dim, DType, Shape, TensorType, format_shape, product, unify_dim, unify_shape

from .base import Operand, Operator, like_result, operator, refine, same_dtype
from .traits import Rounding
from .work import Counted, Each, Open, Operands, Results

WIDE_FLOATS = frozenset({DType.FLOAT32, DType.FLOAT64})
SWEEPS = "how often it goes over the matrix depends on the elements"


def _matrices(operand: TensorType, name: str) -> tuple[Shape, Dim, Dim] | None:
    """Return the batch, rows and columns; None where the number of axes is not known. Raises ShapeError for less than
    two."""
    if operand.shape is None:
        return None
    if len(operand.shape) < 2:
        raise ShapeError(f"{name} has the shape {format_shape(operand.shape)}, expected matrices")
    return operand.shape[:-2], operand.shape[-2], operand.shape[-1]


def _squares(operand: TensorType) -> tuple[Shape, Dim] | None:
    """Return the batch and the size. Raises ShapeError for matrices that are not square."""
    dims = _matrices(operand, "A")
    if dims is None:
        return None
    try:
        return dims[0], unify_dim(dims[1], dims[2])
    except ShapeError:
        raise ShapeError(
            f"A has the shape {format_shape(operand.shape)}, expected square matrices"
        ) from None


def _volume(operand: Operand) -> tuple[Dim, Dim, Dim]:
    """Return the number of matrices, their rows and columns."""
    if operand is None or operand.shape is None or len(operand.shape) < 2:
        return UNKNOWN, UNKNOWN, UNKNOWN
    return product(operand.shape[:-2]), operand.shape[-2], operand.shape[-1]


def _of_diagonal(op: Operator, operands: Operands, results: Results) -> Dim:
    """Return a quotient for each element beside the diagonal, and what the diagonal takes."""
    count, rows, _ = _volume(operands[0])
    return count * (rows * (rows + 1) // 2)


class _OfSquares(Operator):
    """What takes square matrices A and gives matrices of the same size."""

    inputs = ("A",)
    takes = (WIDE_FLOATS,)
    rounding = Rounding.STATISTICS
    work = Counted(_of_diagonal)
    infer_inputs = like_result

    def infer(self, a: TensorType) -> TensorType:
        dims = _squares(a)
        return a if dims is None else TensorType(a.dtype, (*dims[0], dims[1], dims[1]))


@operator
class Cholesky(_OfSquares):
    """The lower triangular L with A = L L^T, or without `lower` the upper U with A = U^T U.

    Only that triangle of A is read. A is symmetric and positive definite; of others NaN comes. Not in ONNX; source:
    MXNet linalg_potrf.
    """

    lower: bool = True

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        count, rows, _ = _volume(operands[0])
        return count * ((rows - 1) * rows * (rows + 1) // 6)


@operator
class Inverse(_OfSquares):
    """The inverse of A; of a singular one infinities or NaN come. Not in ONNX; source: MXNet linalg_inverse."""

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        count, rows, _ = _volume(operands[0])
        return count * (rows * rows * rows)


class _Solver(Operator):
    """Square matrices A and right sides B of the same batch."""

    inputs = ("A", "B")
    outputs = ("X",)
    takes = (WIDE_FLOATS, WIDE_FLOATS)
    rounding = Rounding.STATISTICS
    work = Each()  # a quotient for each element of the result

    @property
    def is_right(self) -> bool:
        """Whether A stands behind the unknown."""
        return False

    def infer(self, a: TensorType, b: TensorType) -> TensorType:
        dtype = same_dtype(a, b)
        square, given = _squares(a), _matrices(b, "B")
        if square is None or given is None:
            return TensorType(dtype, b.shape)
        batch, rows, columns = given
        try:
            if self.is_right:
                columns = unify_dim(columns, square[1])
            else:
                rows = unify_dim(rows, square[1])
            shape = unify_shape(batch, square[0])
        except ShapeError:
            raise ShapeError(f"A {format_shape(a.shape)} and B {format_shape(b.shape)} do not fit") from None
        assert shape is not None
        return TensorType(dtype, (*shape, rows, columns))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        dtype = same_dtype(*operands, results[0])
        shape = results[0].shape
        if shape is None or len(shape) < 2:
            return tuple(refine(operand, None, dtype) for operand in operands)
        size = shape[-1] if self.is_right else shape[-2]
        return refine(operands[0], (*shape[:-2], size, size), dtype), refine(operands[1], shape, dtype)


@operator
class TriangularSolve(_Solver):
    """X of op(A) X = B, or with `rightside` of X op(A) = B, where op transposes on request.

    A is triangular; its other triangle is not read. Not in ONNX; source: MXNet linalg_trsm.
    """

    lower: bool = True
    transpose: bool = False
    rightside: bool = False

    @property
    def is_right(self) -> bool:
        """Whether A stands behind the unknown."""
        return self.rightside

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        _, rows, _ = _volume(operands[0])
        return results[0].elements() * (rows - 1) // 2


@operator
class Solve(_Solver):
    """X of A X = B; of a singular A infinities or NaN come. Not in ONNX; source: MXNet's numpy.linalg.solve."""

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        count, rows, _ = _volume(operands[0])
        return count * ((rows - 1) * rows * (2 * rows - 1) // 6) + results[0].elements() * (rows - 1)


@operator
class SignLogDet(Operator):
    """The sign of the determinant (-1, 0 or 1) and the logarithm of its magnitude: (*, M, M) to twice (*).

    Not in ONNX; source: MXNet linalg_slogdet.
    """

    inputs = ("A",)
    outputs = ("sign", "logabsdet")
    takes = (WIDE_FLOATS,)
    rounding = Rounding.STATISTICS
    work = Counted(_of_diagonal)

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        dims = _squares(a)
        return (TensorType(a.dtype, None if dims is None else dims[0]),) * 2

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        shape = unify_shape(results[0].shape, results[1].shape)
        wanted = None if shape is None else (*shape, UNKNOWN, UNKNOWN)
        return (refine(operands[0], wanted, same_dtype(*results)),)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        count, rows, _ = _volume(operands[0])
        return count * ((rows - 1) * rows * (2 * rows - 1) // 6)


@operator
class LQ(Operator):
    """A (*, M, N), M <= N, as L Q: Q (*, M, N) has orthonormal rows, L (*, M, M) is lower triangular.

    The signs are those of Householder's reflections as LAPACK takes them. Not in ONNX; source: MXNet linalg_gelqf.
    """

    inputs = ("A",)
    outputs = ("Q", "L")
    takes = (WIDE_FLOATS,)
    rounding = Rounding.STATISTICS
    work = Counted(_of_diagonal)

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        dims = _wide_matrices(a)
        return a, TensorType(a.dtype, None if dims is None else (*dims[0], dims[1], dims[1]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, same_dtype(*results)),)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        count, rows, columns = _volume(operands[0])
        return count * 2 * (rows * (rows + columns) * columns)


def _wide_matrices(a: TensorType) -> tuple[Shape, Dim, Dim] | None:
    """Return the batch, rows and columns of matrices that have not more rows than columns. Raises ShapeError for
    others."""
    dims = _matrices(a, "A")
    if dims is not None and isinstance(dims[1], int) and isinstance(dims[2], int) and dims[1] > dims[2]:
        raise ShapeError(f"A has the shape {format_shape(a.shape)}, expected not more rows than columns")
    return dims


@operator
class SymmetricEigen(Operator):
    """The eigenvectors U, as rows, and the eigenvalues L (*, M), ascending, of symmetric A = U^T diag(L) U.

    Of A the lower triangle is read. The largest component of each vector, the first of equals, is positive. Not in
    ONNX; source: MXNet linalg_syevd.
    """

    inputs = ("A",)
    outputs = ("U", "L")
    takes = (WIDE_FLOATS,)
    rounding = Rounding.STATISTICS
    work = Open(SWEEPS)

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        dims = _squares(a)
        if dims is None:
            return a, TensorType(a.dtype, None)
        return TensorType(a.dtype, (*dims[0], dims[1], dims[1])), TensorType(a.dtype, (*dims[0], dims[1]))

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[0].shape, same_dtype(*results)),)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        return UNKNOWN


@operator
class SVD(Operator):
    """U (*, M, M), S (*, M) and V (*, M, N) of A (*, M, N) = U diag(S) V, M <= N, the singular values descending.

    The largest component of each row of V, the first of equals, is positive. Not in ONNX; source: MXNet's
    numpy.linalg.svd.
    """

    inputs = ("A",)
    outputs = ("U", "S", "V")
    takes = (WIDE_FLOATS,)
    rounding = Rounding.STATISTICS
    work = Open(SWEEPS)

    def infer(self, a: TensorType) -> tuple[TensorType, ...]:
        dims = _wide_matrices(a)
        if dims is None:
            return TensorType(a.dtype, None), TensorType(a.dtype, None), a
        batch, rows, _ = dims
        return TensorType(a.dtype, (*batch, rows, rows)), TensorType(a.dtype, (*batch, rows)), a

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return (refine(operands[0], results[2].shape, same_dtype(*results)),)

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        return UNKNOWN


OPERATORS = (Cholesky, Inverse, TriangularSolve, Solve, SignLogDet, LQ, SymmetricEigen, SVD)
