"""Dimensions: integers, symbolic expressions and the unknown, with canonical arithmetic.

A dimension is an `int`, a `Sym` (an expression over named sizes such as `N` or `(H+1)//2`) or `UNKNOWN`. All three take
`+ - * // %`, so that one rule serves the concrete, the symbolic and the unknown case:

>>> height = symbol("H")
>>> (height + 2 * 3 - 7) // 2 + 1
Sym('(H+1)//2')
>>> (4 * height + 2) // 2
Sym('2*H+1')
>>> UNKNOWN + 1
UNKNOWN

Expressions are kept as sums of products in a fixed order with floor divisions as atoms, so equal polynomials compare
equal. Symbols stand for sizes: integers of at least 1. An expression that grows beyond `MAX_TERMS` terms, `MAX_DEPTH`
nested divisions or `MAX_LENGTH` characters becomes `UNKNOWN`: forgetting is sound, growing without bound is not.
"""

from __future__ import annotations

from collections.abc import Mapping

from .expression import MAX_DEPTH as MAX_DEPTH
from .expression import MAX_LENGTH as MAX_LENGTH
from .expression import MAX_TERMS as MAX_TERMS
from .expression import Atom, call
from .expression import Call as Call
from .expression import Dim as Dim
from .expression import Shape as Shape
from .expression import Sym as Sym
from .expression import lower_bound as lower_bound
from .expression import symbol as symbol
from .unknown import UNKNOWN as UNKNOWN
from .unknown import Unknown as Unknown


def dim_max(left: Dim, right: Dim) -> Dim:
    """Return the larger of two dimensions.

    >>> dim_max(symbol("N"), 0), dim_max(dim_min(symbol("N"), 32), symbol("N"))
    (Sym('N'), Sym('N'))
    """
    return _extreme("max", left, right)


def dim_min(left: Dim, right: Dim) -> Dim:
    """Return the smaller of two dimensions."""
    return _extreme("min", left, right)


def ceildiv(left: Dim, right: Dim) -> Dim:
    """Return `left / right` rounded up, for a positive `right`.

    >>> ceildiv(7, 2), ceildiv(symbol("H"), 2)
    (4, Sym('(H+1)//2'))
    """
    return (left + right - 1) // right


def substitute(dim: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """Return `dim` with symbols replaced by the given sizes; symbols that are not given stay.

    >>> substitute((symbol("H") + 1) // 2, {"H": 7})
    4
    """
    if not isinstance(dim, Sym):
        return dim
    total: Dim = 0
    for mono, factor in dim.terms:
        product: Dim = factor
        for atom in mono:
            product = product * _substitute_atom(atom, sizes)
        total = total + product
    return total


def _extreme(function: str, left: Dim, right: Dim) -> Dim:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right) if function == "max" else min(left, right)
    if left == right:
        return left
    difference = left - right
    above, below = lower_bound(difference), lower_bound(-difference)
    if above is not None and above >= 0:
        return left if function == "max" else right
    if below is not None and below >= 0:
        return right if function == "max" else left
    for side, other in ((left, right), (right, left)):
        inner = _as_call(side)
        if inner is not None and other in (inner.left, inner.right) and inner.function in ("max", "min"):
            return side if inner.function == function else other
    first, second = sorted((left, right), key=str)
    return call(function, first, second)


def _as_call(dim: Dim) -> Call | None:
    """Return the function that an expression is, if it is one and nothing else."""
    if not isinstance(dim, Sym) or len(dim.terms) != 1:
        return None
    mono, factor = dim.terms[0]
    return mono[0] if factor == 1 and len(mono) == 1 and isinstance(mono[0], Call) else None


def _substitute_atom(atom: Atom, sizes: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, str):
        return sizes[atom] if atom in sizes else symbol(atom)
    left, right = substitute(atom.left, sizes), substitute(atom.right, sizes)
    if atom.function == "floordiv":
        return left // right
    return _extreme(atom.function, left, right)
