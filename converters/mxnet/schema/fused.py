"""Names of the inputs and outputs of oneDNN's fused operators, and of quantized ones that follow from attributes.

What is fused stands in a symbol inside the node; whether its layer has a bias shows in the number of operands.
Checked against live MXNet's `list_arguments` and `list_outputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Attributes = Mapping[str, object]
# The names of all inputs, and those of them that are auxiliary states, from the attributes and the number of operands.
Counted = Callable[[Attributes, int], tuple[tuple[str, ...], tuple[str, ...]]]
Outputs = Callable[[Attributes], tuple[tuple[str, ...], int]]

STATES = ("gamma", "beta", "mean", "var")
ENDS = ("min", "max")


def _fused_convolution(attributes: Attributes, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    normalized = STATES if attributes.get("with_bn") else ()
    addend = ("sum",) if attributes.get("with_sum") else ()
    ranged = ("data", *addend) if attributes.get("quantized") else ()
    ranges = tuple(f"{name}_{end}" for name in ranged for end in ENDS)
    others = (*normalized, *addend, *ranges)
    bias = ("bias",) if count > 2 + len(others) else ()
    return ("data", "weight", *bias, *others), STATES[2:] if normalized else ()


def _fused_fully_connected(attributes: Attributes, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    layer = ("data", "weight", "bias")
    if not attributes.get("quantized"):
        return layer if count > 2 else layer[:2], ()
    if attributes.get("channel_wise_quantize"):
        operands = layer if count > 4 else layer[:2]
        return (*operands, "min_data", "max_data"), ()
    operands = layer if count > 6 else layer[:2]
    return (*operands, *(f"{end}_{name}" for name in operands for end in ENDS)), ()


def _with_ends(names: tuple[str, ...], *ends: str) -> Counted:
    """Return the operands, with the ends of their ranges where they are quantized."""
    return lambda attributes, count: ((*names, *(ends if attributes.get("quantized") else ())), ())


def _with_range(ends: tuple[str, str], always: bool = False) -> Outputs:
    def outputs(attributes: Attributes) -> tuple[tuple[str, ...], int]:
        ranged = (always or bool(attributes.get("quantized"))) and not attributes.get("enable_float_output")
        names = ("output", *ends) if ranged else ("output",)
        return names, len(names)

    return outputs


COUNTED: Mapping[str, Counted] = {
    "_sg_mkldnn_conv": _fused_convolution,
    "_sg_mkldnn_fully_connected": _fused_fully_connected,
    "_sg_mkldnn_selfatt_qk": _with_ends(("queries_keys_values",), "min_qkv", "max_qkv"),
    "_sg_mkldnn_selfatt_valatt": _with_ends(
        ("queries_keys_values", "attention"), "min_qkv", "max_qkv", "min_attention", "max_attention"
    ),
    "_sg_onednn_batch_dot": _with_ends(("lhs", "rhs"), "lhs_min", "lhs_max", "rhs_min", "rhs_max"),
}
FUSED_OUTPUTS: Mapping[str, Outputs] = {
    "_contrib_quantized_elemwise_mul": _with_range(("min_output", "max_output"), always=True),
    "_sg_mkldnn_conv": _with_range(("output_min", "output_max")),
    "_sg_mkldnn_fully_connected": _with_range(("min_output", "max_output")),
    "_sg_mkldnn_selfatt_qk": _with_range(("min_output", "max_output")),
    "_sg_mkldnn_selfatt_valatt": _with_range(("min_output", "max_output")),
    "_sg_onednn_batch_dot": _with_range(("min_output", "max_output")),
}
