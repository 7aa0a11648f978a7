"""One operator of TensorFlow, its attributes and its inputs: a row that every road through the project has to compute.

Families keep their rows in `tests/tensorflow/<family>.py` as CASES, and in REFUSED those that the import refuses, with
a part of the reason. A row needs no TensorFlow; `graph` is its GraphDef.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.tensorflow.files.records import Argument
from graphir.converters.tensorflow.schema.operators import operator_schema
from tests.equivalence.case import Input, data, param, values
from tests.tensorflow.graphdef import const, graph_def, node, placeholder

NODE = "y"


@dataclass(frozen=True)
class Case:
    """A single operator's call. `variant` tells the cases of one operator apart.

    Inputs of the role data are placeholders, params constants. Attributes that state dtypes and counts follow from the
    inputs; `attrs` are the others. `slots` are the results that are compared. `tolerance` is relative to the largest
    magnitude of the expected result; None means the default of its dtype. `open_axes` says whether the import also
    works with sizes that are not known: "all", "batch" (only the first axis), or "" for neither. Below `least_opset`
    ONNX cannot say it; `mxnet_lacks` says what MXNet's CPU build has no kernel for; from opsets beyond
    `runs_until` no runtime at hand has one. `reason` is a part of the refusal.
    """

    op: str
    inputs: tuple[Input, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    variant: str = "default"
    slots: tuple[int, ...] = (0,)
    tolerance: float | None = None
    open_axes: str = "all"
    least_opset: int = 0
    reason: str = ""
    mxnet_lacks: str = ""
    runs_until: int = 99

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.op}-{self.variant}"

    @property
    def outputs(self) -> list[str]:
        """The results that are compared, as TensorFlow names them."""
        return [f"{NODE}:{slot}" for slot in self.slots]

    def variables(self) -> list[tuple[str, Input]]:
        """The inputs with their nodes' names."""
        return [(f"{held.name}{index}", held) for index, held in enumerate(self.inputs)]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every input's values by its node; the same everywhere."""
        found = {}
        for name, held in self.variables():
            entropy = [0, zlib.crc32(f"{self.name}/{name}".encode())]
            found[name] = held.draw(np.random.Generator(np.random.PCG64(entropy)))
        return found

    def feeds(self) -> dict[str, NDArray[Any]]:
        """The values of the placeholders."""
        arrays = self.arrays()
        return {name: arrays[name] for name, held in self.variables() if held.role == "data"}

    @property
    def ops(self) -> frozenset[str]:
        """The operators that are tested."""
        return frozenset({self.op})

    def graph(self, open_axes: str = "") -> bytes:
        """The GraphDef; the placeholders' sizes open on "all" axes, the "batch" axis, or none."""
        names = [name for name, _ in self.variables()]
        made = node(self.op, NODE, names, **self._type_attrs(), **self.attrs)
        return graph_def(*self._input_nodes(open_axes), made)

    def _input_nodes(self, open_axes: str) -> list[dict[str, Any]]:
        arrays = self.arrays()
        nodes = []
        for name, held in self.variables():
            if held.role == "data":
                nodes.append(placeholder(name, held.dtype, _opened(held.shape, open_axes)))
            else:
                nodes.append(const(name, arrays[name]))
        return nodes

    def _type_attrs(self) -> dict[str, Any]:
        """The attributes that follow from the inputs: dtypes and how many there are."""
        schema = operator_schema(self.op)
        assert schema is not None, f"TensorFlow has no {self.op}"
        found: dict[str, Any] = {}
        place = 0
        for argument in schema.inputs:
            count = self._count(argument, len(schema.inputs))
            dtypes = [held.dtype for held in self.inputs[place : place + count]]
            place += count
            if argument.count and argument.count not in self.attrs:
                found[argument.count] = count
            if argument.is_list:
                found[argument.dtype_attr] = dtypes
            elif argument.dtype_attr and dtypes:
                found[argument.dtype_attr] = dtypes[0]
        return {name: value for name, value in found.items() if name not in self.attrs}

    def _count(self, argument: Argument, arguments: int) -> int:
        if argument.count in self.attrs:
            return int(self.attrs[argument.count])
        return len(self.inputs) - arguments + 1 if argument.count or argument.is_list else 1


@dataclass(frozen=True)
class Network(Case):
    """Several nodes. `op` is a title; inputs have the names that they state; `nodes` are NodeDefs (`graphdef.node`)."""

    nodes: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    fetch: tuple[str, ...] = (f"{NODE}:0",)
    functions: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    @property
    def ops(self) -> frozenset[str]:
        """The operators that are tested."""
        inside = (held for function in self.functions for held in function["node_def"])
        return frozenset(held["op"] for held in (*self.nodes, *inside))

    @property
    def outputs(self) -> list[str]:
        """The results that are compared, as TensorFlow names them."""
        return list(self.fetch)

    def variables(self) -> list[tuple[str, Input]]:
        """The inputs with their nodes' names."""
        return [(held.name, held) for held in self.inputs]

    def graph(self, open_axes: str = "") -> bytes:
        """The GraphDef, as `Case` has it."""
        return graph_def(*self._input_nodes(open_axes), *self.nodes, functions=self.functions)


def _opened(shape: tuple[int, ...], open_axes: str) -> tuple[int | None, ...]:
    if open_axes == "batch":
        return tuple(None if axis == 0 else size for axis, size in enumerate(shape))
    return (None,) * len(shape) if open_axes == "all" else shape


OPTIONS = ("slots", "tolerance", "open_axes", "least_opset", "reason", "mxnet_lacks")


def case(op: str, variant: str, *inputs: Input, **more: Any) -> Case:
    """A case: `more` are the operator's attributes, and what else a Case says (OPTIONS)."""
    options = {name: more.pop(name) for name in OPTIONS if name in more}
    return Case(op, inputs, more, variant, **options)


def ints(*numbers: int, name: str = "numbers", dtype: str = "int32", shape: tuple[int, ...] | None = None) -> Input:
    """A constant of integers: axes, sizes, paddings."""
    return Input(name, (len(numbers),) if shape is None else shape, dtype, role="param", values=numbers)


__all__ = ["NODE", "Case", "Input", "Network", "case", "data", "ints", "param", "values"]
