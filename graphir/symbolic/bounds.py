"""What a symbolic size is never below, whatever its symbols stand for."""

from __future__ import annotations

from .expression import Call, Dim, Sym, lower_bound

DEPTH = 4


def least(dim: Dim) -> int | None:
    """Return a number that the dimension is never below, given that each symbol is at least 1; None when none is known.

    Where `lower_bound` looks at one term at a time, this sees terms that belong together: a maximum is at least each of
    its operands, a minimum at most, and `x // k` at most `x / k`.

    >>> from .dims import dim_max, symbol
    >>> size = symbol("N")
    >>> least(dim_max(size, 10) - size), least(size - size // 2), least(size - 3)
    (0, 1, -2)
    """
    return _least(dim, DEPTH)


def _least(dim: Dim, depth: int) -> int | None:
    lower = lower_bound(dim)
    if not isinstance(dim, Sym) or depth == 0 or (lower is not None and lower >= 0):
        return lower
    bounds = [] if lower is None else [lower]
    for mono, factor in dim.terms:
        if len(mono) != 1 or not isinstance(mono[0], Call):
            continue
        for other, divisor in _lower_expressions(mono[0], factor):
            # factor * call >= factor * other / divisor, so dim * divisor >= what stands here.
            bound = _least((dim - Sym(((mono, factor),))) * divisor + factor * other, depth - 1)
            if bound is not None:
                bounds.append(-(-bound // divisor))
    return max(bounds, default=None)


def _lower_expressions(call: Call, factor: int) -> list[tuple[int | Sym, int]]:
    """Expressions and divisors such that `factor * call` is at least `factor * expression / divisor`."""
    if call.function == ("max" if factor > 0 else "min"):
        return [(call.left, 1), (call.right, 1)]
    if call.function == "floordiv" and factor < 0 and isinstance(call.right, int) and call.right > 0:
        return [(call.left, call.right)]
    return []
