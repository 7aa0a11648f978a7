"""Cases of oneDNN's fused operators, in float32 and quantized."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.equivalence.case import Case, Input, aux, case, data, param
from tests.equivalence.quantized import BYTES, WEIGHTS, signed, spans, unsigned

RELU = ("Activation", {"act_type": "relu"})
LEAKY = ("LeakyReLU", {"act_type": "leaky", "slope": "0.1"})
CLIP = ("clip", {"a_min": "0", "a_max": "6"})
TANH = ("Activation", {"act_type": "tanh"})
Kind = tuple[str, Mapping[str, str]]
ORDER = "{}_min {}_max"


class Inside:
    """A symbol inside in the making: nodes in order, the last of them its head."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, object]] = []

    def add(self, op: str, *inputs: int, **attrs: str) -> int:
        """A node, and its number."""
        name = f"inside{len(self.nodes)}"
        self.nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": [[index, 0, 0] for index in inputs]})
        return len(self.nodes) - 1

    def text(self) -> str:
        """The symbol's JSON."""
        variables = [index for index, node in enumerate(self.nodes) if node["op"] == "null"]
        return json.dumps({"nodes": self.nodes, "arg_nodes": variables, "heads": [[len(self.nodes) - 1, 0, 0]]})


def inside(
    layer: Kind, *, bias: bool = True, bn: bool = False, act: Kind | None = None, with_sum: bool = False,
    last: Kind | None = None,
) -> str:  # fmt: skip
    """The symbol of a layer and what is fused into it."""
    made = Inside()
    operands = [made.add("null") for _ in range(3 if bias else 2)]
    found = made.add(layer[0], *operands, **{**layer[1], "no_bias": str(not bias)})
    if bn:
        states = [made.add("null") for _ in range(4)]
        found = made.add("BatchNorm", found, *states, fix_gamma="False", eps="0.001")
    if act is not None:
        found = made.add(act[0], found, **act[1])
    if with_sum:
        found = made.add("elemwise_add", found, made.add("null"))
    if last is not None:
        made.add(last[0], found, **last[1])
    return made.text()


@dataclass(frozen=True)
class Fusion:
    """What is fused with a convolution, and the ranges of data, addend and result."""

    bias: bool = True
    bn: bool = False
    act: Kind | None = None
    addend: Input | None = None
    last: Kind | None = None
    span: tuple[float, float] = (0.0, 2.0)
    sums: tuple[float, float] = (-1.0, 3.0)
    calibrated: tuple[float, float] | None = None
    num_group: int = 1
    stride: str = "(1, 1)"

    def flags(self) -> dict[str, Any]:
        """The attributes of the node."""
        flags = {"with_bn": self.bn, "with_act": self.act is not None, "with_sum": self.addend is not None}
        flags["with_postsum_act"] = self.last is not None
        return {name: flag for name, flag in flags.items() if flag} | in_range(self.calibrated)


def in_range(calibrated: tuple[float, float] | None) -> dict[str, Any]:
    """The attributes of a calibrated range."""
    return {} if calibrated is None else dict(zip(("min_calib_range", "max_calib_range"), calibrated, strict=True))


