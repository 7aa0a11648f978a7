"""The smallest equal graph: random graphs of named sizes compute what they computed before."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.passes.pipelines import smallest
from tests.inference.networks import networks
from tests.inference.programs import programs
from tests.inference.running import feeds_of
from tests.inference.test_random_graphs import with_names
from tests.passes.written import EVALUATOR

FEW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
WHICH = st.lists(st.booleans(), min_size=4, max_size=4)


def outputs_with(graph: Graph, feeds: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The outputs of one run, without onnxruntime's optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_model(graph).SerializeToString(), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    taken = {value.name for value in session.get_inputs()}
    return dict(zip(names, session.run(names, {k: v for k, v in feeds.items() if k in taken}), strict=True))


def check_smallest(graph: Graph, which: list[bool], chosen: int) -> None:
    """Hold the smallest graph of some outputs against the graph, with names for some of its sizes."""
    results = [value for value in graph.values if value.producer is not None]
    if not results:
        return
    graph.set_outputs(list(dict.fromkeys([results[chosen % len(results)], results[-1]])))
    feeds = feeds_of(graph)
    named, _ = with_names(graph, which)
    note(str(named))
    before = outputs_with(named, feeds)
    count = len(named.nodes)
    smallest(EVALUATOR).run(named, check=True)
    note(str(named))
    assert len(named.nodes) <= count + 1
    after = outputs_with(named, feeds)
    assert list(after) == list(before)
    for name, array in before.items():
        assert after[name].dtype == array.dtype
        np.testing.assert_allclose(after[name], array, rtol=2e-5, atol=2e-5)


@given(programs(), WHICH, st.integers(0, 99))
@FEW
def test_programs(graph: Graph, which: list[bool], chosen: int) -> None:
    check_smallest(graph, which, chosen)


@given(networks(), WHICH, st.integers(0, 99))
@FEW
def test_networks(graph: Graph, which: list[bool], chosen: int) -> None:
    check_smallest(graph, which, chosen)
