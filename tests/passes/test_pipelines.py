"""Pipelines: onnx's models compute the same after every step that changes them; who breaks the contract is found."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from graphir.converters.onnx import from_model, to_model
from graphir.converters.onnx.exporting.exporter import OLDEST_OPSET
from graphir.decisions import DecisionKind
from graphir.errors import GraphError
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.elementwise import Identity, Neg
from graphir.passes import pipelines
from graphir.passes.clone import on_copy
from graphir.passes.inline import GraphNames
from graphir.passes.outcome import Change, Outcome
from graphir.passes.pipelines import Pipeline, Step
from graphir.types import DType, TensorType
from tests.contract import BrokenContract, held
from tests.onnx_backend import NEWEST_IR, Sample, samples, wrong
from tests.passes.written import EVALUATOR

CHOSEN = re.compile(
    "conv_|pool_2d_(same|pads|ceil)|transpose|reshape_|squeeze|slice|gather_elements|_if$|loop1|scan9|lstm_defaults|"
    "gru_def|pad$|_expanded$"
)
MAKERS: dict[str, Callable[[Graph], Pipeline]] = {
    "mxnet": lambda graph: pipelines.import_from_mxnet(),
    "tensorflow": lambda graph: pipelines.import_from_tensorflow(lambda name: name, lambda graph: Outcome()),
    "padding": lambda graph: pipelines.explicit_padding(),
    "export": lambda graph: pipelines.export(),
    "smallest": lambda graph: pipelines.smallest(EVALUATOR),
    "lowering": lambda graph: pipelines.lowering(GraphNames(graph), EVALUATOR),
    "onnx": lambda graph: pipelines.for_onnx(),
    "pytorch": lambda graph: pipelines.for_pytorch(EVALUATOR),
}


@pytest.fixture(scope="module")
def suite() -> list[Sample]:
    """Some of the suite's models that onnxruntime gets right as they are, of each kind a few."""
    kinds: dict[str, list[Sample]] = {}
    for sample in samples(("node", "simple", "pytorch-operator")):
        if CHOSEN.search(sample.name):
            kinds.setdefault(sample.name.split("_")[1], []).append(sample)
    chosen = [sample for found in kinds.values() for sample in found[:3]]
    for sample in chosen:
        sample.model.ir_version = min(sample.model.ir_version, NEWEST_IR)
    return [sample for sample in chosen if not wrong(sample.model.SerializeToString(), sample)]


