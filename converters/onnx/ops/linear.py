"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from graphir.converters.kernel.maker import Maker
from graphir.converters.onnx.exporting.composed import composed
from graphir.converters.onnx.exporting.context import ExportNode, direct, row, rows, table
from graphir.converters.onnx.importing.context import ImportNode, ImportTable, direct_rows
from graphir.converters.onnx.importing.context import direct as import_direct
from graphir.graph import Value
from graphir.ops.linear import Det, Einsum, Gemm, MatMul, MatMulInteger, is_empty
from graphir.ops.shape import Expand
from graphir.types import TensorType

_direct_einsum = direct()


def _zeros(make: Maker, op: Einsum, operands: Sequence[Value]) -> Sequence[Value]:
    """Zeros in the result's shape."""
    types = [value.type for value in operands if isinstance(value.type, TensorType)]
    sizes = [size for size in op.infer(*types).shape or () if isinstance(size, int)]
    return [make(Expand(), make.number(0.0), make.vector(*sizes))]


def export_einsum(node: ExportNode[Einsum]) -> None:
    """Write Einsum; zeros where an operand is known to have no elements: onnxruntime divides by its sizes in some of
    them, which ends its process."""
    shape = node.node.outputs[0].shape
    if is_empty(node.node.inputs) and shape is not None and all(isinstance(size, int) for size in shape):
        composed(_zeros)(node)
    else:
        _direct_einsum(node)


EXPORTS = table(
    *rows((Gemm, MatMul, MatMulInteger, Det), direct()),
    row(Einsum, export_einsum),
)


def import_gemm_1(node: ImportNode) -> None:
    """Read Gemm before opset 7, where `broadcast` allowed a C of another shape; now it always may have one."""
    node.ignore("broadcast")
    node.emit(Gemm(**node.fields(Gemm)), *node.inputs)


IMPORTS: ImportTable = {
    **direct_rows(MatMul, MatMulInteger, Einsum, Det),
    "Gemm": {1: import_gemm_1, 7: import_direct(Gemm)},
}
