"""Arithmetic on parameters done ahead: what only parameters go into becomes a parameter.

Small operands are computed at once, larger ones when their elements are needed, so that no weights are read here. The
arithmetic is numpy's in the operands' dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graphir.graph import Graph, Node, Value
from graphir.ops import elementwise as ew
from graphir.ops.base import Operator
from graphir.ops.shape import Reshape, Squeeze, Transpose, Unsqueeze
from graphir.ops.shape_parts import Concat
from graphir.tensor import Tensor, byte_size
from graphir.types import DType, TensorType

from .outcome import Outcome

SMALL = 1 << 16
Compute = Callable[..., Any]


def fold_arithmetic(graph: Graph) -> Outcome:
    """Replace nodes whose operands are all parameters with elements. Linear in nodes.

    Results that are outputs of the graph stay, and those that are much larger than what they come from.
    """
    outcome = Outcome()
    for node in list(graph.nodes):
        if _fold(graph, node):
            outcome.note(node.name, "all its operands are parameters")
    return outcome


def _fold(graph: Graph, node: Node) -> bool:
    compute = COMPUTE.get(type(node.op))
    if compute is None or len(node.outputs) != 1 or graph.is_output(node.outputs[0]):
        return False
    tensors = []
    for value in node.inputs:
        tensor = None if value is None else _elements(value)
        if tensor is None:
            return False
        tensors.append(tensor)
    result = node.outputs[0]
    type_ = result.type
    if not isinstance(type_, TensorType) or not type_.is_static or type_.dtype in (None, DType.STRING):
        return False
    assert type_.dtype is not None
    if type_.dtype.bits < 16 and type_.dtype.is_float:
        return False  # how runtimes round to these differs from numpy
    small = byte_size(type_.dtype, _sizes(type_)) <= SMALL and sum(tensor.nbytes for tensor in tensors) <= SMALL
    if not small and not _may_be_large(node, type_):
        return False
    folded = _compute_tensor(partial(compute, node.op), tensors, type_, small)
    name, sources = result.name, result.sources
    value = graph.add_parameter(graph.fresh_name(f"{name}_value"), folded)
    graph.replace_uses(result, value)
    graph.erase(node)
    graph.rename(value, name)
    value.sources = sources
    return True


def _elements(value: Value) -> Tensor | None:
    tensor = value.tensor if value.producer is None else None
    return None if tensor is None or tensor.dtype is DType.STRING else tensor


def _may_be_large(node: Node, type_: TensorType) -> bool:
    """Return whether a large result takes the place of what it comes from, so that no bytes are stored twice."""
    constants = [value for value in node.inputs if value is not None and value.tensor is not None]
    large = [value for value in constants if value.tensor is not None and value.tensor.nbytes > SMALL]
    alone = all(len(value.uses) == 1 and not value.graph.is_output(value) for value in large)
    assert type_.dtype is not None
    most = sum(value.tensor.nbytes for value in large if value.tensor is not None)
    return bool(large) and alone and byte_size(type_.dtype, _sizes(type_)) <= 2 * most


def _sizes(type_: TensorType) -> tuple[int, ...]:
    return tuple(dim for dim in type_.shape or () if isinstance(dim, int))


def _compute_tensor(compute: Callable[..., Any], tensors: list[Tensor], type_: TensorType, small: bool) -> Tensor:
    import numpy as np

    dtype, shape = type_.dtype, _sizes(type_)
    assert dtype is not None

    def elements() -> Any:
        with np.errstate(all="ignore"):
            result = compute(*(tensor.numpy() for tensor in tensors))
        return np.asarray(result).astype(dtype.numpy(), copy=False).reshape(shape)

    if small:
        return Tensor.of(elements())
    return Tensor.computed(dtype, shape, elements)


def _divide(op: Operator, a: Any, b: Any) -> Any:
    """Floats as they are, integers toward zero; by a zero as numpy has it."""
    import numpy as np

    if np.issubdtype(a.dtype, np.integer):
        return (np.abs(a) // np.where(b == 0, 1, np.abs(b))) * np.sign(a) * np.sign(b)
    return a / b


def _concatenate(op: Operator, *arrays: Any) -> Any:
    import numpy as np

    assert isinstance(op, Concat)
    return np.concatenate(arrays, axis=op.axis)


def _transpose(op: Operator, array: Any) -> Any:
    assert isinstance(op, Transpose)
    return array.transpose(op.perm or None)


def _numpy(name: str) -> Compute:
    """Return the numpy function of that name, looked up when it is needed."""

    def compute(op: Operator, *arrays: Any) -> Any:
        import numpy as np

        return getattr(np, name)(*arrays)

    return compute


def _same_elements(op: Operator, array: Any, *others: Any) -> Any:
    return array


COMPUTE: dict[type[Operator], Compute] = {
    ew.Abs: _numpy("abs"),
    ew.Add: _numpy("add"),
    ew.Cast: _same_elements,
    ew.Div: _divide,
    ew.Exp: _numpy("exp"),
    ew.Log: _numpy("log"),
    ew.Max: lambda op, *arrays: _reduce_arrays("maximum", arrays),
    ew.Min: lambda op, *arrays: _reduce_arrays("minimum", arrays),
    ew.Mul: _numpy("multiply"),
    ew.Neg: _numpy("negative"),
    ew.Reciprocal: lambda op, array: _divide(op, array.dtype.type(1), array),
    ew.Sqrt: _numpy("sqrt"),
    ew.Sub: _numpy("subtract"),
    Concat: _concatenate,
    Reshape: _same_elements,
    Squeeze: _same_elements,
    Transpose: _transpose,
    Unsqueeze: _same_elements,
}


def _reduce_arrays(name: str, arrays: tuple[Any, ...]) -> Any:
    import functools

    import numpy as np

    return functools.reduce(getattr(np, name), arrays)
