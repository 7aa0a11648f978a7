"""Every operator that MXNet has, in float16 and bfloat16 from input to output: what is written is valid, runs, and
gives the float32 model's numbers up to the rounding of its inputs and results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest

import graphir
from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.magnitudes import measure
from graphir.passes.half import HALF, HalfOptions, form_of, to_half
from graphir.types import DType
from tests.equivalence.case import Case
from tests.equivalence.test_onnx import SUPPORTED, distance, imported

# What one unit of the input changes is not what one unit of the result is.
STEPS = 8
RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


# Cuts: where float16 or bfloat16 rounds the data to the other side of a limit, the result is another one.
DECIDES = {"_contrib_quantize", "_contrib_quantize_v2"}


def first_of_each() -> Iterator[Case]:
    """The first case of each operator with data of float32."""
    seen: set[str] = set()
    for case in SUPPORTED:
        if case.op not in seen | DECIDES and any(source.dtype == "float32" for source in case.inputs):
            seen.add(case.op)
            yield case


def has_floats(graph: Graph) -> bool:
    return any(value.dtype is DType.FLOAT32 for value in graph.values)


@pytest.mark.one_of(8)
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("case", [*first_of_each()], ids=lambda case: case.name)
def test_an_operator_in_half_precision(case: Case, dtype: str) -> None:
    graph, feeds = imported(case)
    made = to_half(graph, HalfOptions(dtype, io=True), measure(graph, feeds) if has_floats(graph) else None)
    made.check()
    model = to_model(made)
    onnx.checker.check_model(model, full_check=True)
    if any(node.op_type in RANDOM for node in model.graph.node):
        return
    expected = graphir.Session(graph, providers="cpu").run(feeds)
    found = graphir.Session(made, providers="cpu").run(feeds)
    for name, wanted in expected.items():
        array = np.asarray(found[name])
        assert array.shape == wanted.shape
        assert distance(array, wanted) <= STEPS * form_of(DType(dtype)).step
