"""What each operator that writes a variable makes of its value: nodes without effects, in terms of TensorFlow's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphir.converters.tensorflow.files.records import FunctionNode
from graphir.converters.tensorflow.schema.operators import operator_schema
from graphir.tensor import Tensor
from graphir.types import DType

# How operators call the variable that they write, which is their first input.
VARIABLE_ARGUMENTS = frozenset({"ref", "var", "resource"})
# Operators with such an input that only read it.
READS = frozenset({
    "DisableCopyOnRead", "IsVariableInitialized", "ReadVariableOp", "ResourceGather", "ResourceGatherNd",
    "VarIsInitializedOp", "VariableShape",
})  # fmt: skip


@dataclass(frozen=True)
class Write:
    """A node that writes a variable: the text of the value before, its dtype, and what makes names unique."""

    node: FunctionNode
    before: str
    dtype: DType
    unique: Callable[[str], str]

    def result(self, op: str, *inputs: str, **attrs: Any) -> FunctionNode:
        """Return the node that gives the new value, under the name of the one that wrote it."""
        return FunctionNode(self.node.name, op, inputs, {"T": self.dtype} | attrs)

    def step(self, op: str, *inputs: str, **attrs: Any) -> FunctionNode:
        """Return a node before the last one."""
        return FunctionNode(self.unique(f"{self.node.name}/{op}"), op, inputs, attrs)

    def constant(self, number: int | list[int]) -> FunctionNode:
        """Return a constant of int32."""
        return self.step("Const", dtype=DType.INT32, value=Tensor.of(np.array(number, np.int32)))


WriteFunction = Callable[[Write], list[FunctionNode]]


def _assign(write: Write) -> list[FunctionNode]:
    return [write.result("Identity", write.node.inputs[1])]


def _combine(op: str) -> WriteFunction:
    return lambda write: [write.result(op, write.before, write.node.inputs[1])]


def _scatter_vectors(op: str) -> WriteFunction:
    """Updates at vectors of indices."""

    def scatter(write: Write) -> list[FunctionNode]:
        _, indices, updates = write.node.inputs
        return [write.result(op, write.before, indices, updates, Tindices=write.node.attrs["Tindices"])]

    return scatter


def _scatter_rows(op: str) -> WriteFunction:
    """Updates at numbers of rows."""

    def scatter(write: Write) -> list[FunctionNode]:
        _, rows, updates = write.node.inputs
        dtype = write.node.attrs["Tindices"]
        axis = write.constant(-1)
        vectors = write.step("ExpandDims", rows, f"{axis.name}:0", T=dtype, Tdim=DType.INT32)
        return [axis, vectors, write.result(op, write.before, f"{vectors.name}:0", updates, Tindices=dtype)]

    return scatter


def _assign_slice(write: Write) -> list[FunctionNode]:
    """Return the nodes that write a slice: the slice of the elements' own numbers says where the value's elements
    go."""
    _, begin, end, strides, value = write.node.inputs
    masks = {key: number for key, number in write.node.attrs.items() if key.endswith("_mask")}
    nodes: list[FunctionNode] = []

    def add(node: FunctionNode) -> str:
        nodes.append(node)
        return f"{node.name}:0"

    def reshape(text: str, dtype: DType, shape: str) -> str:
        return add(write.step("Reshape", text, shape, T=dtype, Tshape=DType.INT32))

    zero, unit, flat, last = (add(write.constant(number)) for number in (0, 1, [-1], -1))
    shape = add(write.step("Shape", write.before, T=write.dtype, out_type=DType.INT32))
    size = add(write.step("Size", write.before, T=write.dtype, out_type=DType.INT32))
    numbers = reshape(add(write.step("Range", zero, size, unit, Tidx=DType.INT32)), DType.INT32, shape)
    index = write.node.attrs["Index"]
    cut = add(write.step("StridedSlice", numbers, begin, end, strides, T=DType.INT32, Index=index, **masks))
    indices = reshape(cut, DType.INT32, flat)
    vectors = add(write.step("ExpandDims", indices, last, T=DType.INT32, Tdim=DType.INT32))
    elements, given = reshape(write.before, write.dtype, flat), reshape(value, write.dtype, flat)
    operands = (elements, vectors, given)
    written = add(write.step("TensorScatterUpdate", *operands, T=write.dtype, Tindices=DType.INT32))
    return [*nodes, write.result("Reshape", written, shape, Tshape=DType.INT32)]


_SCATTERED = {
    name: f"TensorScatter{name}" for name in ("Add", "Max", "Min", "Sub", "Update")
}  # fmt: skip
WRITES: Mapping[str, WriteFunction] = {
    "Assign": _assign,
    "AssignAdd": _combine("AddV2"),
    "AssignAddVariableOp": _combine("AddV2"),
    "AssignSub": _combine("Sub"),
    "AssignSubVariableOp": _combine("Sub"),
    "AssignVariableOp": _assign,
    "ResourceStridedSliceAssign": _assign_slice,
    "StridedSliceAssign": _assign_slice,
    **{f"{kind}Scatter{name}": _scatter_rows(op) for name, op in _SCATTERED.items() for kind in ("", "Resource")},
    **{f"{kind}ScatterNd{name}": _scatter_vectors(op) for name, op in _SCATTERED.items() for kind in ("", "Resource")},
}


def read_value(read: Write) -> list[FunctionNode]:
    """Return the nodes for one that reads a variable as its first input, whose value is `before`."""
    node, attrs = read.node, read.node.attrs
    match node.op:
        case "DisableCopyOnRead":
            return []
        case "ReadVariableOp" | "Identity" | "RefIdentity":
            return [read.result("Identity", read.before)]
        case "VariableShape":
            return [read.result("Shape", read.before, out_type=attrs.get("out_type", DType.INT32))]
        case "VarIsInitializedOp" | "IsVariableInitialized":
            return [FunctionNode(node.name, "Const", (), {"dtype": DType.BOOL, "value": Tensor.of(np.array(True))})]
        case "ResourceGather" | "ResourceGatherNd":
            types = {"Tparams": read.dtype, "Tindices": attrs["Tindices"]}
            if node.op == "ResourceGatherNd":
                return [FunctionNode(node.name, "GatherNd", (read.before, node.inputs[1]), types)]
            batch = attrs.get("batch_dims", 0)
            axis = read.constant(batch)
            types |= {"Taxis": DType.INT32, "batch_dims": batch}
            operands = (read.before, node.inputs[1], f"{axis.name}:0")
            return [axis, FunctionNode(node.name, "GatherV2", operands, types)]
    return [node]


def is_write(op: str) -> bool:
    """Return whether an operator writes the variable that is its first input, known here or not."""
    if op in WRITES:
        return True
    schema = operator_schema(op)
    first = schema.inputs[0] if schema is not None and schema.inputs else None
    return first is not None and first.name in VARIABLE_ARGUMENTS and op not in READS
