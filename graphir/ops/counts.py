"""Data-dependent sizes: the number of nonzero elements, the number of boxes that remain.

A shape rule returns such a size as `new_size`. Inference then names it after the node's first result, so that the sizes
of two nodes differ: `NonZero_3:count`. Unlike other symbolic sizes, these may be 0 (see `expression`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphir.types import MapType, OptionalType, SequenceType, Shape, Sym, TensorType, Type, substitute, symbol

PLACEHOLDER = "new"
NOT_IN_SYMBOLS = r"[^A-Za-z0-9_.]|^(?![A-Za-z_])"


def new_size(what: str = "count") -> Sym:
    """Return a new data-dependent size; `what` distinguishes the sizes of one node."""
    return symbol(f"{PLACEHOLDER}:{what}")


def name_new_sizes(types: tuple[Type, ...], result: str) -> tuple[Type, ...]:
    """Return the types with their new sizes named after the node's first result.

    >>> str(name_new_sizes((TensorType(None, (2, new_size())),), "nz")[0])
    '?[2, nz:count]'
    """
    name = re.sub(NOT_IN_SYMBOLS, "_", result)
    if name != result:  # two names may become equal
        import zlib  # imported for unusual names only

        name = f"{name}_{zlib.crc32(result.encode()):08x}"
    return tuple([_rename_sizes(type_, name) for type_ in types])


def _rename_sizes(type_: Type, name: str) -> Type:
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_
    return TensorType(type_.dtype, tuple([substitute(dim, _renamed_symbols(dim, name)) for dim in type_.shape]))


def _renamed_symbols(dim: object, name: str) -> Mapping[str, Sym]:
    if not isinstance(dim, Sym):
        return {}
    prefix = f"{PLACEHOLDER}:"
    return {old: symbol(f"{name}:{old[len(prefix) :]}") for old in dim.symbols() if old.startswith(prefix)}


def data_dependent_sizes(dim: object) -> frozenset[str]:
    """Return the names of the data-dependent sizes in a dimension."""
    return frozenset(name for name in dim.symbols() if ":" in name) if isinstance(dim, Sym) else frozenset()


def data_dependent_sizes_in(type_: Type) -> frozenset[str]:
    """Return the names of the data-dependent sizes in a type."""
    if isinstance(type_, SequenceType | OptionalType | MapType):
        return data_dependent_sizes_in(type_.element)
    shape: Shape = type_.shape or ()
    return frozenset().union(*map(data_dependent_sizes, shape))
