"""Operators that onnxruntime's optimiser writes, as the operators of ONNX that it made them of."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

DOMAIN = "com.microsoft"
BASES = {"FusedConv": "Conv", "FusedGemm": "Gemm"}
# The attributes of each activation, in the order in which FusedConv lists them as `activation_params`.
ACTIVATIONS = {
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign"), ()), "LeakyRelu": ("alpha",),
    "Elu": ("alpha",), "ThresholdedRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma"),
    "Clip": ("min", "max"),
}  # fmt: skip
OPSETS = {"Clip": 6}
"""The opset by which a part is read, where the model's has operands for what an activation states as attributes."""


def unfused(proto: Any, fresh: Callable[[str], str]) -> list[Any]:
    """Return the nodes of ONNX that a convolution or a Gemm with an activation stands for, as ContribOperators.md of
    onnxruntime has it: the sum with a fourth operand comes before the activation. The list is empty for any other node,
    and for one that does not state every attribute of its activation.

    Intermediate values, and the nodes that compute them, are named by `fresh`.
    """
    if proto.domain != DOMAIN or proto.op_type not in BASES or len(proto.output) != 1:
        return []
    stated = {attribute.name: attribute for attribute in proto.attribute}
    kind = stated["activation"].s.decode("ascii", "replace") if "activation" in stated else ""
    if kind not in ACTIVATIONS:
        return []
    listed = list(stated["activation_params"].floats) if "activation_params" in stated else []
    listed = listed or [stated[name].f for part in ACTIVATIONS[kind] if (name := f"activation_{part}") in stated]
    if len(listed) < len(ACTIVATIONS[kind]):
        return []
    base, result = BASES[proto.op_type], proto.output[0]
    nodes = [type(proto)(op_type=base, input=proto.input[:3])]
    nodes[0].attribute.extend(stated[name] for name in stated if not name.startswith("activation"))
    nodes += [type(proto)(op_type="Add", input=["", proto.input[3]])] if any(proto.input[3:]) else []
    nodes += [type(proto)(op_type=kind, name=proto.name, output=[result])]
    for name, number in zip(ACTIVATIONS[kind], listed, strict=False):
        nodes[-1].attribute.add(name=name, f=number, type=1)
    for node, following in pairwise(nodes):
        node.name = fresh(f"{proto.name or result}_{node.op_type}")
        node.output.append(fresh(f"{result}_{node.op_type}"))
        following.input[:] = [node.output[0], *following.input[1:]]
    return nodes
