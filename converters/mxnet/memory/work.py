"""What computing a node costs: the measure by which plans to recompute are compared."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from graphir.converters.mxnet.files.records import VARIABLE, NNVMNode
from graphir.converters.mxnet.memory.entries import Typed

_BY_WEIGHT = frozenset(("Convolution", "Deconvolution", "FullyConnected"))
_PRODUCTS = frozenset(("dot", "batch_dot", "linalg_gemm", "linalg_gemm2"))


def work_of(node: NNVMNode, results: Sequence[Typed], operands: Sequence[Typed]) -> int:
    """Multiply-accumulates of convolutions and products, and one for each element that a node makes.

    Of a Convolution they are results times the weights of one filter, of a Deconvolution elements of the data times the
    weights of one input channel. A variable costs nothing.
    """
    if node.op == VARIABLE:
        return 0
    elements = sum(prod(sizes) for sizes, _ in results)
    if node.op in _BY_WEIGHT and len(operands) > 1:
        moved = operands[0] if node.op == "Deconvolution" else results[0]
        return elements + prod(moved[0]) * prod(operands[1][0][1:])
    if node.op in _PRODUCTS and operands:
        return elements + prod(results[0][0]) * (operands[0][0] or (1,))[-1]
    return elements
