"""Sizes that only a run can tell: how many elements are not 0, how many boxes are left.

A rule calls such a size `new_size`; whoever applies it to a node gives it the name of the node's first result, so that
sizes of different nodes differ: `NonZero_3:count`. Unlike other symbolic sizes these may be 0 (see `expression`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graphir.types import MapType, OptionalType, SequenceType, Shape, Sym, TensorType, Type, substitute, symbol

PLACEHOLDER = "new"
ODD = r"[^A-Za-z0-9_.]|^(?![A-Za-z_])"


def new_size(what: str = "count") -> Sym:
    """Return a size that the operator finds; `what` tells several of one node apart."""
    return symbol(f"{PLACEHOLDER}:{what}")


def with_names(types: tuple[Type, ...], result: str) -> tuple[Type, ...]:
    """Return the types that a rule gave, with new sizes named after the node's first result.

    >>> str(with_names((TensorType(None, (2, new_size())),), "nz")[0])
    '?[2, nz:count]'
    """
    name = re.sub(ODD, "_", result)
    if name != result:  # another name may become the same
        import zlib  # a library of C, for odd names only

        name = f"{name}_{zlib.crc32(result.encode()):08x}"
    return tuple([_rename_sizes(type_, name) for type_ in types])


def _rename_sizes(type_: Type, name: str) -> Type:
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_
    return TensorType(type_.dtype, tuple([substitute(dim, _names(dim, name)) for dim in type_.shape]))


def _names(dim: object, name: str) -> Mapping[str, Sym]:
    if not isinstance(dim, Sym):
        return {}
    prefix = f"{PLACEHOLDER}:"
    return {old: symbol(f"{name}:{old[len(prefix) :]}") for old in dim.symbols() if old.startswith(prefix)}


def counted(dim: object) -> frozenset[str]:
    """Return the names in a dimension of sizes that only a run can tell."""
    return frozenset(name for name in dim.symbols() if ":" in name) if isinstance(dim, Sym) else frozenset()


def counted_in(type_: Type) -> frozenset[str]:
    """Return the names in a type of sizes that only a run can tell."""
    if isinstance(type_, SequenceType | OptionalType | MapType):
        return counted_in(type_.element)
    shape: Shape = type_.shape or ()
    return frozenset().union(*map(counted, shape))
