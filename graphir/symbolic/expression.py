"""Symbolic sizes: expressions over named sizes with canonical arithmetic (`dims` has the public functions).

Expressions are kept as sums of products in a fixed order with floor divisions as atoms, so equal polynomials compare
equal.
"""

from __future__ import annotations

import math
from typing import Any, Union

from .unknown import UNKNOWN, Unknown

MAX_TERMS = 24
MAX_DEPTH = 8
MAX_LENGTH = 400


class Call:
    """An atom that is not a symbol: `floordiv`, `max` or `min` of two expressions."""

    __slots__ = ("_hash", "depth", "function", "left", "right", "text")

    def __init__(self, function: str, left: int | Sym, right: int | Sym) -> None:
        self.function = function
        self.left = left
        self.right = right
        self.depth = 1 + max(_depth(left), _depth(right))
        if function == "floordiv":
            self.text = f"{_operand(left)}//{_operand(right)}"
        else:
            self.text = f"{function}({left},{right})"
        self._hash = hash((function, left, right))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        return (self.function, self.left, self.right) == (other.function, other.left, other.right)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Call({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.function, self.left, self.right)


Atom = Union[str, Call]
Monomial = tuple[Atom, ...]


class Sym:
    """A symbolic size: a sum of integer multiples of products of atoms, at least one atom in all.

    Build it with `symbol` and arithmetic. A result without atoms is a plain `int`, so `Sym` is never constant.
    """

    __slots__ = ("_hash", "depth", "terms", "text")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)
        self.depth = max((atom.depth for mono, _ in terms for atom in mono if isinstance(atom, Call)), default=0)
        self.text = _render(terms)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sym):
            return self.terms == other.terms
        if isinstance(other, int | Unknown):
            return False
        return NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int | Sym):
            return NotImplemented
        return _build([*self.terms, *_terms(other)])

    __radd__ = __add__

    def __neg__(self) -> Any:
        return _build([(mono, -factor) for mono, factor in self.terms])

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, int | Sym):
            return NotImplemented
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, int | Sym):
            return NotImplemented
        return _build([
            (tuple(sorted((*left, *right), key=str)), a * b) for left, a in self.terms for right, b in _terms(other)
        ])

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if not isinstance(other, int | Sym):
            return NotImplemented
        return _floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return _floordiv(other, self)

    def __mod__(self, other: Any) -> Any:
        if not isinstance(other, int | Sym):
            return NotImplemented
        return self - (self // other) * other

    def __rmod__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return other - (other // self) * self

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Sym({self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Sym, (self.terms,)

    def symbols(self) -> frozenset[str]:
        """Return the names of all symbols in the expression."""
        names: set[str] = set()
        for atom in (atom for mono, _ in self.terms for atom in mono):
            if isinstance(atom, str):
                names.add(atom)
                continue
            for part in (atom.left, atom.right):
                if isinstance(part, Sym):
                    names |= part.symbols()
        return frozenset(names)


Dim = Union[int, Sym, Unknown]
Shape = tuple[Dim, ...]


def symbol(name: str) -> Sym:
    """Return the size called `name`, an identifier. Raises ValueError for anything else."""
    plain = name.replace(".", "_").replace(":", "_")
    if not (plain.isascii() and plain.isidentifier()) or name.startswith((".", ":")):
        raise ValueError(f"a symbolic size is named like an identifier, found {name!r}")
    return Sym((((name,), 1),))


def lower_bound(dim: Dim) -> int | None:
    """Return a number that the dimension is never below, None when none is known.

    Each symbol is at least 1, but those with a colon in the name, which are sizes that only a run can tell, may be 0.

    >>> lower_bound(2 * symbol("N") + 1), lower_bound(symbol("N") - 5), lower_bound(3 - symbol("N"))
    (3, -4, None)
    """
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Unknown):
        return None
    total = 0
    for mono, factor in dim.terms:
        product = 1
        for atom in mono:
            bound = _call_bound(atom) if isinstance(atom, Call) else 0 if ":" in atom else 1
            if bound is None or bound < 0:
                return None
            product *= bound
        if factor < 0 and mono:
            return None
        total += factor * product
    return total


def _call_bound(call: Call) -> int | None:
    left, right = lower_bound(call.left), lower_bound(call.right)
    if call.function == "floordiv":
        if left is None or not isinstance(call.right, int) or call.right <= 0:
            return None
        return left // call.right
    if call.function == "max":
        known = [bound for bound in (left, right) if bound is not None]
        return max(known, default=None)
    return None if left is None or right is None else min(left, right)


def _depth(part: int | Sym) -> int:
    return part.depth if isinstance(part, Sym) else 0


def _terms(value: int | Sym) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, Sym):
        return value.terms
    return (((), int(value)),) if value else ()


def _build(terms: list[tuple[Monomial, int]]) -> Dim:
    gathered: dict[Monomial, int] = {}
    for mono, factor in terms:
        gathered[mono] = gathered.get(mono, 0) + factor
    kept = [(mono, factor) for mono, factor in gathered.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > MAX_TERMS:
        return UNKNOWN
    kept.sort(key=lambda term: (not term[0], term[1] < 0, -len(term[0]), [str(atom) for atom in term[0]]))
    symbol = Sym(tuple(kept))
    return UNKNOWN if len(symbol.text) > MAX_LENGTH else symbol


def _floordiv(left: int | Sym, right: int | Sym) -> Dim:
    if right == 0:
        raise ZeroDivisionError(f"{left} // 0")
    if right == 1:
        return left
    if left == 0:
        return 0
    if left == right:
        return 1
    if isinstance(right, int):
        return _floordiv_number(left, right)
    if isinstance(left, Sym):
        exact = _exact_quotient(left, right)
        if exact is not None:
            return exact
        shared = _shared_factor(left, right)
        if shared is not None:
            return _floordiv(_exact_quotient(left, shared), _exact_quotient(right, shared))  # type: ignore[arg-type]
    if isinstance(left, int) and left > 0:
        bound = lower_bound(right)
        if bound is not None and bound > left:
            return 0
    return call("floordiv", left, right)


def _floordiv_number(left: int | Sym, right: int) -> Dim:
    """`left // right`: what divides exactly comes out, a common factor of the rest is reduced.

    `(x // a + c) // b` is `(x + a*c) // (a*b)` for positive a and b, so that divisions do not nest.
    """
    if isinstance(left, int):
        return left // right
    if right < 0:
        return _floordiv(-left, -right)
    whole = _build([(mono, factor // right) for mono, factor in left.terms if factor % right == 0 or not mono])
    open_terms = [(mono, factor) for mono, factor in left.terms if factor % right and mono]
    if not open_terms:
        return whole
    number = sum(factor for mono, factor in left.terms if not mono) % right
    common = math.gcd(right, *(factor for _, factor in open_terms))
    (mono, factor), number, right = open_terms[0], number // common, right // common
    if len(open_terms) == 1 and factor == common and len(mono) == 1 and isinstance(mono[0], Call):
        inner = mono[0]
        if inner.function == "floordiv" and isinstance(inner.right, int) and inner.right > 0:
            return whole + (inner.left + inner.right * number) // (inner.right * right)
    rest = _build([*((mono, factor // common) for mono, factor in open_terms), ((), number)])
    return whole + call("floordiv", rest, right)


def _shared_factor(left: Sym, right: Sym) -> Sym | None:
    """Return the product of all atoms that every term of both has, None if there are none."""
    shared = list(left.terms[0][0])
    for mono, _ in (*left.terms, *right.terms):
        rest = list(mono)
        kept = []
        for atom in shared:
            if atom in rest:
                rest.remove(atom)
                kept.append(atom)
        shared = kept
    return Sym(((tuple(shared), 1),)) if shared else None


def _exact_quotient(left: Sym, right: Sym) -> Dim | None:
    """Return the quotient if `right` divides `left` as a polynomial of one term, or with a quotient of one term; else
    None."""
    divisor = right.terms[0]
    if len(right.terms) == 1:
        parts = [_divide_term(term, divisor) for term in left.terms]
        return None if None in parts else _build([part for part in parts if part is not None])
    first = _divide_term(left.terms[0], divisor)
    if first is None or len(left.terms) != len(right.terms):
        return None
    quotient = _build([first])
    return quotient if quotient * right == left else None


def _divide_term(term: tuple[Monomial, int], divisor: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    rest = list(term[0])
    for atom in divisor[0]:
        if atom not in rest:
            return None
        rest.remove(atom)
    return None if term[1] % divisor[1] else (tuple(rest), term[1] // divisor[1])


def call(function: str, left: Dim, right: Dim) -> Dim:
    """Return the function of two dimensions as an atom; unknown where an operand is, or where it grows too deep or
    long."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    call = Call(function, left, right)
    return UNKNOWN if call.depth > MAX_DEPTH or len(call.text) > MAX_LENGTH else Sym((((call,), 1),))


def _operand(part: int | Sym) -> str:
    text = str(part)
    return text if all(letter.isalnum() or letter in "_.:" for letter in text) else f"({text})"


def _render(terms: tuple[tuple[Monomial, int], ...]) -> str:
    """Return the sum as Python would read it."""
    text = ""
    for mono, factor in terms:
        sign = "-" if factor < 0 else "+" if text else ""
        alone = len(mono) == 1 and (factor == 1 or (factor == -1 and text != ""))
        pieces = [str(atom) if alone or not _is_division(atom) else f"({atom})" for atom in mono]
        if abs(factor) != 1 or not mono:
            pieces.insert(0, str(abs(factor)))
        text += sign + "*".join(pieces)
    return text


def _is_division(atom: Atom) -> bool:
    return isinstance(atom, Call) and atom.function == "floordiv"
