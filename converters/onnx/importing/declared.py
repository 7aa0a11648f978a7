"""Declared types of inner values and outputs held against what the operators give.

Tools that change a model's input sizes leave the declarations behind as they were, exporters declare outputs of another
rank, and onnxruntime passes over those.
"""

from __future__ import annotations

from collections.abc import Set

from graphir.types import UNKNOWN, Dim, Sym, TensorType, Type


def believable(inferred: Type, stated: Type, symbols: Set[str]) -> Type:
    """Return the stated type without the sizes that the operators refute.

    A number is refuted where a size follows from the inputs, all of whose names are among `symbols`, or by another
    number; all of them are by another rank.
    """
    if not isinstance(inferred, TensorType) or not isinstance(stated, TensorType):
        return stated
    left, right = inferred.shape, stated.shape
    if left is None or right is None or left == right:
        return stated
    if len(left) != len(right):
        return TensorType(stated.dtype, None)
    shape = tuple(map(lambda dim, other: _keep_dim(dim, other, symbols), left, right))
    return stated if shape == right else TensorType(stated.dtype, shape)


def _keep_dim(dim: Dim, stated: Dim, symbols: Set[str]) -> Dim:
    if isinstance(dim, Sym) and isinstance(stated, int) and dim.symbols() <= symbols:
        return UNKNOWN
    if isinstance(dim, int) and isinstance(stated, int) and dim != stated:
        return UNKNOWN
    return stated
