"""Random numbers."""

from __future__ import annotations

from graphir.converters.onnx.exporting.context import ExportNode, direct, onnx_value, row, rows, table
from graphir.converters.onnx.importing.context import ImportTable, direct_rows
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
    *rows((ir.RandomNormal, ir.RandomUniform, ir.RandomNormalLike, ir.RandomUniformLike), direct()),
    row(ir.Bernoulli, export_bernoulli),
    row(ir.Multinomial, direct(since=7)),
)

IMPORTS: ImportTable = {
    **direct_rows(ir.RandomNormal, ir.RandomUniform, ir.RandomNormalLike, ir.RandomUniformLike),
    "Bernoulli": {15: import_direct(ir.Bernoulli)},
    "Multinomial": {7: import_direct(ir.Multinomial)},
}
