"""Nodes at older opsets through ONNX -> graph -> ONNX, judged by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx.helper import (
    make_empty_tensor_value_info,
    np_dtype_to_tensor_dtype,
)

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET
from tests.building import make_model, run_model

MODERN = 17


@dataclass(frozen=True)
class Old:
    """One or more nodes in onnx's text form, separated by `;`, at an opset, with their operands by name.

    The results of the last node are the model's. The names in `weights` are initializers. onnxruntime runs the nodes as
    they are, or, where it has no kernel for them, `means`: nodes at opset 17 that give the same under the same names.
    `target` is the opset of the export, the nodes' own without it.
    """

    opset: int
    text: str
    operands: Mapping[str, Any]
    weights: Sequence[str] = ()
    means: str = ""
    target: int | None = None

    def __str__(self) -> str:
        return f"{self.opset}: {self.text}"


def model(
    text: str, opset: int, operands: Mapping[str, Any], weights: Sequence[str] = (), results: Sequence[str] = ()
) -> Any:
    """A model of the nodes; results have no declared type and are those of the last node if not stated."""
    nodes = [onnx.parser.parse_node(part) for part in text.split(";")]
    arrays = {name: np.asarray(array) for name, array in operands.items()}
    inputs = [(name, array) for name, array in arrays.items() if name not in weights]
    made = make_model(
        nodes, {name: (np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in inputs}, {},
        {name: arrays[name] for name in weights}, opset=opset, ir_version=8,
    )  # fmt: skip
    made.graph.output.extend(make_empty_tensor_value_info(name) for name in results or nodes[-1].output if name)
    return made


def run(made: Any, operands: Mapping[str, Any]) -> list[Any]:
    """The results from onnxruntime without optimisations."""
    return list(run_model(made, operands, optimize=False).values())


def assert_comes_back(old: Old) -> None:
    """The round trip gives what onnxruntime gives for the original."""
    made = model(old.text, old.opset, old.operands, old.weights)
    results = [info.name for info in made.graph.output]
    reference = model(old.means, MODERN, old.operands, old.weights, results) if old.means else made
    graph = from_model(made)
    graph.check()
    found = run(to_model(graph, opset=old.target or max(old.opset, OLDEST_OPSET)), old.operands)
    expected = run(reference, old.operands)
    assert [value.shape for value in found] == [value.shape for value in expected]
    assert [value.dtype for value in found] == [value.dtype for value in expected]
    assert all(np.allclose(value, wanted, 1e-5, 1e-6) for value, wanted in zip(found, expected, strict=True))


def ramp(*shape: int) -> Any:
    """float32 numbers from -1 to 2, no two equal, in no order."""
    count = int(np.prod(shape))
    return (np.linspace(-1, 2, count, dtype=np.float32)[np.arange(count) * 7919 % count]).reshape(shape)


__all__ = ["MODERN", "Old", "assert_comes_back", "model", "ramp", "run"]
