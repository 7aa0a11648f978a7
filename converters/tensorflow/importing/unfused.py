"""Operators that TensorFlow's graph optimizer made of several, taken apart again.

`_FusedConv2D` and its like apply an operator and then, one after the other, those in `fused_ops`, whose operands are
the inputs behind the operator's own. `_FusedBatchNormEx` adds a side input and activates. Source: TensorFlow's
core/grappler/optimizers/remapper and core/kernels/fused_eigen_output_kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphir.converters.kernel.attributes import Attributes
from graphir.converters.tensorflow.files.records import Endpoint, TFNode
from graphir.converters.tensorflow.schema.conformity import check_nodes
from graphir.converters.tensorflow.schema.operators import attributes_of, operator_schema
from graphir.types import DType

# The operator at the front.
FUSED = {
    "_FusedConv2D": "Conv2D",
    "_FusedConv3D": "Conv3D",
    "_FusedDepthwiseConv2dNative": "DepthwiseConv2dNative",
    "_FusedMatMul": "MatMul",
}
NORM = "_FusedBatchNormEx"
# How many operands what follows has besides the result so far, and what it is called by itself.
FOLLOWING = {"BiasAdd": (1, "BiasAdd"), "Add": (1, "AddV2"), "FusedBatchNorm": (4, "FusedBatchNormV3")} | {
    name: (0, name) for name in ("Relu", "Relu6", "Elu", "LeakyRelu", "Selu", "Sigmoid", "Tanh")
}
OWN = ("T", "strides", "padding", "explicit_paddings", "dilations", "transpose_a", "transpose_b", "data_format")


def unfuse(nodes: Iterable[TFNode]) -> list[TFNode]:
    """Return the nodes, each fused one as what it stands for; one with a part that is not known stays as it is.

    Raises FormatError for one whose parts do not fit their operators.
    """
    new_nodes: list[TFNode] = []
    for node in nodes:
        parts = _split(node)
        check_nodes((part.name, part.op, part.attrs, len(part.inputs)) for part in parts)
        new_nodes += parts or [node]
    return new_nodes


def _split(node: TFNode) -> list[TFNode]:
    if node.op == NORM:
        return _split_norm(node)
    attrs = attributes_of(node.attrs, operator_schema(node.op), node.name)
    names = attrs.get("fused_ops") or ()
    if node.op not in FUSED or not all(name in FOLLOWING for name in names):
        return []
    common_attrs = {key: attrs.get(key) for key in OWN if attrs.get(key) is not None}
    steps = [(FUSED[node.op], node.inputs[:2], common_attrs)]
    slot = 2
    for name in names:
        count, op = FOLLOWING[name]
        steps.append((op, node.inputs[slot : slot + count], _attributes_of(name, attrs)))
        slot += count
    return _chain_nodes(node, steps)


def _attributes_of(name: str, attrs: Attributes) -> dict[str, Any]:
    values: dict[str, Any] = {"T": attrs.get("T")}
    if name in ("BiasAdd", "FusedBatchNorm"):
        values["data_format"] = "NCHW" if str(attrs.get("data_format", "")).startswith("NC") else "NHWC"
    if name == "FusedBatchNorm":
        values |= {"U": DType.FLOAT32, "epsilon": attrs.get("epsilon"), "is_training": False}
    if name == "LeakyRelu":
        values["alpha"] = attrs.get("leakyrelu_alpha")
    return values


def _split_norm(node: TFNode) -> list[TFNode]:
    attrs = attributes_of(node.attrs, operator_schema(node.op), node.name)
    mode = attrs.get("activation_mode")
    if mode not in ("Identity", "Relu") or len(node.inputs) not in (5, 6):
        return []
    norm_attrs = {key: attrs.get(key) for key in ("T", "U", "epsilon", "is_training", "data_format")}
    steps: list[tuple[str, Sequence[Endpoint], dict[str, Any]]] = [("FusedBatchNormV3", node.inputs[:5], norm_attrs)]
    if len(node.inputs) == 6:
        steps.append(("AddV2", node.inputs[5:], {"T": attrs.get("T")}))
    return _chain_nodes(node, [*steps, (mode, (), {"T": attrs.get("T")})])


def _chain_nodes(node: TFNode, steps: Sequence[tuple[str, Sequence[Endpoint], dict[str, Any]]]) -> list[TFNode]:
    """Return nodes in a row, each taking the one before for its first input; the last has the fused one's name."""
    parts: list[TFNode] = []
    for number, (op, operands, attrs) in enumerate(steps):
        name = node.name if number == len(steps) - 1 else f"{node.name}__{op}"
        before = (Endpoint(parts[-1].name),) if parts else ()
        parts.append(TFNode(name, op, (*before, *operands), node.controls if not parts else (), attrs, node.device))
    return parts
