"""Activation functions, the softmax family, and Dropout."""

from __future__ import annotations

from graphir.converters.pytorch.exporting.context import (
    ExportFunction,
    ExportNode,
    binary,
    call,
    number_text,
    row,
    table,
    unary,
)
from graphir.ops import activation as ir
from graphir.types import DType


def activation(function: str, **attributes: tuple[str, float]) -> ExportFunction:
    """Return a function of one tensor. `attributes` give for each of its arguments the operator's attribute and the
    default, which is not written."""

    usual = {argument: float_text(default) for argument, (_, default) in attributes.items()}

    def export_activation(node: ExportNode[ir.Relu]) -> None:
        texts = {argument: float_text(getattr(node.op, attribute)) for argument, (attribute, _) in attributes.items()}
        node.emit(call(function, node.tensor(), **{key: text for key, text in texts.items() if text != usual[key]}))

    return export_activation


def float_text(number: float) -> str:
    """Return an attribute, which is a float32 in most files, as the shortest text of that."""
    return str(number_text(number, DType.FLOAT32))


def export_thresholded_relu(node: ExportNode[ir.ThresholdedRelu]) -> None:
    """torch.where: 0 where x is not above alpha, also of NaN, which F.threshold would keep."""
    data, alpha = node.tensor(), float_text(node.op.alpha)
    node.emit(call("torch.where", binary(">", data, alpha), data, "0.0"))


def export_selu(node: ExportNode[ir.Selu]) -> None:
    """F.selu, whose constants are fixed; with others gamma times elu."""
    op, usual = node.op, ir.Selu()
    if (float_text(op.alpha), float_text(op.gamma)) == (float_text(usual.alpha), float_text(usual.gamma)):
        node.emit(f"F.selu({node.tensor()})")
        return
    curve = call("F.elu", node.tensor(), float_text(op.alpha))
    node.emit(binary("*", float_text(op.gamma), curve))


def export_gelu(node: ExportNode[ir.Gelu]) -> None:
    """F.gelu."""
    is_exact = node.op.approximate is ir.Approximation.NONE
    node.emit(call("F.gelu", node.tensor(), approximate=None if is_exact else '"tanh"'))


def export_hard_sigmoid(node: ExportNode[ir.HardSigmoid]) -> None:
    """F.hardsigmoid, which is x / 6 + 1 / 2; other slopes are written out."""
    op = node.op
    if (float_text(op.alpha), op.beta) == (float_text(1 / 6), 0.5):
        node.emit(f"F.hardsigmoid({node.tensor()})")
        return
    line = binary("+", binary("*", float_text(op.alpha), node.tensor()), float_text(op.beta))
    node.emit(f"{line.atom}.clamp(0, 1)")


def export_swish(node: ExportNode[ir.Swish]) -> None:
    """F.silu; with another factor in the sigmoid written out."""
    data = node.tensor()
    if node.op.alpha == 1:
        node.emit(f"F.silu({data})")
        return
    node.emit(binary("*", data, call("torch.sigmoid", binary("*", float_text(node.op.alpha), data))))


def softmax(function: str) -> ExportFunction:
    """Return a function along an axis."""

    def export_softmax(node: ExportNode[ir.Softmax | ir.LogSoftmax]) -> None:
        node.emit(call(function, node.tensor(), dim=str(node.op.axis)))

    return export_softmax


def export_hardmax(node: ExportNode[ir.Hardmax]) -> None:
    """1 at the first of the largest elements."""
    data, axis = node.tensor(), node.op.axis
    first = node.step(f"{data.atom}.argmax({axis}, keepdim=True)", "first")
    node.emit(f"torch.zeros_like({data}).scatter_({axis}, {first}, 1)")


def export_shrink(node: ExportNode[ir.Shrink]) -> None:
    """What is within lambd becomes 0; the rest moves by bias, in the type of the data."""
    data, op, dtype = node.tensor(), node.op, node.dtype()
    bias, bound = float_text(op.bias), float_text(op.lambd)
    below = f"torch.where({binary('<', data, unary('-', bound))}, {binary('+', data, bias)}, 0)"
    text = f"torch.where({binary('>', data, bound)}, {binary('-', data, bias)}, {below})"
    node.emit(text if dtype.is_float else node.cast(text, dtype))


# Layers that torch has, and classes of the file.
NOISES = {
    ir.Noise.ZEROS: "nn.Dropout", ir.Noise.ALPHA: "nn.AlphaDropout", ir.Noise.FACTORS: "GaussianDropout",
    ir.Noise.TERMS: "GaussianNoise",
}  # fmt: skip


def export_dropout(node: ExportNode[ir.Dropout]) -> None:
    """Nothing at inference, with a mask of ones; for training a layer."""
    data, training = node.tensor(), node.known(2)
    if node.optional(2) is not None and training != (0,):
        node.refuse(f"{node.input(2).name} says that elements are dropped at random; only inference is written")
    ratio = "0.5" if node.optional(1) is None else node.number(1)
    if node.export.training and ratio not in (None, "0.0") and not node.is_read(1):
        constructor = NOISES[node.op.noise]
        is_default = constructor.startswith("nn.") and ratio == "0.5"
        if "." not in constructor:
            node.function(constructor)
        layer = node.layer(constructor, [] if is_default else [ratio], {})
        node.emit(f"{layer}({data})")
        return
    node.alias(data)
    node.emit(f"torch.ones_like({data}, dtype=torch.bool)", 1)


EXPORTS = table(
    row(ir.Relu, activation("F.relu")),
    row(ir.LeakyRelu, activation("F.leaky_relu", negative_slope=("alpha", 0.01))),
    row(ir.ThresholdedRelu, export_thresholded_relu),
    row(ir.Elu, activation("F.elu", alpha=("alpha", 1.0))),
    row(ir.Selu, export_selu),
    row(ir.Celu, activation("F.celu", alpha=("alpha", 1.0))),
    row(ir.Gelu, export_gelu),
    row(ir.HardSigmoid, export_hard_sigmoid),
    row(ir.HardSwish, activation("F.hardswish")),
    row(ir.Mish, activation("F.mish")),
    row(ir.Softplus, activation("F.softplus")),
    row(ir.Softsign, activation("F.softsign")),
    row(ir.Sigmoid, activation("torch.sigmoid")),
    row(ir.Swish, export_swish),
    row(ir.Tanh, activation("torch.tanh")),
    row(ir.Softmax, softmax("F.softmax")),
    row(ir.LogSoftmax, softmax("F.log_softmax")),
    row(ir.Hardmax, export_hardmax),
    row(ir.Dropout, export_dropout),
    row(ir.Shrink, export_shrink),
)
