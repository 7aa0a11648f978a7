"""The type of every value of a symbol, those among them that only training uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from graphir.analysis.memory.inference import example_of
from graphir.analysis.memory.program import Held, TensorKind
from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph, NNVMNode
from graphir.converters.mxnet.importing.symbol_types import infer_symbol
from graphir.converters.mxnet.memory.gradients import has_workspace
from graphir.converters.mxnet.schema.operators import node_signature, typed_attributes
from graphir.errors import ShapeError
from graphir.safety.foreign_text import one_line
from graphir.types import DType, TensorType

Sizes = tuple[int, ...]
Typed = tuple[Sizes, DType]
_SHOWN = 5
_BY_WEIGHT = frozenset(("Convolution", "Deconvolution", "FullyConnected"))
_PRODUCTS = frozenset(("dot", "batch_dot", "linalg_gemm", "linalg_gemm2"))
_ONE_TOLD = frozenset((VARIABLE, "LeakyReLU"))  # the mask of rrelu is visible, but means nothing at inference


def entry_types(
    graph: NNVMGraph, shapes: Mapping[str, Sequence[int | None]], dtypes: Mapping[str, object] | None = None
) -> list[list[Typed]]:
    """Return the shape and dtype of every output of every node, hidden ones included.

    The graph's nodes are in an order in which inputs come first, and all of them are needed. Raises ShapeError, naming
    values whose size does not follow from what is given.
    """
    visible = [1 if node.op in _ONE_TOLD else node_signature(node).visible for node in graph.nodes]
    heads = [(index, slot) for index, count in enumerate(visible) for slot in range(count)]
    result = infer_symbol(NNVMGraph(graph.nodes, heads, graph.version, graph.np_shape), shapes, dtypes)
    types: list[list[Typed]] = [[] for _ in graph.nodes]
    unknown: dict[str, TensorType] = {}
    for (index, _), type_ in zip(heads, result.outputs, strict=True):
        sizes = known_sizes(type_)
        if sizes is None:
            unknown[graph.nodes[index].name] = type_
        else:
            types[index].append((sizes, type_.dtype or DType.FLOAT32))
    if unknown:
        inputs = [node.name for node in graph.nodes if node.op == VARIABLE and node.name in unknown]
        names = inputs or list(unknown)
        shown = ", ".join(map(one_line, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
        example = example_of(names[0], unknown[names[0]].shape)
        raise ShapeError(
            f"memory needs every size in numbers, but {len(unknown)} values have sizes that do not follow from what is "
            f"given, among them {shown}; give the shapes of the inputs, such as -i {one_line(example)}"
        )
    for index, node in enumerate(graph.nodes):
        if node.op != VARIABLE:
            data = types[node.inputs[0][0]][node.inputs[0][1]] if node.inputs else types[index][0]
            hidden = node_signature(node).outputs[visible[index] :] if _has_hidden(node) else ()
            types[index] += [_hidden(node, name, types[index][0], data) for name in hidden]
    return types


def known_sizes(type_: TensorType) -> Sizes | None:
    """Return the sizes of a shape of which all are numbers."""
    if type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return None
    return tuple(dim for dim in type_.shape if isinstance(dim, int))


def _has_hidden(node: NNVMNode) -> bool:
    return node.op != "Pooling" or has_workspace(typed_attributes(node))


def _hidden(node: NNVMNode, name: str, result: Typed, data: Typed) -> Typed:
    """Return a result that only training reads: statistics of a normalization, a mask, a workspace."""
    sizes, dtype = result
    shape = data[0]
    rank = len(shape)
    if name == "workspace":
        return sizes, DType.INT32
    attributes = typed_attributes(node)
    if node.op == "LayerNorm":
        axis = _axis(attributes["axis"], rank)
        return (*shape[:axis], 1, *shape[axis + 1 :]), dtype
    if node.op == "GroupNorm":
        groups = attributes["num_groups"]
        return (shape[0], groups if isinstance(groups, int) else shape[1]), dtype
    if node.op == "InstanceNorm":
        return shape[:2], dtype
    if node.op == "L2Normalization":
        mode = attributes["mode"]
        return shape[:1] if mode == "instance" else shape[:2] if mode == "spatial" else (shape[0], *shape[2:]), dtype
    if node.op == "GridGenerator" and attributes["transform_type"] == "affine":
        return (3, *sizes[2:]), dtype
    if node.op == "GridGenerator":
        return (2, *sizes[2:]), dtype
    if node.op == "_linalg_det":
        return (shape[:-1], DType.INT32) if name.endswith("2") else (shape, dtype)
    if name not in ("mean", "var"):
        return result
    axis = _axis(attributes.get("axis", 1), rank) if rank > 1 else 0
    statistics = DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype
    return shape[axis : axis + 1], statistics


def _axis(axis: object, rank: int) -> int:
    return axis % rank if isinstance(axis, int) and rank else 0


def stored_tensor(name: str, typed: Typed, kind: TensorKind, producer: int = -1) -> Held:
    """Return a tensor of the plan."""
    sizes, dtype = typed
    elements = 1
    for size in sizes:
        elements *= size
    return Held(name, elements, dtype.bits, kind, producer, sizes, dtype.value)


def work_of(node: NNVMNode, results: Sequence[Typed], operands: Sequence[Typed]) -> int:
    """Multiply-accumulates of convolutions and products, and one for each element that a node makes.

    Of a Convolution they are results times the weights of one filter, of a Deconvolution elements of the data times the
    weights of one input channel. A variable costs nothing.
    """
    if node.op == VARIABLE:
        return 0
    elements = sum(prod(sizes) for sizes, _ in results)
    if node.op in _BY_WEIGHT and len(operands) > 1:
        moved = operands[0] if node.op == "Deconvolution" else results[0]
        return elements + prod(moved[0]) * prod(operands[1][0][1:])
    if node.op in _PRODUCTS and operands:
        return elements + prod(results[0][0]) * (operands[0][0] or (1,))[-1]
    return elements
