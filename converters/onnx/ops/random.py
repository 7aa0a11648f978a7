"""Random numbers."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, table
from graphir.converters.onnx.importing.context import ImportTable
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.ops import random as ir


def export_bernoulli(node: ExportNode[ir.Bernoulli]) -> None:
    """Write Bernoulli; before opset 15 even numbers from 0 to 1 that are compared with the probabilities.

    The comparison is the one that ONNX's text asks for; its function body, which onnxruntime runs, has it reversed.
    """
    op = node.op
    names = node.input_names()
    dtype = None if op.dtype is None else onnx_value(op.dtype)
    if node.opset >= 15:
        node.emit("Bernoulli", names, dtype=dtype, seed=op.seed)
        return
    drawn = node.step("RandomUniformLike", names, dtype=onnx_value(node.dtype()), seed=op.seed)
    node.emit("Cast", [node.step("Less", [drawn, names[0]])], to=dtype or onnx_value(node.dtype()))


EXPORTS = table(
    row(ir.RandomNormal, direct()),
    row(ir.RandomUniform, direct()),
    row(ir.RandomNormalLike, direct()),
    row(ir.RandomUniformLike, direct()),
    row(ir.Bernoulli, export_bernoulli),
    row(ir.Multinomial, direct(since=7)),
)

IMPORTS: ImportTable = {
    "RandomNormal": {1: import_direct(ir.RandomNormal)},
    "RandomUniform": {1: import_direct(ir.RandomUniform)},
    "RandomNormalLike": {1: import_direct(ir.RandomNormalLike)},
    "RandomUniformLike": {1: import_direct(ir.RandomUniformLike)},
    "Bernoulli": {15: import_direct(ir.Bernoulli)},
    "Multinomial": {7: import_direct(ir.Multinomial)},
}
