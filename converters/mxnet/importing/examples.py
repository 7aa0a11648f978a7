"""What could be given for the shape of a variable of a symbol, whose nodes may not be imported yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphir.analysis.examples import LENGTH, Reader, example_sizes, picture, rows
from graphir.converters.mxnet.files.records import NNVMGraph, NNVMNode
from graphir.graph import Value
from graphir.tensor import Tensor


def shape_hint(symbol: NNVMGraph, inputs: Sequence[Value], tensors: Mapping[str, Tensor] | None) -> str:
    """Return the end of an error that shapes of inputs are missing: the first without one, with an example."""
    wanted = next((value for value in inputs if value.shape is None), inputs[0] if inputs else None)
    if wanted is None:
        return ""
    return f"; give its shape, as in -i {wanted.name}:{example_shape(symbol, wanted.name, tensors)}"


def example_shape(symbol: NNVMGraph, name: str, tensors: Mapping[str, Tensor] | None) -> str:
    """Return sizes with commas between for the variable of this name."""
    nodes = symbol.nodes
    readers: dict[int, list[tuple[int, int]]] = {}
    for index, node in enumerate(nodes):
        for slot, (source, _) in enumerate(node.inputs):
            readers.setdefault(source, []).append((index, slot))

    def readers_of(source: int) -> Iterator[Reader[int]]:
        for index, slot in readers.get(source, ()):
            node = nodes[index]
            weight = nodes[node.inputs[1][0]].name if len(node.inputs) > 1 else ""
            tensor = (tensors or {}).get(weight)
            yield (None if slot else _wanted(node, None if tensor is None else tensor.shape)), [index]

    start = next((index for index, node in enumerate(nodes) if node.name == name and not node.inputs), None)
    return "1" if start is None else example_sizes(start, readers_of)


def _wanted(node: NNVMNode, weight: Sequence[int] | None) -> Sequence[int] | None:
    kernel = node.attrs.get("kernel", "").strip("()[], ")
    if kernel:
        groups = node.attrs.get("num_group", "1")
        channels = weight[1] * int(groups) if weight and len(weight) > 1 and groups.isdecimal() else None
        return picture(len(kernel.split(",")), channels)
    if "FullyConnected" in node.op:
        return rows(weight[1] if weight and len(weight) == 2 else None)
    if node.op == "Embedding":
        return 1, LENGTH
    if node.op == "RNN":
        return (LENGTH, *rows())
    return None
