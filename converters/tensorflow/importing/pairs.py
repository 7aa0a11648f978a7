"""Complex values, which the graph holds as real ones with one axis more behind: real and imaginary part, as ONNX's DFT.

A node whose operand is such a value is imported by `ON_PAIRS` of the family `signal`, or refused: every other import
function would take the parts for elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphir.graph import Value
from graphir.ops.elementwise import Mul
from graphir.ops.shape import Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.tensor import Tensor
from graphir.types import DType

if TYPE_CHECKING:
    from graphir.converters.tensorflow.importing.context import ImportNode

COMPLEX = {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}


def as_pair(node: ImportNode, value: Value) -> Value:
    """Return the value, marked as one that holds real and imaginary parts."""
    node.importer.pairs.add(value)
    return value


def pair(node: ImportNode, slot: int) -> Value:
    """Return a complex operand as parts. Refuses what is none and complex inputs, which no target takes."""
    value = node.input(slot)
    if value in node.importer.pairs:
        return value
    tensor = value.tensor
    if tensor is None or tensor.dtype not in COMPLEX:
        node.refuse(f"{value.name} is complex, but does not come from parts, a Fourier transform or a constant")
    real = COMPLEX[tensor.dtype]
    parts = Tensor.computed(
        real, (*tensor.shape, 2), lambda: np.stack([tensor.numpy().real, tensor.numpy().imag], -1).astype(real.numpy())
    )
    return as_pair(node, node.graph.add_parameter(node.fresh_name(f"{value.name}_parts"), parts))


def with_zeros(node: ImportNode, value: Value) -> Value:
    """Return real values as complex ones."""
    wide = node.step(Unsqueeze(), value, node.vector([-1]), suffix="wide")
    nothing = node.step(Mul(), wide, node.scalar_like(value, 0.0), suffix="zeros")
    return as_pair(node, node.step(Concat(-1), wide, nothing, suffix="parts"))
