"""Several nodes together: layouts that meet, shapes that are computed, functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.tensorflow import dilated
from tests.tensorflow.case import Case, Input, Network, data, ints, param
from tests.tensorflow.graphdef import node


def network(title: str, *nodes: dict[str, Any], inputs: tuple[Input, ...], **more: Any) -> Network:
    """Nodes on inputs; the last is called y."""
    return Network(title, inputs, {}, nodes=nodes, **more)


def _conv(name: str, source: str, weight: str) -> dict[str, Any]:
    """A convolution that keeps sizes."""
    return node("Conv2D", name, [source, weight], T="float32", strides=(1, 1, 1, 1), padding="SAME")


def fused(op: str, *parts: str, operands: tuple[str, ...] = (), **attrs: Any) -> Network:
    """An operator with what TensorFlow's optimizer fused into it; `operands` are those of the parts."""
    attrs = {"fused_ops": parts, "num_args": len(operands), "T": "float32"} | attrs
    if op == "_FusedConv2D":
        attrs["TArgs"] = ["float32"] * len(operands)
    inner = ("flat", "m") if op == "_FusedMatMul" else ("x", "w")
    if op != "_FusedMatMul":
        attrs |= {"strides": (1, 2, 1, 1), "padding": "SAME"}
    return network(
        f"{op}-{'-'.join(parts)}", node("Reshape", "flat", ["x", "sizes"], T="float32"),
        node(op, "f", [*inner, *operands], **attrs), node("Neg", "y", ["f"], T="float32"),
        inputs=(data(1, 5, 6, 4, name="x"), param("w", 3, 3, 4, 4), param("m", 4, 4), ints(-1, 4, name="sizes"),
                *(replace(param(name, 4), kind="positive") for name in ("scale", "offset", "mean", "variance"))),
    )  # fmt: skip


GELU = ("BiasAdd", "GeluExact")
NORM = ("scale", "offset", "mean", "variance")
FUSED = (
    fused("_FusedConv2D", "BiasAdd", operands=("offset",)),
    *(fused("_FusedConv2D", "BiasAdd", part, operands=("offset",)) for part in ("Relu", "Relu6", "Elu")),
    fused("_FusedConv2D", "BiasAdd", "LeakyRelu", operands=("offset",), leakyrelu_alpha=0.3),
    fused("_FusedConv2D", "FusedBatchNorm", operands=NORM, epsilon=0.05),
    fused("_FusedConv2D", "FusedBatchNorm", "Relu", operands=NORM),
    fused("_FusedMatMul", "BiasAdd", operands=("offset",)),
    *(fused("_FusedMatMul", "BiasAdd", part, operands=("offset",)) for part in ("Relu", "Tanh", "Sigmoid")),
    fused("_FusedMatMul", "BiasAdd", "Elu", operands=("offset",), transpose_b=True),
)
FLATTEN = (
    node("Shape", "shape", ["x"], T="float32"),
    node("StridedSlice", "batch", ["shape", "zero", "one", "one"], T="int32", Index="int32", shrink_axis_mask=1),
    node("Pack", "sizes", ["batch", "rest"], T="int32", N=2),
    node("Reshape", "y", ["x", "sizes"], T="float32"),
)
AXES = (ints(0, name="zero"), ints(1, name="one"), ints(-1, name="rest", shape=()))



def transposed_like(title: str, like: tuple[int, ...], w: tuple[int, ...], padding: str, **attrs: Any) -> Network:
    """A transposed convolution by 2 of (1, 4, 5, 2) to the sizes of another input, as decoders take their size."""
    return network(
        f"transposed-like-{title}", node("Shape", "sizes", ["like"], T="float32"),
        node("Conv2DBackpropInput", "y", ["sizes", "w", "x"], T="float32", strides=(1, 2, 2, 1), padding=padding,
             **attrs),
        inputs=(data(*like, name="like"), param("w", *w), data(1, 4, 5, 2, name="x")),
    )  # fmt: skip


CASES: tuple[Case, ...] = (
    transposed_like("valid-longer", (1, 10, 12, 3), (3, 3, 3, 2), "VALID"),
    transposed_like("valid-small-kernel", (1, 8, 9, 3), (1, 1, 3, 2), "VALID"),
    transposed_like("same-odd", (1, 7, 9, 3), (4, 3, 3, 2), "SAME"),
    transposed_like("same-small-kernel", (1, 8, 10, 3), (1, 2, 3, 2), "SAME"),
    transposed_like(
        "explicit", (1, 8, 9, 3), (3, 3, 3, 2), "EXPLICIT", explicit_paddings=(0, 0, 1, 0, 1, 1, 0, 0)
    ),
    network(
        "conv-bias-relu-pool", _conv("c", "x", "w"), node("BiasAdd", "b", ["c", "v"], T="float32"),
        node("Relu", "r", ["b"], T="float32"),
        node("AvgPool", "y", ["r"], T="float32", ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"),
        inputs=(data(2, 7, 9, 3, name="x"), param("w", 3, 3, 3, 4), param("v", 4)),
    ),
    network(
        "residual-concat", _conv("c", "x", "w"), node("AddV2", "a", ["c", "x"], T="float32"),
        node("ConcatV2", "k", ["a", "x", "axis"], T="float32", N=2), _conv("d", "k", "u"),
        node("Mean", "y", ["d", "axes"], T="float32", keep_dims=False),
        inputs=(data(2, 5, 6, 3, name="x"), param("w", 3, 3, 3, 3), param("u", 1, 1, 6, 2),
                ints(3, name="axis", shape=()), ints(1, 2, name="axes")),
    ),
    network(
        "pad-conv-softmax", node("Pad", "p", ["x", "pads"], T="float32"), _conv("c", "p", "w"),
        node("Softmax", "y", ["c"], T="float32"),
        inputs=(data(1, 5, 6, 3, name="x"), ints(0, 0, 1, 2, 0, 1, 0, 0, name="pads", shape=(4, 2)),
                param("w", 2, 2, 3, 4)),
    ),
    *dilated.CASES,
    *FUSED,
    network("flatten", *FLATTEN, inputs=(data(2, 3, 4, name="x"), *AXES)),
)  # fmt: skip
REFUSED: tuple[Case, ...] = (
    replace(
        fused("_FusedMatMul", "BiasAdd", "GeluExact", operands=("offset",)), reason="_FusedMatMul: 1 node", variant="f",
        nodes=(node("_FusedMatMul", "y", ["x", "w", "v"], T="float32", num_args=1, fused_ops=GELU),),
        inputs=(data(2, 3, name="x"), param("w", 3, 4), param("v", 4)),
    ),
)  # fmt: skip
