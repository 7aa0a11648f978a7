"""Factors of matrices, and what is computed by them: of float32 and float64, as MXNet has it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphir.converters.mxnet.importing.context import ImportFunction, ImportNode
from graphir.converters.mxnet.importing.ops.linear import by_factor
from graphir.converters.mxnet.importing.rare.algebra import require_wide, turned
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.creation import Range
from graphir.ops.elementwise import Div, Equal, Greater, Mul, Where
from graphir.ops.factorization import LQ, SVD, Cholesky, Inverse, SignLogDet, Solve, SymmetricEigen, TriangularSolve
from graphir.ops.indexing import Gather
from graphir.ops.linear import MatMul
from graphir.ops.reduction import ReduceMax
from graphir.ops.shape import Expand, Reshape, Shape, Squeeze, Transpose, Unsqueeze
from graphir.types import DType

SINGULAR = "of a matrix that is singular infinities or NaN come, where MXNet stops"


def _squares(node: ImportNode) -> Value:
    """Return the operand, matrices of floats that MXNet takes; the operators' rules see to it that they are square."""
    data = node.input(0)
    require_wide(node, data)
    return data


def import_cholesky(node: ImportNode) -> Value:
    """Return the Cholesky factor."""
    data = _squares(node)
    node.decide(DecisionKind.CHECK, "of a matrix that is not positive definite NaN comes, where MXNet stops")
    return node.emit(Cholesky(node.attrs["lower"]), data)


def import_potri(node: ImportNode) -> Value:
    """Return the inverse of the matrix of which the operand is a Cholesky factor: that of the factor twice."""
    data, lower = _squares(node), node.attrs["lower"]
    shape = node.step(Shape(), data)
    unit = node.step(Expand(), _unit(node, data, shape), shape, suffix="units")
    first = node.step(TriangularSolve(lower=lower, transpose=not lower), data, unit, suffix="first")
    return node.emit(TriangularSolve(lower=lower, transpose=lower), data, first)


def _unit(node: ImportNode, data: Value, shape: Value) -> Value:
    """Return a unit matrix of the operand's size, which may be open."""
    zero = node.constant(0, DType.INT64)
    size = node.step(Gather(), shape, node.constant(-1, DType.INT64), suffix="size")
    indices = node.step(Range(), zero, size, node.constant(1, DType.INT64), suffix="places")
    rows = node.step(Unsqueeze(), indices, node.vector([-1]), suffix="rows")
    is_diagonal = node.step(Equal(), rows, indices, suffix="diagonal")
    return node.cast(is_diagonal, data.dtype or DType.FLOAT32, suffix="unit")


def import_trsm(node: ImportNode) -> Value:
    """Return the solution of a triangular system, times alpha."""
    attrs = node.attrs
    matrix, data = node.input(0), node.input(1)
    require_wide(node, matrix, data)
    op = TriangularSolve(attrs["lower"], attrs["transpose"], attrs["rightside"])
    if attrs["alpha"] == 0.0:
        return node.emit(*by_factor(node, node.step(op, matrix, data), 0.0))
    if attrs["alpha"] != 1.0:
        data = node.step(*by_factor(node, data, attrs["alpha"]), suffix="alpha")
    return node.emit(op, matrix, data)


def import_inverse(node: ImportNode) -> Value:
    """Return the inverse."""
    data = _squares(node)
    node.decide(DecisionKind.CHECK, SINGULAR)
    return node.emit(Inverse(), data)


def import_slogdet(node: ImportNode) -> Sequence[Value]:
    """Sign and logarithm of the determinant; those of a single matrix have the shape (1,)."""
    data = _squares(node)
    if node.rank(data) > 2 or node.np_shape:
        return node.emit_all(SignLogDet(), data)
    result = node.steps(SignLogDet(), data)
    return [node.step(Reshape(), value, node.vector([1]), suffix="vector") for value in result]


def import_gelqf(node: ImportNode) -> Sequence[Value]:
    """Q and L."""
    data = node.input(0)
    require_wide(node, data)
    return node.emit_all(LQ(), data)


