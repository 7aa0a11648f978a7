"""MXNet without MXNet: read symbols and parameters of every version from 0.7 to 2.0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from graphir.graph import Graph
    from graphir.tensor import Tensor


def from_symbol(
    symbol: object,
    params: str | os.PathLike[str] | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    *,
    dtypes: Mapping[str, object] | None = None,
    keep_loss: bool = False,
    name: str = "",
) -> Graph:
    """The graph of an MXNet symbol.

    `symbol` is a path, JSON text, or an object with `tojson()`; `params` a .params file or a mapping of arrays, whose
    names may carry `arg:` and `aux:`; `shapes` the shapes of inputs by name, as integers, names of symbolic sizes or
    None; `dtypes` their dtypes where they differ from the parameters'. Loss heads and labels go unless `keep_loss`.
    What the import assumed, dropped or rewrote stands in `graph.decisions`.

    Raises FormatError for a file that is not what it should be, UnsupportedOpError listing every node that cannot be
    imported, and ImportFailure listing every missing or contradicting parameter.
    """
    from graphir.passes import simplify

    from .importer import Importer
    from .nnvm_json import read_symbol

    source = read_symbol(symbol)
    tensors = None if params is None else _plain_names(params)
    if not name:
        name = _name_of(symbol)
    graph = Importer(source, tensors, shapes, dtypes=dtypes, keep_loss=keep_loss, name=name).run()
    simplify(graph)
    return graph


def _name_of(symbol: object) -> str:
    if isinstance(symbol, str | os.PathLike) and not str(symbol).lstrip().startswith("{"):
        base = os.path.basename(os.fspath(symbol))
        return base.removesuffix(".json").removesuffix("-symbol") or "graph"
    return "graph"


def _plain_names(params: object) -> dict[str, Tensor]:
    """The parameters by name without `arg:` and `aux:`."""
    from graphir.tensor import Tensor

    if isinstance(params, Mapping):
        named = {str(key): _as_tensor(value) for key, value in params.items()}
    else:
        from .params import read_params

        named = dict(read_params(params))
    plain: dict[str, Tensor] = {}
    for key, tensor in named.items():
        plain[key[4:] if key.startswith(("arg:", "aux:")) else key] = tensor
    return plain


def _as_tensor(value: object) -> Tensor:
    from graphir.tensor import Tensor

    asnumpy = getattr(value, "asnumpy", None)
    return Tensor.of(asnumpy() if asnumpy is not None else value)


__all__ = ["from_symbol"]
