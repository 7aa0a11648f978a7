"""Sizes as Python integers: what a model computes from shapes is written with the sizes of its inputs."""

from __future__ import annotations

from collections.abc import Callable

from graphir.converters.pytorch.exporting.expression import Expr, binary, call, expr, unary
from graphir.symbolic.dims import Call
from graphir.symbolic.expression import Monomial
from graphir.types import Dim, Sym


def size_text(dim: int | Sym, name: Callable[[str], str]) -> Expr:
    """Return a size as an expression of the variables that `name` gives for symbols.

    >>> from graphir.types import symbol
    >>> str(size_text((symbol("H") + 1) // 2 * symbol("N") - 1, str.lower))
    '(h + 1) // 2 * n - 1'
    """
    if isinstance(dim, int):
        return Expr(str(dim)) if dim >= 0 else unary("-", str(-dim))
    # What is added comes first, so that no text begins with a minus that need not.
    terms = sorted(dim.terms, key=lambda term: (not term[0], term[1] < 0))
    text: Expr | None = None
    for monomial, factor in terms:
        product = _product(monomial, abs(factor), name)
        if text is None:
            text = unary("-", product) if factor < 0 else product
        else:
            text = binary("-" if factor < 0 else "+", text, product)
    assert text is not None
    return text


def _product(monomial: Monomial, factor: int, name: Callable[[str], str]) -> Expr:
    # A division comes first: behind a factor it would divide the product.
    atoms = sorted(monomial, key=lambda atom: not (isinstance(atom, Call) and atom.function == "floordiv"))
    texts = [_atom(atom, name) for atom in atoms]
    if factor != 1 or not texts:
        divides = bool(texts) and isinstance(atoms[0], Call) and atoms[0].function == "floordiv"
        texts.insert(1 if divides else 0, Expr(str(factor)))
    result = texts[0]
    for other in texts[1:]:
        result = binary("*", result, other)
    return result


def _atom(atom: str | Call, name: Callable[[str], str]) -> Expr:
    if isinstance(atom, str):
        return expr(name(atom))
    left, right = size_text(atom.left, name), size_text(atom.right, name)
    return binary("//", left, right) if atom.function == "floordiv" else Expr(call(atom.function, left, right))


def symbols_of(dim: Dim) -> frozenset[str]:
    """Return the names of the symbols in a size."""
    return dim.symbols() if isinstance(dim, Sym) else frozenset()