def _decide_vectors(node: ImportNode, of: str) -> None:
    """Say which vectors are one's own choice."""
    node.decide(
        DecisionKind.COMPOSITION,
        f"ONNX's model finds the vectors by Jacobi's rotations in float64: those of equal {of} may be another basis of "
        "the same space, and one whose largest components are equal but for rounding may have the other sign",
    )


def import_syevd(node: ImportNode) -> Sequence[Value]:
    """Eigenvectors as rows, and eigenvalues."""
    _decide_vectors(node, "eigenvalues")
    return node.emit_all(SymmetricEigen(), _squares(node))


def _widened(node: ImportNode, *values: Value) -> list[Value]:
    """Operands in the dtype of the result: float64 where they are integers or differ. Refuses halves and bool."""
    for value in values:
        if value.dtype in (DType.FLOAT16, DType.BOOL):
            node.refuse(f"{value.name} is {value.dtype}; MXNet computes this of other dtypes only")
    dtypes = {value.dtype for value in values}
    if len(dtypes) == 1 and dtypes <= {None, DType.FLOAT32, DType.FLOAT64}:
        return list(values)
    wide = DType.FLOAT64
    return [node.cast(value, wide, suffix="wide") for value in values]


def import_solve(node: ImportNode) -> Value:
    """X of A X = B; a B of one axis less than A holds a vector for each matrix."""
    matrix, data = _widened(node, node.input(0), node.input(1))
    node.decide(DecisionKind.CHECK, SINGULAR)
    if node.rank(data) != node.rank(matrix) - 1:
        return node.emit(Solve(), matrix, data)
    columns = node.step(Unsqueeze(), data, node.vector([-1]), suffix="columns")
    return node.emit(Squeeze(), node.step(Solve(), matrix, columns), node.vector([-1]))


def import_tensorinv(node: ImportNode) -> Value:
    """Return the inverse of a tensor whose first `ind` axes are rows and whose other ones are columns."""
    data, count = node.input(0), node.attrs["ind"]
    require_wide(node, data)
    if count < 1:
        node.refuse(f"ind {count}, expected 1 or more")
    sizes = node.sizes(data)
    rows, columns = math.prod(sizes[:count]), math.prod(sizes[count:])
    if rows != columns:
        node.refuse(f"{data.type} is no square matrix of its first {count} axes and the others")
    node.decide(DecisionKind.CHECK, SINGULAR)
    matrix = node.step(Reshape(), data, node.vector([rows, columns]), suffix="matrix")
    inverse = node.step(Inverse(), matrix)
    return node.emit(Reshape(), inverse, node.vector([*sizes[count:], *sizes[:count]]))


def import_tensorsolve(node: ImportNode) -> Value:
    """X of A X = B, summed over as many of A's last axes as B leaves; `a_axes` go behind the others before that."""
    tensor, data = _widened(node, node.input(0), node.input(1))
    rank = node.rank(tensor)
    moved = [node.axis(axis, rank) for axis in node.attrs["a_axes"] or ()]
    if len(set(moved)) != len(moved):
        node.refuse(f"a_axes {list(node.attrs['a_axes'])} name an axis twice")
    order = [*(axis for axis in range(rank) if axis not in moved), *moved]
    if moved:
        tensor = node.step(Transpose(tuple(order)), tensor, suffix="moved")
    sizes, known = node.sizes(tensor), node.sizes(data)
    wanted = sizes[len(known) :]
    size = math.prod(known)
    if math.prod(wanted) != size or math.prod(sizes) != size * size:
        node.refuse(f"{tensor.type} and {data.type} are no square system")
    node.decide(DecisionKind.CHECK, SINGULAR)
    matrix = node.step(Reshape(), tensor, node.vector([size, size]), suffix="matrix")
    column = node.step(Reshape(), data, node.vector([size, 1]), suffix="column")
    return node.emit(Reshape(), node.step(Solve(), matrix, column), node.vector(wanted))


