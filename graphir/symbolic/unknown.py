"""The dimension of which nothing is known."""

from __future__ import annotations


class Unknown:
    """The one value `UNKNOWN`: a dimension of which nothing is known. Arithmetic with it stays unknown."""

    __slots__ = ()

    def _absorb(self, other: object) -> Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _absorb
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _absorb

    def __neg__(self) -> Unknown:
        return self

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __str__(self) -> str:
        return "?"

    def __reduce__(self) -> str:
        return "UNKNOWN"

    def __copy__(self) -> Unknown:
        return self

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


UNKNOWN = Unknown()
