"""MXNet's operators in plain numpy: the second road to a model's outputs, sharing no code with the conversion.

`operators()` builds the table on its first call; nothing is imported before.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from graphir.converters.mxnet.reference import rare
from graphir.converters.mxnet.reference.contract import Reference


@cache
def operators() -> Mapping[str, Reference]:
    """Return every operator's reference function by MXNet's canonical name; one that two families claim is an error.

    A family is a module of this package, or of `rare` in it, that has OPERATORS.
    """
    table: dict[str, Reference] = {}
    rooms = [(f"{__name__}.", __path__), (f"{__name__}.rare.", rare.__path__)]
    for module in sorted(module.name for prefix, path in rooms for module in pkgutil.iter_modules(path, prefix)):
        family = importlib.import_module(module)
        result: Mapping[str, Reference] = getattr(family, "OPERATORS", {})
        claimed = [name for name, function in result.items() if table.get(name, function) is not function]
        if claimed:
            raise ValueError(f"{family.__name__} defines {', '.join(sorted(claimed))} a second time")
        table.update(result)
    return MappingProxyType(table)


def supported() -> tuple[str, ...]:
    """Return the names of all operators that the reference evaluator knows, sorted."""
    return tuple(sorted(operators()))


__all__ = ["Reference", "operators", "supported"]
