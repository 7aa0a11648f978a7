"""The type of every value of a symbol, those among them that only training uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphir.analysis.memory.program import Held, Kind
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.symbol_types import infer_symbol
from graphir.converters.mxnet.schema.operators import node_signature, typed_attributes
from graphir.errors import ShapeError
from graphir.safety.foreign_text import one_line
from graphir.types import DType, TensorType

Sizes = tuple[int, ...]
Typed = tuple[Sizes, DType]
_SHOWN = 5


def entry_types(
    graph: NNVMGraph, shapes: Mapping[str, Sequence[int | None]], dtypes: Mapping[str, object] | None = None
) -> list[list[Typed]]:
    """The shape and dtype of every output of every node, hidden ones included.

    The graph's nodes are in an order in which inputs come first, and all of them are needed. Raises ShapeError, naming
    values whose size does not follow from what is given.
    """
    visible = [1 if node.op == VARIABLE else node_signature(node).visible for node in graph.nodes]
    heads = [(index, slot) for index, count in enumerate(visible) for slot in range(count)]
    found = infer_symbol(NNVMGraph(graph.nodes, heads, graph.version, graph.np_shape), shapes, dtypes)
    types: list[list[Typed]] = [[] for _ in graph.nodes]
    unknown: list[str] = []
    for (index, _), type_ in zip(heads, found.outputs, strict=True):
        sizes = known_sizes(type_)
        if sizes is None:
            unknown.append(graph.nodes[index].name)
        else:
            types[index].append((sizes, type_.dtype or DType.FLOAT32))
    if unknown:
        inputs = [name for name in unknown if any(node.op == VARIABLE and node.name == name for node in graph.nodes)]
        shown = ", ".join(map(one_line, (inputs or unknown)[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise ShapeError(
            f"memory needs every size in numbers, but {len(unknown)} values have sizes that do not follow from what is "
            f"given, among them {shown}; give the shapes of the inputs, such as -i data:32,3,224,224"
        )
    for index, node in enumerate(graph.nodes):
        if node.op != VARIABLE:
            data = types[node.inputs[0][0]][node.inputs[0][1]] if node.inputs else types[index][0]
            names = node_signature(node).outputs
            types[index] += [_hidden(node, name, types[index][0], data) for name in names[visible[index] :]]
    return types


def known_sizes(type_: TensorType) -> Sizes | None:
    """The sizes of a shape of which all are numbers."""
    if type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return None
    return tuple(dim for dim in type_.shape if isinstance(dim, int))


def _hidden(node: NNVMNode, name: str, result: Typed, data: Typed) -> Typed:
    """A result that only training reads: statistics of a normalization, a mask, a workspace."""
    sizes, dtype = result
    if name == "workspace":
        return sizes, DType.INT32
    if name not in ("mean", "var", "std"):
        return result
    rank = len(data[0])
    if node.op in ("LayerNorm", "GroupNorm", "InstanceNorm"):
        attributes = typed_attributes(node)
        if node.op == "LayerNorm":
            axis = attributes["axis"]
            axis = axis % rank if isinstance(axis, int) and rank else 0
            return (*data[0][:axis], 1, *data[0][axis + 1 :]), dtype
        groups = attributes.get("num_groups")
        return (data[0][0], groups if isinstance(groups, int) else data[0][1]), dtype
    axis = typed_attributes(node).get("axis", 1)
    axis = axis % rank if isinstance(axis, int) and rank > 1 else 0
    statistics = DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    return data[0][axis : axis + 1], statistics


def held(name: str, typed: Typed, kind: Kind, producer: int = -1) -> Held:
    """A tensor of the plan."""
    sizes, dtype = typed
    elements = 1
    for size in sizes:
        elements *= size
    return Held(name, elements, dtype.bits, kind, producer, sizes, dtype.value)


__all__ = ["Typed", "entry_types", "held", "known_sizes"]