def told(sample: Sample, maker: Callable[[Graph], Pipeline], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps of a pipeline behind which a model computes something else."""
    graph = from_model(sample.model.SerializeToString())
    opset = max(int(graph.metadata["onnx.opset:"]), OLDEST_OPSET)
    faults: list[str] = []
    run = pipelines.run_step

    def judged(made: Step, changed: Graph) -> Outcome:
        outcome = run(made, changed)
        if outcome:
            text = wrong(to_model(changed, opset=opset).SerializeToString(), sample)
            faults.extend([f"{made.name}: {text}"] if text else [])
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(pipelines, "run_step", judged)
        maker(graph).run(graph)
    return faults


@pytest.mark.parametrize("name", MAKERS)
def test_models_compute_the_same_after_every_step(
    name: str, suite: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(suite) > 60
    found = {sample.name: told(sample, MAKERS[name], monkeypatch) for sample in suite}
    assert {model: faults for model, faults in found.items() if faults} == {}


def small() -> Graph:
    """y = Relu(Identity(x)) with a copy of it."""
    graph = Graph("small")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2,)))
    graph.set_outputs([graph.add(Relu(), graph.add(Identity(), x, name="i"), name="y")])
    return graph


def stale(graph: Graph) -> Outcome:
    graph.retype(graph["y"], TensorType(DType.FLOAT32, (3,)))
    return Outcome([Change("y", "made wrong")])


def renamed(graph: Graph) -> Outcome:
    graph.rename(graph["y"], "z")
    return Outcome([Change("y", "renamed")])


@pytest.mark.parametrize(("broken", "text"), [(stale, "y"), (renamed, "its inputs and outputs were .* and are")])
def test_a_checked_run_names_the_pass_that_broke_the_graph(
    broken: Callable[[Graph], Outcome], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines, "run_step", lambda made, graph: made.run(graph))
    pipeline = Pipeline("broken", (pipelines.step(broken),))
    with pytest.raises(GraphError, match=rf"the pass {broken.__name__} broke the graph small: .*{text}"):
        pipeline.run(small(), check=True)
    assert pipeline.run(small()).changed
    assert pipelines.simplification().run(small(), check=True).changed


def silent(graph: Graph) -> Outcome:
    graph.add(Neg(), graph["x"], name="n")
    return Outcome()


def boasting(graph: Graph) -> Outcome:
    return Outcome([Change("y", "it looked better")])


def without_reason(graph: Graph) -> Outcome:
    graph.add(Neg(), graph["x"], name="n")
    return Outcome([Change("n", "")])


def renaming(graph: Graph) -> Outcome:
    graph.rename(graph["y"], "z")
    return Outcome([Change("y", "a nicer name")])


def renaming_an_input(graph: Graph) -> Outcome:
    graph.rename(graph["x"], "z")
    return Outcome([Change("x", "a nicer name")])


def retyping(graph: Graph) -> Outcome:
    graph.set_outputs([graph.add(Relu(), graph.add_parameter("p", None, TensorType(DType.FLOAT32, (3,))))])
    graph.rename(graph["y"], "old")
    graph.rename(graph.outputs[0], "y")
    return Outcome([Change("y", "another shape")])


def forgetting(graph: Graph) -> Outcome:
    graph.decisions.clear()
    graph.add(Neg(), graph["x"], name="n")
    return Outcome([Change("n", "added")])


@pytest.mark.parametrize(
    "change, message",
    [
        (silent, "it tells no change, but the node n is in one graph only"),
        (boasting, "nothing changed, but it tells {'it looked better': 1}"),
        (without_reason, "a change has no node or no reason"),
        (renaming, r"the outputs were \['y'\] and are \['z'\]"),
        (renaming_an_input, "the inputs are others"),
        (retyping, r"the output y was float32\[2\] and is float32\[3\]"),
        (forgetting, "earlier decisions were lost"),
    ],
)
def test_who_breaks_the_contract_is_found(change: Callable[[Graph], Outcome], message: str) -> None:
    graph = small()
    graph.decide(DecisionKind.CHECK, "y", "a check")
    with pytest.raises(BrokenContract, match=f"^a pass on small: {message}"):
        held("a pass", change, graph)


def test_a_pipeline_says_what_it_did() -> None:
    graph = small()
    outcome = pipelines.simplification().run(graph)
    assert outcome.changes == [Change("i", "it changes nothing")]
    assert outcome.counts() == {"it changes nothing": 1}
    assert not pipelines.simplification().run(graph)


def test_what_follows_a_step_runs_only_where_it_changed_anything() -> None:
    ran: list[str] = []

    def step(name: str, changes: bool, *then: Step) -> Step:
        def run(graph: Graph) -> Outcome:
            ran.append(name)
            return Outcome()

        def drop(graph: Graph) -> Outcome:
            ran.append(name)
            return pipelines.simplification().run(graph)

        return Step(name, drop if changes else run, then)

    Pipeline("p", (step("a", False, step("b", False)), step("c", True, step("d", False))), rounds=5).run(small())
    assert ran == ["a", "c", "d", "a", "c"]


def test_a_copy_is_made_only_where_there_is_something_to_do() -> None:
    graph = small()
    with pipelines.export().on_copy(graph) as same:
        assert same is graph
    graph.add(Neg(), graph["x"], name="dead")
    with pipelines.export().on_copy(graph) as live:
        assert live is not graph
        assert "dead" not in live
    assert "dead" in graph
    assert [value.name for value in live.outputs] == ["y"]


@pytest.mark.parametrize("name", ["export", "onnx", "pytorch"])
def test_a_graph_stays_as_it_is_where_a_copy_is_changed(name: str, suite: list[Sample]) -> None:
    same = 0
    for sample in suite:
        graph = from_model(sample.model.SerializeToString())
        before = str(graph), list(graph.decisions)
        copy, outcome = on_copy(graph, MAKERS[name](graph).run)
        assert (str(graph), graph.decisions) == before, sample.name
        assert (copy is graph) or outcome.changed, sample.name
        same += copy is graph
    assert same > 20
