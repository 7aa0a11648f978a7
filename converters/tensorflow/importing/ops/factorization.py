"""Factors of matrices, their inverses, and systems of equations. Source: `tf.linalg`.

Matrices stand in the last two axes. Those of equal batches are solved; TensorFlow broadcasts batches of a triangular
system, which is refused.
"""

from __future__ import annotations

from graphir.converters.tensorflow.importing.context import ImportFunction, ImportNode
from graphir.converters.tensorflow.importing.ops.linear import swap_last_axes
from graphir.decisions import DecisionKind
from graphir.graph import Value
from graphir.ops.base import Operator
from graphir.ops.factorization import Cholesky, Inverse, Solve, TriangularSolve


def import_cholesky(node: ImportNode) -> Value:
    """Return the lower factor; of the matrix the lower triangle is read, as in TensorFlow."""
    node.decide(DecisionKind.CHECK, "of a matrix that is not positive definite NaN comes, where TensorFlow stops")
    return node.emit(Cholesky(), node.input(0))


def solver(op: Operator) -> ImportFunction:
    """Return the import of an operator on a matrix that `adjoint` transposes first, and on right sides if it has
    them."""

    def import_solver(node: ImportNode) -> Value:
        node.decide(DecisionKind.CHECK, "of a singular matrix infinities or NaN come, where TensorFlow stops")
        matrix, *sides = node.inputs
        if node.attrs["adjoint"]:
            matrix = swap_last_axes(node, matrix)
        return node.emit(op, matrix, *sides)

    return import_solver


def import_triangular_solve(node: ImportNode) -> Value:
    """Return X of A X = B, of the adjoint A on request."""
    node.decide(DecisionKind.CHECK, "of a singular matrix infinities or NaN come, where TensorFlow stops")
    lower, adjoint = bool(node.attrs["lower"]), bool(node.attrs["adjoint"])
    return node.emit(TriangularSolve(lower=lower, transpose=adjoint), *node.inputs)


IMPORTS: dict[str, ImportFunction] = {
    "Cholesky": import_cholesky,
    "MatrixInverse": solver(Inverse()),
    "MatrixSolve": solver(Solve()),
    "MatrixTriangularSolve": import_triangular_solve,
}
