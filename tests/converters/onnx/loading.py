"""Graphs of one node: the good rows of the operators' own tests, operands in every dtype that the operator takes."""

from __future__ import annotations

import itertools
import os
import pkgutil
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import numpy as np

import tests.ops
from graphir.errors import GraphirError
from graphir.graph import Graph, Value
from graphir.ops import Operator, operator_table
from graphir.ops.base import Known
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, Type
from tests.ops import rule

WHOLE = "GRAPHIR_ALL_LOADS"  # set, every sample is tried
COUNT = 4000
OPSETS = (None, 13, 18, 21, 26)
# Graphs inside a node have tests of their own, a Foreign one is whatever it was.
APART = {"Foreign", "If", "Loop", "Scan", "SequenceMap"}
# What onnxruntime refuses for other reasons than its kernels: an ellipsis that stands for axes of one operand only, and
# a locale that the system may lack.
REFUSED_BY_ITSELF = {"Einsum(equation='...ij,...jk->...ik')", "StringNormalizer"}

Operand = tuple[Type | None, Known | None]


@dataclass(frozen=True)
class Sample:
    """An operator on operands of these types, those of dtype `old` being of dtype `new`, at an opset."""

    op: Operator
    operands: tuple[Operand, ...]
    old: DType
    new: DType
    opset: int | None

    def __str__(self) -> str:
        shown = ", ".join("-" if type_ is None else str(type_) for type_, _ in self.operands)
        return f"{self.op!r} {shown} {self.old}->{self.new} {self.opset or 'default'}"

    def graph(self) -> Graph | None:
        """The graph; None where the operator does not take these types, or a type is unknown."""
        made = Graph("sample")
        values: list[Value | None] = []
        for slot, (type_, known) in enumerate(self.operands):
            if isinstance(type_, TensorType) and (type_.dtype is None or type_.shape is None):
                return None
            values.append(None if type_ is None else self._value(made, f"operand{slot}", type_, known))
        try:
            node = made.add_node(self.op, values, name="node")
        except GraphirError:
            return None
        made.set_outputs(node.outputs)
        return made

    def _value(self, graph: Graph, name: str, type_: Type, known: Known | None) -> Value:
        if known is not None and all(isinstance(element, int | float) for element in known.elements):
            assert isinstance(type_, TensorType)
            sizes = [size for size in known.shape if isinstance(size, int)]
            return graph.add_parameter(name, Tensor.of(np.array(known.elements).reshape(sizes), type_.dtype))
        if isinstance(type_, TensorType) and type_.dtype is self.old and known is None:
            type_ = TensorType(self.new, type_.shape)
        value = graph.add_input(name, type_)
        value.known = known
        return value


@cache
def good_rows() -> tuple[tuple[Operator, tuple[Operand, ...]], ...]:
    """The operators with operands of the rows GOOD, and of operators without such a row one that they may take."""
    found: list[tuple[Operator, tuple[Operand, ...]]] = []
    for module in pkgutil.iter_modules(tests.ops.__path__):
        if module.name.startswith("test_") and module.name != "test_dtypes":
            found += _rows_of(getattr(import_module(f"tests.ops.{module.name}"), "GOOD", ()))
    covered = {type(op).__name__ for op, _ in found}
    for name, cls in operator_table().items():
        if name not in covered:
            count = sum(not slot.endswith(("?", "*")) for slot in cls.inputs)
            found += [(op, ((TensorType(DType.FLOAT32, (2, 3, 4, 5)), None),) * count) for op in _plain(cls)]
    return tuple(row for row in found if type(row[0]).__name__ not in APART and not _is_refused_by_itself(row[0]))


def _rows_of(table: Sequence[object]) -> Iterator[tuple[Operator, tuple[Operand, ...]]]:
    for row in table:
        assert isinstance(row, tuple)
        op, given = row[0], row[1]
        if isinstance(op, Operator):
            yield op, tuple(rule.pairs(*rule.as_row(given)))


def _plain(cls: type[Operator]) -> list[Operator]:
    """The operator with its defaults, if it has one for every attribute."""
    try:
        return [cls()]
    except TypeError:
        return []


def _is_refused_by_itself(op: Operator) -> bool:
    return type(op).__name__ in REFUSED_BY_ITSELF or repr(op) in REFUSED_BY_ITSELF


def samples() -> list[Sample]:
    """All of them, or a part that is the same at every run."""
    pairs = [
        *((DType.FLOAT32, dtype) for dtype in DType),
        *((DType.INT64, dtype) for dtype in (DType.INT32, DType.UINT8, DType.UINT64, DType.BOOL, DType.FLOAT64)),
    ]
    every = [
        Sample(op, operands, old, new, opset)
        for (op, operands), (old, new), opset in itertools.product(good_rows(), pairs, OPSETS)
        if new is DType.FLOAT32 or any(isinstance(one, TensorType) and one.dtype is old for one, _ in operands)
    ]
    chosen = every if os.environ.get(WHOLE) else random.Random(0).sample(every, COUNT)
    return [sample for sample in chosen if sample.graph() is not None]
