"""Which of MXNet's names stand in which module of `mx.sym`, by MXNet's own rule: the prefix of the registered name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from graphir.converters.mxnet.mx.symbol.functions import Function, Namespace
from graphir.converters.mxnet.mx.symbol.node import Outputs
from graphir.converters.mxnet.schema.registry import registered_names
from graphir.structure.names import similar_names

ROOT = "graphir.converters.mxnet.mx.symbol"
PREFIXES = ("_contrib_", "_linalg_", "_sparse_", "_image_", "_random_")
NUMPY_PREFIXES = {"_npi_": "numpy._internal", "_npx_": "numpy_extension", "_np_": "numpy"}
NUMPY_PARTS = {"numpy": ("_random_", "_linalg_"), "numpy_extension": ("_image_", "_random_"), "numpy._internal": ()}


@functools.cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    """Return each module with its functions, and the operator of each."""
    tables: dict[str, dict[str, str]] = {}
    for registered in registered_names():
        module, called = place_of(registered)
        tables.setdefault(module, {})[called] = registered
    return tables


def place_of(registered: str) -> tuple[str, str]:
    """Return the module below `mx.sym` and the function in it of a registered name."""
    for prefix, module in NUMPY_PREFIXES.items():
        if registered.startswith(prefix):
            called = registered[len(prefix) :]
            part = next((part for part in NUMPY_PARTS[module] if called.startswith(part)), "")
            return (f"{module}.{part[1:-1]}", called[len(part) :]) if part else (module, called)
    prefix = next((prefix for prefix in PREFIXES if registered.startswith(prefix)), "")
    if prefix and (prefix != "_random_" or registered.endswith("_like")):
        return prefix[1:-1], registered[len(prefix) :]
    return ("_internal" if registered.startswith("_") else "op"), registered


_MADE: dict[tuple[str, int], Namespace] = {}


def namespace(module: str, symbol_type: type[Outputs]) -> Namespace:
    """Return the functions of `mx.sym.<module>`, which give symbols of that type."""
    found = _MADE.get((module, id(symbol_type)))
    if found is None:
        found = Namespace(f"{ROOT}.{module}", _tables().get(module, {}), symbol_type)
        _MADE[module, id(symbol_type)] = found
    return found


def lookup(
    module: str, symbol_type: type[Outputs], *, shown: str = ""
) -> tuple[Callable[[str], Function], Callable[[], list[str]]]:
    """`__getattr__` and the names for `__dir__` of the module that holds these functions."""
    place = shown or f"mx.sym.{module}"

    def found(called: str) -> Function:
        held = namespace(module, symbol_type)
        if called not in held:
            near = similar_names(called, held.operators)
            raise AttributeError(
                f"{place} has no {called!r}: MXNet 1.9.1 registers no operator of that name there{near}"
            )
        return held.get(called)

    return found, lambda: sorted(namespace(module, symbol_type).operators)


__all__ = ["lookup", "namespace", "place_of"]
