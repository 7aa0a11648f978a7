"""MXNet without MXNet: read symbols and parameters of every version from 0.7 to 2.0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphir.graph import Graph


def from_symbol(
    symbol: object,
    params: str | os.PathLike[str] | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    *,
    dtypes: Mapping[str, object] | None = None,
    keep_loss: bool = False,
) -> Graph:
    """The graph of an MXNet symbol.

    `symbol` is a path, JSON text, or an object with `tojson()`; `params` a .params file or a mapping of arrays, whose
    names may carry `arg:` and `aux:` (for a path, the file beside it is found); `shapes` the shapes of inputs by name,
    as integers, names of symbolic sizes or None; `dtypes` their dtypes where they differ from the parameters'. Loss
    heads and labels go unless `keep_loss`. What the import assumed, dropped or rewrote stands in `graph.decisions`.

    Raises FormatError for a file that is not what it should be, UnsupportedOpError listing every node that cannot be
    imported, and ImportFailure listing every missing or contradicting parameter.
    """
    from graphir.converters.mxnet.source import open_source

    return open_source(symbol, params).to_graph(shapes, dtypes=dtypes, keep_loss=keep_loss)


def __getattr__(name: str) -> Any:
    if name in ("read_params", "write_params", "open_params"):
        from graphir.converters.mxnet import params

        return getattr(params, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["from_symbol", "open_params", "read_params", "write_params"]
