"""Spectra, windows and mel filters."""

from __future__ import annotations

from math import pi

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import signal as ir
from graphir.ops.shape import Unsqueeze
from graphir.types import DType

# Of each window: the weights of 1, cos(2 pi n / N) and cos(4 pi n / N).
WINDOWS: dict[type[ir.Window], tuple[float, float, float]] = {
    ir.HannWindow: (0.5, -0.5, 0.0),
    ir.HammingWindow: (25 / 46, -21 / 46, 0.0),
    ir.BlackmanWindow: (0.42, -0.5, 0.08),
}


def export_window(node: ExportNode[ir.Window]) -> None:
    """A window; before opset 17 by its formula."""
    op = node.op
    if node.opset >= 17:
        node.emit(
            op.name,
            node.input_names(),
            periodic=None if op.periodic else 0,
            output_datatype=None if op.output_datatype is DType.FLOAT32 else onnx_value(op.output_datatype),
        )
        return
    count = node.step("Cast", node.input_names(), to=onnx_value(DType.FLOAT32), suffix="size")
    zero, one = node.constant(0.0, DType.FLOAT32), node.constant(1.0, DType.FLOAT32)
    indices = node.step("Range", [zero, count, one])
    period = count if op.periodic else node.step("Sub", [count, one])
    turn = node.step("Div", [node.step("Mul", [indices, node.constant(2 * pi, DType.FLOAT32)]), period])
    constant, first, second = WINDOWS[type(op)]
    total = node.step("Mul", [node.step("Cos", [turn]), node.constant(first, DType.FLOAT32)])
    if second:
        twice = node.step("Cos", [node.step("Add", [turn, turn])])
        total = node.step("Add", [total, node.step("Mul", [twice, node.constant(second, DType.FLOAT32)])])
    window = node.step("Add", [total, node.constant(constant, DType.FLOAT32)])
    node.emit("Cast", [window], to=onnx_value(op.output_datatype))


def import_dft_17(node: ImportNode) -> None:
    """Read DFT before opset 20, whose axis is an attribute."""
    axis = node.constant(node.attribute("axis"), DType.INT64)
    node.emit(ir.DFT(node.flag("inverse"), node.flag("onesided")), node.input(0), node.optional(1), axis)


def import_stft(node: ImportNode) -> None:
    """Read STFT. A real signal may lack its last axis of size 1: so onnxruntime has it, and exporters write it."""
    signal = node.input(0)
    if signal.rank is None:
        node.infer_now()
    if signal.rank == 2:
        signal = node.step(Unsqueeze(), signal, node.vector([2]), suffix="signal")
    node.emit(ir.STFT(node.flag("onesided", True)), signal, *node.inputs[1:])


def export_dft(node: ExportNode[ir.DFT]) -> None:
    """Write DFT; before opset 20 its axis must be a known number."""
    op = node.op
    inverse, onesided = int(op.inverse) or None, int(op.onesided) or None
    names = node.input_names()
    if node.opset >= 20:
        node.emit("DFT", names, inverse=inverse, onesided=onesided)
        return
    node.demand(17, "DFT exists")
    axis = -2
    if node.optional(2) is not None:
        axis_value = node.known(2)
        if axis_value is None:
            node.refuse(f"an axis that is computed exists from opset 20 on, the target is {node.opset}")
        axis = axis_value[0]
    x = node.optional(0)
    if axis < 0 and x is not None and x.rank is not None:
        axis += x.rank
    node.emit("DFT", [name for name in names[:2] if name], axis=axis, inverse=inverse, onesided=onesided)


EXPORTS = table(
    *rows(WINDOWS, export_window),
    row(ir.MelWeightMatrix, direct(since=17)),
    row(ir.DFT, export_dft),
    row(ir.STFT, direct(since=17)),
)

IMPORTS: ImportTable = {
    **{cls.__name__: {17: import_direct(cls)} for cls in WINDOWS},
    **direct_rows(ir.MelWeightMatrix, since=17),
    "STFT": {17: import_stft},
    "DFT": {17: import_dft_17, 20: import_direct(ir.DFT)},
}
