"""The smallest equal graph: random graphs of named sizes compute what they computed before."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from graphir.converters.onnx import to_model
from graphir.graph import Graph
from graphir.passes.common_subexpressions import share_parameters
from graphir.passes.pipelines import smallest
from tests.building import list_operators, run_model
from tests.contract import held
from tests.inference.networks import networks
from tests.inference.programs import programs
from tests.inference.running import feeds_of
from tests.inference.test_random_graphs import with_names
from tests.passes.written import EVALUATOR, graph_of, model_of, run

FEW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
WHICH = st.lists(st.booleans(), min_size=4, max_size=4)


def check_smallest(graph: Graph, which: list[bool], chosen: int) -> None:
    """Hold the smallest graph of some outputs against the graph, with names for some of its sizes."""
    results = [value for value in graph.values if value.producer is not None]
    if not results:
        return
    graph.set_outputs(list(dict.fromkeys([results[chosen % len(results)], results[-1]])))
    feeds = feeds_of(graph)
    named, _ = with_names(graph, which)
    note(str(named))
    before = run_model(named, feeds, optimize=False)
    count = len(named.nodes)
    smallest(EVALUATOR).run(named, check=True)
    note(str(named))
    assert len(named.nodes) <= count + 1
    after = run_model(named, feeds, optimize=False)
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


def test_a_slice_without_bounds_goes_whatever_the_size_is() -> None:
    text = """g (float[2,K] x) => (float[2,M] y) <int64[1] front = {0}, int64[1] end = {9223372036854775807},
        int64[1] axis = {1}, int64[1] two = {2}, int64[1] near = {5}> { a = Slice(x, front, end, axis)
        b = Slice(a, front, near, axis) c = Slice(b, front, end, axis, two) y = Neg(c) }"""
    graph = graph_of(text)
    smallest(EVALUATOR).run(graph, check=True)
    assert list_operators(graph) == "Slice Slice Neg"
    for size in (3, 8):
        np.testing.assert_equal(run(to_model(graph), {"K": size}), run(model_of(text), {"K": size}))


def test_equal_parameters_are_stored_once() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] o) <float[2] a = {1, 2}, float[2] b = {1, 2},
        float[1,2] c = {1, 2}, float[2] d = {1, -2}, float[2] o = {1, 2}>
        { p = Mul(x, a) q = Mul(p, b) r = Mul(c, d) s = Add(q, r) y = Sub(s, o) }"""
    graph = graph_of(text)
    count = len(graph.parameters)
    assert held("sharing", share_parameters, graph)
    assert not held("sharing again", share_parameters, graph)
    assert len(graph.parameters) < count
    assert {"c", "d"} <= {value.name for value in graph.parameters}
    np.testing.assert_equal(run(to_model(graph)), run(model_of(text)))


def test_branches_of_known_and_of_unknown_conditions() -> None:
    inner = "then = Then () => (float[2] t) { u = Identity(x) v = Identity(u) t = Neg(v) }"
    other = "other = Else () => (float[2] e) { w = Identity(x) e = Abs(w) }"
    branches = inner.replace("then = Then", "then_branch = T") + ", " + other.replace("other = Else", "else_branch = E")
    known = f"g (float[2] x) => (float[2] y) <bool c = {{1}}> {{ y = If<{branches}>(c) }}"
    graph = graph_of(known)
    smallest(EVALUATOR).run(graph, check=True)
    assert list_operators(graph) == "Neg"
    unknown = f"g (float[2] x, bool c) => (float[2] y) {{ y = If<{branches}>(c) }}"
    graph = graph_of(unknown)
    smallest(EVALUATOR).run(graph, check=True)
    assert [list_operators(branch) for branch in graph.nodes[0].subgraphs] == ["Neg", "Abs"]
    np.testing.assert_equal(run(to_model(graph)), run(model_of(unknown)))