def _symmetric(node: ImportNode) -> Value:
    """Square matrices whose lower triangle is to be read."""
    (data,) = _widened(node, node.input(0))
    return turned(node, data) if node.attrs["UPLO"] == "U" else data


def import_eigh(node: ImportNode) -> Sequence[Value]:
    """Eigenvalues, and eigenvectors as columns."""
    _decide_vectors(node, "eigenvalues")
    rows, result = node.steps(SymmetricEigen(), _symmetric(node))
    return [result, turned(node, rows, "columns")]


def import_svd(node: ImportNode) -> Sequence[Value]:
    """U, the singular values, and V."""
    data = node.input(0)
    require_wide(node, data)
    _decide_vectors(node, "singular values")
    node.decide(DecisionKind.UNDEFINED_ELEMENTS, "rows of V that belong to singular values of 0 are zeros")
    return node.emit_all(SVD(), data)


def _pseudo_inverse(node: ImportNode, data: Value, cutoff: Value) -> Value:
    """V diag(1 / S) U of the singular values above the largest one times `cutoff`."""
    require_wide(node, data)
    node.decide(
        DecisionKind.PRECISION,
        "singular values that are 0 but for rounding count unless rcond is above it, and their reciprocals are noise",
    )
    rows, columns = node.sizes(data, (-2, -1)) if node.rank(data) > 1 else (0, 0)
    if not rows or not columns:
        node.refuse(f"{data.name} is {data.type}, expected matrices")
    left, lengths, right = node.steps(SVD(), turned(node, data) if rows > columns else data)
    largest = node.step(ReduceMax(), lengths, node.vector([-1]), suffix="largest")
    stored = node.step(Greater(), lengths, node.step(Mul(), largest, cutoff, suffix="least"), suffix="held")
    one, zero = node.scalar_like(data, 1.0), node.scalar_like(data, 0.0)
    inverse = node.step(Where(), stored, node.step(Div(), one, lengths), zero, suffix="inverse")
    scaled_left = node.step(Mul(), left, node.step(Unsqueeze(), inverse, node.vector([-2])), suffix="scaled")
    if rows > columns:
        return node.emit(MatMul(), scaled_left, right)
    return node.emit(MatMul(), turned(node, right), turned(node, scaled_left, "scaled_left"))


def import_pinv(node: ImportNode) -> Value:
    """Return the pseudoinverse, with the cutoff of each matrix as an operand."""
    data, cutoff = node.input(0), node.input(1)
    if cutoff.dtype is not data.dtype:
        node.refuse(f"rcond is {cutoff.dtype}, the data {data.dtype}; MXNet wants them equal")
    if node.rank(cutoff) > max(node.rank(data) - 2, 1):
        node.refuse(f"rcond is {cutoff.type}, expected not more axes than the batch of {data.type}")
    if cutoff.rank:
        cutoff = node.step(Unsqueeze(), cutoff, node.vector([-1]), suffix="cutoff")
    return _pseudo_inverse(node, data, cutoff)


def import_pinv_scalar(node: ImportNode) -> Value:
    """Return the pseudoinverse."""
    data = node.input(0)
    return _pseudo_inverse(node, data, node.scalar_like(data, node.attrs["rcond"]))


IMPORTS: dict[str, ImportFunction] = {
    "_linalg_gelqf": import_gelqf,
    "_linalg_inverse": import_inverse,
    "_linalg_potrf": import_cholesky,
    "_linalg_potri": import_potri,
    "_linalg_slogdet": import_slogdet,
    "_linalg_syevd": import_syevd,
    "_linalg_trsm": import_trsm,
    "_npi_cholesky": import_cholesky,
    "_npi_eigh": import_eigh,
    "_npi_eigvalsh": lambda node: node.steps(SymmetricEigen(), _symmetric(node))[1],
    "_npi_pinv": import_pinv,
    "_npi_pinv_scalar_rcond": import_pinv_scalar,
    "_npi_solve": import_solve,
    "_npi_svd": import_svd,
    "_npi_tensorinv": import_tensorinv,
    "_npi_tensorsolve": import_tensorsolve,
}
