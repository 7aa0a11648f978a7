"""TensorFlow 1's TensorArrays as lists of tensors: the flow, which every operator passes on, becomes the list.

The handle, which only says which array is meant, is not needed then: loops take the flow in and give it out as they do
with any value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.errors import ImportFailure
from graphir.tensor import Tensor
from graphir.types import Shape, Unknown

ARRAYS = frozenset({"TensorArrayV3", "TensorArrayV2"})
# Operator: the list operator, which inputs it takes (`shape` stands for a constant), and the attribute with the dtype.
_ROWS: dict[str, tuple[str, tuple[int | str, ...], str]] = {
    "TensorArrayRead": ("TensorListGetItem", (2, 1, "shape"), "dtype"),
    "TensorArrayWrite": ("TensorListSetItem", (3, 1, 2), "T"),
    "TensorArrayGather": ("TensorListGather", (2, 1, "shape"), "dtype"),
    "TensorArrayScatter": ("TensorListScatterIntoExistingList", (3, 2, 1), "T"),
    "TensorArraySize": ("TensorListLength", (1,), ""),
    "TensorArrayConcat": ("TensorListConcat", (1,), "dtype"),
}
OPERATORS = {f"{name}{version}": row for name, row in _ROWS.items() for version in ("V2", "V3")}


def lower_tensor_arrays(nodes: Iterable[TFNode]) -> list[TFNode]:
    """Return the nodes with list operators in place of those on TensorArrays; unchanged if there are none."""
    listed = list(nodes)
    if not any(node.op in ARRAYS for node in listed):
        return listed
    new_nodes: list[TFNode] = []
    flows = {Endpoint(node.name, 1): Endpoint(node.name) for node in listed if node.op in ARRAYS}
    for node in listed:
        if node.op in ARRAYS:
            shape = _make_shape_node(node, node.attrs.get("element_shape"))
            attrs = {"element_dtype": node.attrs.get("dtype"), "shape_type": "int32"}
            inputs = (Endpoint(shape.name), *node.inputs)
            new_nodes += [shape, TFNode(node.name, "TensorListReserve", inputs, (), attrs)]
        elif node.op in OPERATORS:
            new_nodes += _lower(node)
        else:
            new_nodes.append(node)
    return [
        replace(node, inputs=tuple(flows.get(endpoint, endpoint) for endpoint in node.inputs)) for node in new_nodes
    ]


def _lower(node: TFNode) -> list[TFNode]:
    op, slots, dtype = OPERATORS[node.op]
    if len(node.inputs) <= max(slot for slot in slots if isinstance(slot, int)):
        raise ImportFailure(f"node {node.name} ({node.op}) has {len(node.inputs)} inputs, which are too few")
    attrs: dict[str, Any] = {} if not dtype else {"element_dtype": node.attrs.get(dtype)}
    if op == "TensorListSetItem":
        attrs["may_grow"] = True  # whether the array's size is dynamic is not stated here
    shapes: list[TFNode] = []
    inputs: list[Endpoint] = []
    for slot in slots:
        if isinstance(slot, int):
            inputs.append(node.inputs[slot])
        else:
            shapes.append(_make_shape_node(node, node.attrs.get("element_shape")))
            inputs.append(Endpoint(shapes[-1].name))
    return [*shapes, TFNode(node.name, op, tuple(inputs), node.controls, attrs)]


def _make_shape_node(node: TFNode, shape: Shape | None) -> TFNode:
    """Return a constant that says the elements' shape: -1 for unknown sizes, and alone for an unknown rank."""
    sizes = -1 if shape is None else [-1 if isinstance(dim, Unknown) else dim for dim in shape]
    value = Tensor.of(np.array(sizes, np.int32))
    return TFNode(f"{node.name}/element_shape", "Const", (), (), {"value": value, "dtype": value.dtype})
