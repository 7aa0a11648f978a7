"""Operators in Python as part of symbols: inference asks their properties, and a session runs their `forward`."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphir.arrays import Array
from graphir.converters.mxnet.importing.context import ImportNode
from graphir.converters.mxnet.mx.context import Context, context_of
from graphir.converters.mxnet.mx.ndarray.array import NDArray
from graphir.converters.mxnet.mx.refusals import NotHere
from graphir.converters.mxnet.schema.operators import CUSTOM
from graphir.graph import Value
from graphir.ops.base import Operand, Operator, operator
from graphir.plugins import OwnOperator, Registry, SourceOperator, use
from graphir.types import DType, TensorType

PROPERTIES: dict[str, Any] = {}
"""The classes of registered operators, by their `op_type`."""


@operator
class PythonOperator(Operator):
    """An operator of `mx.operator`; `parameters` are the attributes that the symbol states, as JSON."""

    domain = "graphir.mxnet.python"
    inputs = ("inputs*",)
    outputs = ("output",)
    op_type: str
    parameters: str = "{}"

    @property
    def output_count(self) -> int:
        return len(self.property.list_outputs())

    @property
    def property(self) -> Any:
        """What the script says of the operator."""
        return PROPERTIES[self.op_type](**json.loads(self.parameters))

    def infer(self, *operands: Any) -> tuple[TensorType, ...]:
        return self._inferred(operands)[1]

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        return self._inferred(operands)[0]

    def _inferred(self, operands: Sequence[Any]) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
        """Return the types of inputs and outputs; nothing is known of any before the first input's shape is."""
        prop = self.property
        shapes = [_sizes(operand) for operand in operands]
        dtypes = [operand.dtype.numpy().type if operand.dtype else None for operand in operands]
        of_types = prop.infer_type(dtypes)[:2] if dtypes[0] else (dtypes, [None] * len(prop.list_outputs()))
        of_shapes = prop.infer_shape(shapes)[:2] if shapes[0] else (shapes, [None] * len(prop.list_outputs()))
        inputs, outputs = (
            tuple(TensorType(None if dtype is None else DType.of(dtype), _shape(shape))
                  for dtype, shape in zip(dtypes, shapes, strict=True))
            for dtypes, shapes in zip(of_types, of_shapes, strict=True)
        )  # fmt: skip
        return inputs, outputs


def _sizes(operand: Any) -> list[int]:
    """Return a shape as properties are given it: a list of sizes, empty where one is not known."""
    shape = operand.shape or ()
    return list(shape) if all(isinstance(size, int) for size in shape) else []


def _shape(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    return tuple(map(int, sizes)) if sizes else None


def run_forward(prop: Any, inputs: Sequence[NDArray], states: Sequence[NDArray], context: Context) -> list[NDArray]:
    """Return the outputs of an operator's `forward` for these arrays."""
    dtypes = [array.dtype for array in inputs]
    shapes = [list(array.shape) for array in inputs]
    sizes, types = prop.infer_shape(shapes)[1], prop.infer_type(dtypes)[1]
    outputs = [NDArray(np.zeros(tuple(shape), dtype), context) for shape, dtype in zip(sizes, types, strict=True)]
    prop.create_operator(context, shapes, dtypes).forward(
        False, ["write"] * len(outputs), list(inputs), outputs, list(states)
    )
    return outputs


def _computed(op: PythonOperator, *operands: Array) -> tuple[Array, ...]:
    context = context_of(None)
    results = run_forward(op.property, [NDArray(operand, context) for operand in operands], (), context)
    return tuple(np.asarray(result) for result in results)


def _of_node(op_type: str, stated: Mapping[str, str]) -> SourceOperator:
    """Return what the property says of a node with these attributes. Raises NotHere for one with states."""
    parameters = {name: text for name, text in stated.items() if name != "op_type"}
    op = PythonOperator(op_type=op_type, parameters=json.dumps(parameters))
    prop = op.property
    if prop.list_auxiliary_states():
        raise NotHere(f"{op_type} has auxiliary states: in symbols operators in Python with states are not here")

    def imported(node: ImportNode) -> Sequence[Value]:
        return node.emit_all(op, *node.inputs)

    return SourceOperator(
        f"{CUSTOM}:{op_type}", imported, lambda _, *operands: _computed(op, *operands),
        tuple(prop.list_arguments()), tuple(prop.list_outputs()),
        attributes=dict.fromkeys(parameters, str), plugin="mx.operator.register",
    )  # fmt: skip


_REGISTRY = Registry("mx.operator.register")
_REGISTRY.operators[PythonOperator.__name__] = OwnOperator(PythonOperator, _computed, None, _REGISTRY.name)


def register_property(op_type: str, prop_class: type) -> None:
    """Make an operator known; a later one of the same `op_type` takes its place."""
    PROPERTIES[op_type] = prop_class
    source = SourceOperator(
        f"{CUSTOM}:{op_type}", lambda node: (), by_attributes=functools.partial(_of_node, op_type)
    )
    _REGISTRY.sources["mxnet", source.name] = source
    use(_REGISTRY)
