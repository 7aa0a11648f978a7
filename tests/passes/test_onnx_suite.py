"""onnx's own models of control flow, sequences, optional values and functions, taken apart: onnxruntime still gets them
right, and the copy that was changed leaves its original alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET
from graphir.graph import Graph
from graphir.passes.branches import inline_branches, select_branches
from graphir.passes.clone import clone
from graphir.passes.no_ops import NO_OPS
from graphir.passes.outcome import Outcome
from graphir.passes.simplify import simplify
from graphir.passes.static_sequences import resolve_structure
from graphir.serial.equal import first_difference
from tests.contract import held
from tests.onnx_backend import NEWEST_IR, Sample, samples, wrong
from tests.passes.written import fold, unroll

PASSES: dict[str, Callable[[Graph], Outcome]] = {
    "simplify": partial(simplify, further=NO_OPS),
    "fold_constants": fold,
    "inline_branches": inline_branches,
    "resolve_structure": resolve_structure,
    "unroll_loops": partial(unroll, masked=True),
    "select_branches": select_branches,
}
CHOSEN = re.compile(
    "_if$|_loop|_scan9|sequence_model|range_.*expanded|affine_grid.*expanded|center_crop.*expanded|optional_get|"
    "sequence_map.*expanded|attention_4d_gqa.*expanded|linear_attention.*expanded"
)


@pytest.fixture(scope="module")
def suite() -> list[Sample]:
    """The models that onnxruntime gets right as they are."""
    chosen = [sample for sample in samples(("node", "simple")) if CHOSEN.search(sample.name)]
    return [sample for sample in chosen if not wrong(serialized(sample), sample)]


def serialized(sample: Sample) -> bytes:
    """The model with an IR version that onnxruntime accepts."""
    sample.model.ir_version = min(sample.model.ir_version, NEWEST_IR)
    return bytes(sample.model.SerializeToString())


def take_apart(graph: Graph) -> None:
    """All passes, until none changes anything."""
    for _ in range(20):
        outcome = Outcome()
        for name, change in PASSES.items():
            outcome |= held(name, change, graph)
        if not outcome:
            return
    raise AssertionError("the passes never come to an end")


def judged(sample: Sample) -> tuple[str, bool]:
    """What is wrong with a model that was taken apart, and whether anything with a body is left of it."""
    graph = from_model(serialized(sample))
    copy, kept = clone(graph), clone(graph)
    take_apart(copy)
    leak = first_difference(graph, kept)
    opset = max(int(graph.metadata["onnx.opset:"]), OLDEST_OPSET)
    found = leak or wrong(to_model(copy, opset=opset).SerializeToString(), sample)
    return found, any(node.subgraphs for node in copy.nodes)


def test_taken_apart_they_compute_the_same(suite: list[Sample]) -> None:
    outcomes = {sample.name: judged(sample) for sample in suite}
    assert {name: text for name, (text, _) in outcomes.items() if text} == {}
    assert len(outcomes) >= 50
    whole = [name for name, (_, is_left) in outcomes.items() if is_left]
    assert [name for name in whole if not re.search("loop|range_|sequence_map|affine_grid_3d", name)] == []
