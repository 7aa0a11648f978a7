"""MXNet without MXNet: symbols and parameters of every version from 0.7 to 2.0 are read, those of 1.9.1 written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphir.safety.limits import bounded

if TYPE_CHECKING:
    from numpy import ndarray

    from graphir.converters.mxnet.files.records import NNVMGraph
    from graphir.graph import Graph
    from graphir.tensor import Tensor

SYMBOL_SUFFIX = "-symbol.json"


@bounded
def from_symbol(
    symbol: object,
    params: str | os.PathLike[str] | Mapping[str, object] | None = None,
    shapes: Mapping[str, object] | None = None,
    *,
    dtypes: Mapping[str, object] | None = None,
    keep_loss: bool = False,
    strict: bool = False,
) -> Graph:
    """Return the graph of an MXNet symbol.

    `symbol` is a path, JSON text, or an object with `tojson()`; `params` a .params file or a mapping of arrays, whose
    names may carry `arg:` and `aux:` (for a path, the file beside it is found); `shapes` the shapes of inputs by name,
    as integers, names of symbolic sizes or None; `dtypes` their dtypes where they differ from the parameters'. Loss
    heads and labels go unless `keep_loss`. With `strict` NaN and infinities give what MXNet gives, at the cost of more
    nodes (docs/mxnet-numbers.md). What the import assumed, dropped or rewrote stands in `graph.decisions`.

    Raises FormatError for a file that is not what it should be, UnsupportedOpError listing every node that cannot be
    imported, and ImportFailure listing every missing or contradicting parameter.
    """
    from graphir.converters.mxnet.source import open_source

    return open_source(symbol, params).to_graph(shapes, dtypes=dtypes, keep_loss=keep_loss, strict=strict)


def to_symbol(graph: Graph) -> tuple[str, dict[str, ndarray[Any, Any]]]:
    """Return the graph as an MXNet symbol: its JSON text, and its parameters under `arg:` and `aux:` names.

    A result named `x_output` is computed by the node `x`, as MXNet names it; parameters keep their names, and those
    that have no elements are variables of the symbol only. Inputs and outputs without axes or elements make it a symbol
    of np_shape semantics, which runs under `mx.util.np_shape()`; dtypes that MXNet lacks are held in wider ones. Both
    stand in `graph.decisions`. It is written for MXNet 1.9.1.

    Raises UnsupportedOpError listing every node that MXNet cannot express.
    """
    from graphir.converters.mxnet.files.nnvm_json import to_json

    symbol, params = to_records(graph)
    return to_json(symbol), {name: tensor.numpy() for name, tensor in params.items()}


def save(graph: Graph, target: str | os.PathLike[str]) -> list[Path]:
    """Write `prefix-symbol.json` and, beside it, `prefix-0000.params`; return both. Weights are streamed.

    A failure leaves what stood there. Raises what `to_symbol` raises, and ExportFailure for a name that does not end in
    `-symbol.json` and for files that cannot be written.
    """
    check_name(target)
    return write(*to_records(graph), target)


def to_records(graph: Graph) -> tuple[NNVMGraph, dict[str, Tensor]]:
    """Return the symbol's records and its parameters, still lazy. Raises what `to_symbol` raises."""
    from graphir.converters.mxnet.exporting.exporter import export_copy
    from graphir.converters.onnx.evaluator import onnx_terms

    return export_copy(graph, onnx_terms())


def check_name(target: str | os.PathLike[str]) -> None:
    """Raise ExportFailure for a name that no symbol file has."""
    from graphir.errors import ExportFailure

    if not os.fspath(target).endswith(SYMBOL_SUFFIX):
        raise ExportFailure(f"{target}: an MXNet symbol is named something{SYMBOL_SUFFIX}")


def write(records: NNVMGraph, params: Mapping[str, Tensor], target: str | os.PathLike[str]) -> list[Path]:
    """Write a symbol and its parameters as `save` does."""
    from graphir.converters.mxnet.files.ndarray_list import write_list
    from graphir.converters.mxnet.files.nnvm_json import to_json
    from graphir.files.writing import replacing

    symbol = Path(target)
    weights = symbol.with_name(symbol.name.removesuffix(SYMBOL_SUFFIX) + "-0000.params")
    text = to_json(records)
    with replacing(weights, symbol) as (weights_file, symbol_file):
        write_list(weights_file, params, np_shape=records.np_shape)
        symbol_file.write(text.encode())
    return [symbol, weights]


def __getattr__(name: str) -> Any:
    if name in ("read_params", "write_params", "open_params"):
        from graphir.converters.mxnet.files import params

        return getattr(params, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "SYMBOL_SUFFIX",
    "check_name",
    "from_symbol",
    "open_params",
    "read_params",
    "save",
    "to_records",
    "to_symbol",
    "write",
    "write_params",
]
