"""Cutting a graph at a value, which becomes an input: what computes it is left out."""

from __future__ import annotations

from collections.abc import Mapping

from graphir.converters.tensorflow.dtypes import DataType
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.importing.inline import Flat
from graphir.converters.tensorflow.schema.operators import output_types
from graphir.errors import FormatError, ImportFailure
from graphir.structure.names import similar_names
from graphir.types import DType, Shape

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
SHAPES = "_output_shapes"


def cut_at(flat: Flat, name: str, dtypes: Mapping[str, DType]) -> str:
    """Put a placeholder of this name in place of the value that it names (`Mul`, `split:1`), and return what was done.

    Its dtype is what `dtypes` has for the name, or the node states; its shape is known where the node states it.
    Raises ImportFailure for a value that is not there, or whose dtype nothing states. Linear in nodes.
    """
    value, placed = flat.resolve(Endpoint.of(name)), Endpoint(name)
    nodes = {node.name: node for node in flat.nodes}
    node = nodes.get(value.node)
    if node is None:
        hint = similar_names(value.node, [*(other.node for other in flat.aliases), *nodes])
        raise ImportFailure(f"the graph has no node {value.node!r} that could become an input{hint}")
    if node.op in PLACEHOLDERS and not node.inputs:
        return f"it is a {node.op} in the file"
    types = _output_types(node)
    dtype = dtypes.get(name) or (types[value.slot] if value.slot < len(types) else None)
    if not isinstance(dtype, DType):
        raise ImportFailure(
            f"nothing states the dtype of {name}, a result of {node.op}; give it, as in -i {name}:1,224,224,3:float32"
        )
    cut_name = node.name
    if cut_name == name:  # other results of the node may still be used
        node.name = next(f"{name}__cut{mark}" for mark in ("", *range(len(nodes))) if f"{name}__cut{mark}" not in nodes)

    def moved(endpoint: Endpoint) -> Endpoint:
        if endpoint == value:
            return placed
        return Endpoint(node.name, endpoint.slot) if endpoint.node == cut_name else endpoint

    for other in flat.nodes:
        other.inputs = tuple(map(moved, other.inputs))
    flat.aliases = {old: moved(new) for old, new in flat.aliases.items() if old != placed}
    if cut_name == name:
        flat.aliases |= {Endpoint(name, slot): Endpoint(node.name, slot) for slot in range(1, len(types))}
    if value != placed:
        flat.aliases[value] = placed
    flat.nodes.append(TFNode(name, "Placeholder", (), (), {"dtype": dtype, "shape": _shape(node, value.slot)}))
    return f"the graph is cut at this {node.op}: what comes before it is left out"


def _output_types(node: TFNode) -> list[DataType | None]:
    """Return the dtypes of a node's results as far as they are stated."""
    try:
        return output_types(node.op, node.attrs) or []
    except FormatError:
        return []


def _shape(node: TFNode, slot: int) -> Shape | None:
    """Return the shape that TensorFlow inferred and wrote down, or that an input with a default has; None if there is
    none."""
    stated = node.attrs.get(SHAPES)
    if isinstance(stated, tuple) and slot < len(stated):
        shape: Shape | None = stated[slot]
        return shape
    return node.attrs.get("shape") if node.op in PLACEHOLDERS else None