def convolution(variant: str, source: Input, **options: Any) -> Case:
    """A fused convolution of 8 filters: quantized where its data are. The options are those of Fusion."""
    how, quantized, filters = Fusion(**options), source.dtype != "float32", 8
    inputs = [source, param("weight", filters, source.shape[1] // how.num_group, 3, 3)]
    if how.bias:
        inputs.append(param("bias", filters))
    if how.bn:
        inputs += [param("gamma", filters, kind="positive"), param("beta", filters), aux("moving_mean", filters)]
        inputs.append(aux("moving_var", filters, kind="positive"))
    if how.addend is not None:
        inputs.append(how.addend)
    if quantized:
        inputs += [
            *spans("data", *how.span, ORDER),
            *(spans("sum", *how.sums, ORDER) if how.addend is not None else ()),
        ]
    made = case("_sg_mkldnn_conv", variant, *inputs, **how.flags(), **({"quantized": True} if quantized else {}))
    attrs = {"kernel": "(3, 3)", "pad": "(1, 1)", "num_filter": str(filters), "stride": how.stride}
    layer = ("Convolution", attrs | {"num_group": str(how.num_group)})
    with_sum = how.addend is not None
    text = inside(layer, bias=how.bias, bn=how.bn, act=how.act, with_sum=with_sum, last=how.last)
    return replace(made, inside=text)


FLOATS = data(2, 4, 6, 6)
POSITIVE = data(2, 4, 6, 6, dtype="uint8", kind="integers:0:127")
BOTH = signed(2, 4, 6, 6)
ADDED = data(2, 8, 6, 6, name="sum")
ADDED_POSITIVE, ADDED_BOTH = unsigned(2, 8, 6, 6, name="sum"), signed(2, 8, 6, 6, name="sum")
WIDE = (-20.0, 19.0)

CONVOLUTIONS = (
    convolution("plain", FLOATS),
    convolution("bn_act", FLOATS, bias=False, bn=True, act=RELU),
    convolution("leaky_sum", FLOATS, act=LEAKY, addend=ADDED),
    convolution("bn_sum_act", FLOATS, bn=True, addend=ADDED, last=RELU, num_group=2),
    convolution("clip", FLOATS, act=CLIP, stride="(2, 1)"),
    convolution("tanh", FLOATS, act=TANH),
    convolution("int32", POSITIVE),
    convolution("int32_of_int8", BOTH, bias=False, span=(-1.0, 2.0)),
    convolution("int32_act", BOTH, act=RELU, span=(-1.0, 2.0)),
    convolution("calibrated", POSITIVE, calibrated=WIDE),
    convolution("calibrated_int8", BOTH, span=(-1.0, 2.0), calibrated=WIDE),
    convolution("calibrated_groups", POSITIVE, bias=False, calibrated=WIDE, num_group=4),
    convolution("calibrated_bn_act", POSITIVE, bias=False, bn=True, act=RELU, calibrated=(0.0, 22.0)),
    convolution("calibrated_leaky", POSITIVE, bn=True, act=LEAKY, calibrated=WIDE),
    convolution("calibrated_clip", POSITIVE, bn=True, act=CLIP, calibrated=(0.0, 4.0)),
    convolution("calibrated_clip_high", POSITIVE, bn=True, act=CLIP, calibrated=(0.0, 12.0)),
    convolution("calibrated_sum", POSITIVE, addend=ADDED_BOTH, calibrated=WIDE),
    convolution("calibrated_sum_act", POSITIVE, addend=ADDED_POSITIVE, last=RELU, sums=(0.0, 3.0),
                calibrated=(0.0, 20.0)),
    convolution("calibrated_sum_unlike", POSITIVE, addend=ADDED_BOTH, last=RELU, calibrated=(0.0, 20.0)),
    convolution("calibrated_sum_unlike_int8", POSITIVE, addend=ADDED_POSITIVE, sums=(0.0, 3.0), calibrated=WIDE),
    convolution("calibrated_act_sum", BOTH, act=RELU, addend=ADDED_BOTH, span=(-1.0, 2.0), calibrated=WIDE),
    # What quantize_v2 makes of a tensor that is 0 throughout.
    convolution("calibrated_empty_range", replace(BOTH, values=(127.0,) * 288), span=(-0.0, 0.0), calibrated=WIDE),
    convolution("calibrated_empty_range_act", replace(POSITIVE, values=(0.0,) * 288), act=RELU, span=(0.0, 0.0),
                calibrated=(0.0, 9.0)),
    # A sum of floats that is rounded: another order of its terms rounds one of many elsewise.
    replace(convolution("int32_sum", POSITIVE, addend=ADDED_BOTH), tolerance=2e-5),
)  # fmt: skip

SIGMOID, SOFTRELU = ("Activation", {"act_type": "sigmoid"}), ("Activation", {"act_type": "softrelu"})
GELU, ELU = ("LeakyReLU", {"act_type": "gelu"}), ("LeakyReLU", {"act_type": "elu", "slope": "0.5"})
SQUARE: Kind = ("square", {})
SQRT: Kind = ("sqrt", {})
EXP: Kind = ("exp", {})
ABS: Kind = ("abs", {})


@dataclass(frozen=True)
class Dense:
    """What is fused with a dense layer, and the ranges; with `rows` there is a factor a row of a float32 weight."""

    bias: bool = True
    act: Kind | None = None
    flatten: bool = True
    span: tuple[float, float] = (0.0, 2.0)
    calibrated: tuple[float, float] | None = None
    floats: bool = False
    rows: bool = False
    bias_span: float = 0.5


def dense(variant: str, source: Input, **options: Any) -> Case:
    """A fused dense layer of 7 units: quantized where its data are. The options are those of Dense."""
    how, quantized, hidden = Dense(**options), source.dtype != "float32", 7
    features = math.prod(source.shape[1:]) if how.flatten else source.shape[-1]
    is_stored = quantized and not how.rows
    weight: dict[str, str] = {"dtype": "int8", "kind": WEIGHTS} if is_stored else {}
    bias: dict[str, str] = {"dtype": "int8", "kind": BYTES} if is_stored else {}
    inputs = [source, param("weight", hidden, features, **weight)]
    if how.bias:
        inputs.append(param("bias", hidden, **bias))
    flags: dict[str, Any] = {"with_eltwise": True} if how.act is not None else {}
    if quantized:
        inputs += spans("data", *how.span)
        flags["quantized"] = True
    if quantized and not how.rows:
        inputs += [*spans("weight", -0.3, 0.2), *(spans("bias", -how.bias_span, 0.4) if how.bias else ())]
    flags |= {"channel_wise_quantize": True} if how.rows else {}
    flags |= {"enable_float_output": True} if how.floats else {}
    made = case("_sg_mkldnn_fully_connected", variant, *inputs, **flags, **in_range(how.calibrated))
    layer = ("FullyConnected", {"num_hidden": str(hidden), "flatten": str(how.flatten)})
    return replace(made, inside=inside(layer, bias=how.bias, act=how.act))


ROWS_OF_FLOATS, ROWS_OF_BYTES, SIGNED_ROWS = data(5, 12), unsigned(5, 12), signed(5, 12)
NEGATIVE_ROWS = data(5, 12, dtype="int8", kind="integers:-128:-1")
HALF_ROWS = data(5, 12, dtype="uint8", kind="integers:0:127")
MEDIUM = (-2.0, 1.9)

DENSE = (
    dense("plain", ROWS_OF_FLOATS),
    dense("relu_flattened", data(5, 3, 4), act=RELU),
    dense("last_axis", data(5, 3, 4), act=TANH, flatten=False, bias=False),
    *(dense(kind[1].get("act_type", kind[0]), ROWS_OF_FLOATS, act=kind)
      for kind in (SIGMOID, SOFTRELU, GELU, ELU, LEAKY, CLIP, SQUARE, EXP, ABS)),
    dense("int32", ROWS_OF_BYTES),
    dense("int32_of_int8", SIGNED_ROWS, bias=False, span=(-1.0, 2.0)),
    dense("int32_relu", SIGNED_ROWS, act=RELU, span=(-1.0, 2.0)),
    dense("calibrated", ROWS_OF_BYTES, calibrated=MEDIUM),
    dense("calibrated_int8", SIGNED_ROWS, span=(-1.0, 2.0), calibrated=MEDIUM),
    dense("calibrated_flattened", signed(5, 3, 4), span=(-1.0, 2.0), bias=False, calibrated=MEDIUM),
    dense("calibrated_last_axis", unsigned(5, 3, 4), calibrated=MEDIUM, flatten=False),
    dense("calibrated_empty_range", replace(SIGNED_ROWS, values=(127.0,) * 60), span=(-0.0, 0.0), calibrated=MEDIUM),
    dense("float32_out_empty_range", replace(SIGNED_ROWS, values=(127.0,) * 60), floats=True, span=(-0.0, 0.0)),
    dense("rows_empty_range", replace(SIGNED_ROWS, values=(127.0,) * 60), rows=True, span=(-0.0, 0.0),
          calibrated=(-30.0, 29.0)),
    dense("calibrated_wide_bias", ROWS_OF_BYTES, span=(0.0, 1e-7), bias_span=9.0, calibrated=MEDIUM),
    *(dense(f"calibrated_{kind[1].get('act_type', kind[0])}", ROWS_OF_BYTES, act=kind, calibrated=MEDIUM)
      for kind in (RELU, SIGMOID, TANH, SOFTRELU, GELU, ELU, LEAKY, CLIP, SQUARE, EXP, ABS)),
    dense("calibrated_sqrt", ROWS_OF_BYTES, act=SQRT, calibrated=(0.0, 1.5)),
    dense("float32_out", ROWS_OF_BYTES, floats=True),
    dense("float32_out_tanh", SIGNED_ROWS, act=TANH, floats=True, span=(-1.0, 2.0)),
    dense("rows", HALF_ROWS, rows=True, calibrated=(-30.0, 29.0)),
    dense("rows_relu", NEGATIVE_ROWS, rows=True, act=RELU, span=(-1.0, 2.0), calibrated=(0.0, 25.0)),
    dense("rows_float32_out", data(5, 3, 4, dtype="uint8", kind="integers:0:127"), rows=True, floats=True, bias=False),
)  # fmt: skip

JOINED, ATTENTION = data(5, 2, 24, name="qkv"), data(4, 5, 5, name="attention", kind="positive")
JOINED_BYTES = data(5, 2, 24, name="qkv", dtype="int8", kind=WEIGHTS)
ATTENTION_BYTES = unsigned(4, 5, 5, name="attention")
JOINED_SPAN, ATTENTION_SPAN = spans("qkv", -2.0, 1.5), spans("attention", 0.0, 1.0)


def attention(op: str, variant: str, *inputs: Input, **flags: Any) -> Case:
    """A fused part of an attention with two heads: quantized where its first operand is."""
    made = Inside()
    operands = [made.add("null") for source in inputs if source.role == "data"]
    made.add(f"_contrib_interleaved_matmul_{op}", *operands, heads="2")
    flags |= {"quantized": True} if inputs[0].dtype == "int8" else {}
    return replace(case(f"_sg_mkldnn_{op}", variant, *inputs, heads=2, **flags), inside=made.text())


OPERANDS = (JOINED_BYTES, ATTENTION_BYTES, *JOINED_SPAN, *ATTENTION_SPAN)
ATTENTIONS = (
    attention("selfatt_qk", "float32", JOINED),
    attention("selfatt_qk", "calibrated", JOINED_BYTES, *JOINED_SPAN, min_calib_range=-5.0, max_calib_range=4.0),
    attention("selfatt_qk", "float32_out", JOINED_BYTES, *JOINED_SPAN, enable_float_output=True),
    attention("selfatt_valatt", "float32", JOINED, ATTENTION),
    attention("selfatt_valatt", "int32", *OPERANDS),
    attention("selfatt_valatt", "calibrated", *OPERANDS, min_calib_range=-5.0, max_calib_range=4.0),
    attention("selfatt_valatt", "float32_out", *OPERANDS, enable_float_output=True),
)

CASES: tuple[Case, ...] = tuple(
    replace(row, onednn=True, halved_weights="conv" in row.op and row.inputs[0].dtype == "int8")
    for row in (*CONVOLUTIONS, *DENSE, *ATTENTIONS)
)

REFUSED: tuple[Case, ...] = ()
