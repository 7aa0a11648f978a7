"""Timing calls in turns, with a clock that the calls move; and models, of which no time is asserted."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphir
from graphir import BenchOptions, Graph, bench
from graphir.errors import ArgumentError, ImportFailure, ProviderError, VerificationError
from graphir.ops.activation import Relu
from graphir.runtime import machine
from graphir.runtime.benchmark import LEAST_ROUNDS, MOST_ROUNDS, measure
from graphir.runtime.providers import PROVIDERS
from graphir.types import TensorType
from tests.ops.rule import tensor
from tests.verification import models

QUICK = 0.02


@pytest.fixture(scope="module", autouse=True)
def what_is_loaded_stays() -> None:
    """Each benchmark looks for garbage first, and need not look among all that a worker has loaded."""
    gc.collect()
    gc.freeze()


class Turns:
    """Calls of known duration on a clock of their own, and the order in which they came."""

    def __init__(self, *durations: float) -> None:
        self.now = 0.0
        self.order: list[int] = []
        self.durations = durations
        self.collecting: list[bool] = []

    def clock(self) -> float:
        return self.now

    def calls(self) -> list[Any]:
        return [lambda place=place: self.call(place) for place in range(len(self.durations))]

    def call(self, place: int) -> None:
        self.order.append(place)
        self.now += self.durations[place] * (5 if self.order.count(place) == 1 else 1)
        self.collecting.append(gc.isenabled())


def test_first_calls_and_warm_up_do_not_count() -> None:
    turns = Turns(1.0, 2.0)
    found = measure(turns.calls(), seconds=100, clock=turns.clock)
    assert found.first == (5.0, 10.0)
    assert found.warm_ups == 1
    assert [set(samples) for samples in found.timed] == [{1.0}, {2.0}]
    assert 100 <= turns.now <= 103


def test_every_round_has_every_call_once_in_an_order_that_changes() -> None:
    turns = Turns(1.0, 1.0)
    found = measure(turns.calls(), seconds=200, clock=turns.clock, warm_up=0)
    rounds = np.array(turns.order[2:]).reshape(-1, 2)
    assert len(rounds) == len(found.timed[0]) == len(found.timed[1])
    assert set(map(tuple, rounds.tolist())) == {(0, 1), (1, 0)}
    again = Turns(1.0, 1.0)
    measure(again.calls(), seconds=200, clock=again.clock, warm_up=0)
    assert again.order == turns.order
    other = Turns(1.0, 1.0)
    measure(other.calls(), seconds=200, clock=other.clock, warm_up=0, seed=1)
    assert other.order != turns.order


@pytest.mark.parametrize("warm_up, runs", [(None, 1 + 1 + LEAST_ROUNDS), (0, 1 + LEAST_ROUNDS), (7, 8 + LEAST_ROUNDS)])
def test_slow_calls_are_made_the_least_number_of_times(warm_up: int | None, runs: int) -> None:
    turns = Turns(1000.0)
    measure(turns.calls(), seconds=1, clock=turns.clock, warm_up=warm_up)
    assert len(turns.order) == runs


def test_quick_calls_are_kept_up_to_a_bound() -> None:
    turns = Turns(1e-9)
    assert len(measure(turns.calls(), seconds=100, clock=turns.clock).timed[0]) == MOST_ROUNDS


def test_collector_rests_while_calls_are_timed() -> None:
    turns = Turns(1.0)
    assert gc.isenabled()
    measure(turns.calls(), seconds=10, clock=turns.clock, warm_up=1)
    assert turns.collecting == [True, True, *[False] * (len(turns.collecting) - 2)]
    assert gc.isenabled()


def test_an_error_leaves_the_collector_on() -> None:
    with pytest.raises(ZeroDivisionError):
        measure([lambda: 1 / 0], seconds=1)
    assert gc.isenabled()


def network(first: object = "N", name: str = "net") -> Graph:
    """Relu of [first, 3]."""
    graph = Graph(name)
    data = graph.add_input("data", tensor(f"float32[{first}, 3]"))
    graph.set_outputs([graph.add(Relu(), data, name="relu")])
    return graph


def written(graph: Graph, path: Path) -> Path:
    graphir.save(graph, path)
    return path


def test_rows_by_provider_and_batch() -> None:
    found = bench(network(), batches=[1, 8], seconds=QUICK)
    assert [(row.letter, row.provider, row.batch, dict(row.inputs)) for row in found.rows] == [
        ("A", "cpu", 1, {"data": "float32[1, 3]"}),
        ("A", "cpu", 8, {"data": "float32[8, 3]"}),
    ]
    assert not found.pairs
    for row in found.rows:
        assert (row.providers, dict(row.nodes), row.bound) == ((PROVIDERS["cpu"],), {PROVIDERS["cpu"]: 1}, False)
        assert row.latency.runs >= LEAST_ROUNDS
        assert row.latency.least <= row.latency.p50 <= row.latency.p90 <= row.latency.p99 <= row.latency.most
        assert row.runs_per_second == 1 / row.latency.mean
        assert row.items_per_second == (row.batch or 0) / row.latency.mean
        assert row.start_seconds > 0
        assert row.first_seconds > 0


@pytest.mark.parametrize("first, batch", [("N", 1), (5, None)])
def test_without_a_batch_open_ones_are_one(first: object, batch: int | None) -> None:
    row = bench(network(first), seconds=QUICK).rows[0]
    assert row.batch == batch
    assert row.inputs["data"] == f"float32[{1 if batch else 5}, 3]"
    assert (row.items_per_second is None) == (batch is None)


def test_a_fixed_batch_that_is_asked_for_is_taken() -> None:
    assert bench(network(5), batches=[5], seconds=QUICK).rows[0].items_per_second is not None


def test_a_fixed_batch_refuses_another() -> None:
    refusal = r"batch 8: no input of net has an open first size \(inputs: data.* as in -i data:N,3$"
    with pytest.raises(VerificationError, match=refusal):
        bench(network(5), batches=[8], seconds=QUICK)


def test_two_models_take_turns(tmp_path: Path) -> None:
    path = written(network(), tmp_path / "net.onnx")
    found = bench(network(), path, batches=[2, 4], seconds=QUICK)
    assert [(row.letter, row.batch) for row in found.rows] == [("A", 2), ("B", 2), ("A", 4), ("B", 4)]
    assert [pair.batch for pair in found.pairs] == [2, 4]
    for place, pair in enumerate(found.pairs):
        runs = {row.latency.runs for row in found.rows[2 * place : 2 * place + 2]}
        assert runs == {pair.ratio.rounds}
        medians = [row.latency.p50 for row in found.rows[2 * place : 2 * place + 2]]
        assert pair.ratio.value == pytest.approx(medians[1] / medians[0])
    assert [model.read_seconds is None for model in found.models] == [False, True]
    assert not found.notes


@pytest.mark.parametrize("suffix", [".onnx", ".graphir.json", "-symbol.json"])
def test_every_format(tmp_path: Path, suffix: str) -> None:
    graph = models.net_graph()
    graphir.save(graph, tmp_path / f"net{suffix}", **({"format": "mxnet"} if suffix == "-symbol.json" else {}))
    row = bench(tmp_path / f"net{suffix}", shapes={"data": (2, 3, 8, 8)}, seconds=QUICK).rows[0]
    assert row.inputs["data"] == "float32[2, 3, 8, 8]"


def test_other_work_is_noted() -> None:
    found = bench(network(2), network(3), seconds=QUICK)
    assert found.notes == ["the models' inputs differ in their sizes: the ratio compares different work"]


def test_bound_runs_give_the_same() -> None:
    session = graphir.Session(models.net_graph(), providers="cpu")
    feeds = {"data": np.ones((2, 3, 8, 8), np.float32)}
    plain, bound = session.prepared(feeds), session.prepared(feeds, bound=True)
    assert (plain.bound, bound.bound, bound.device) == (False, True, "cpu")
    expected = session.run(feeds)["softmax_output"]
    for prepared in (plain, bound, bound):
        np.testing.assert_array_equal(prepared.outputs()[0], expected)
    assert bound() is None
    assert bench(models.net_graph(), timing=BenchOptions(io_binding=True), seconds=QUICK).rows[0].bound


def test_texts_cannot_be_bound() -> None:
    session = graphir.Session(models.identity(TensorProto.STRING, [2]), providers="cpu")
    feeds = {"x": np.array(["a", "b"])}
    assert session.prepared(feeds).outputs()[0].tolist() == ["a", "b"]
    with pytest.raises(graphir.RunError, match="binds tensors of numbers only, not x, y"):
        session.prepared(feeds, bound=True)


@pytest.mark.parametrize("bound", [False, True])
def test_numbers_that_numpy_lacks(bound: bool) -> None:
    session = graphir.Session(models.identity(TensorProto.BFLOAT16, [2]), providers="cpu")
    (found,) = session.prepared({"x": np.ones(2, np.float32)}, bound=bound).outputs()
    assert (found.shape(), found.data_type()) == ([2], "tensor(bfloat16)")


def test_feeds(tmp_path: Path) -> None:
    np.savez(tmp_path / "feeds.npz", data=np.ones((7, 3), np.float32))
    row = bench(network(), feeds=tmp_path / "feeds.npz", seconds=QUICK).rows[0]
    assert (row.batch, row.inputs["data"]) == (None, "float32[7, 3]")


def test_models_that_graphir_cannot_read_run_on_their_own_inputs(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    type_: tuple[int, list[Any]] = (TensorProto.FLOAT, ["N", 3])
    onnx.save(models.onnx_model([helper.make_node("Relu", ["x"], ["y"])], {"x": type_}, {"y": type_}), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphir.benchmark.read_model", unreadable)
        found = bench(path, batches=[4], seconds=QUICK)
        with pytest.raises(ImportFailure, match="made up"):
            bench(path, shapes={"x": (1, 3)})
    assert found.rows[0].inputs["x"] == "float32[4, 3]"
    assert "(made up): its inputs are drawn without a look" in found.notes[0]


def unreadable(*_: object) -> None:
    raise ImportFailure("made up")


def test_infinities_are_noted() -> None:
    graph = network()
    found = bench(graph, feeds={"data": np.full((1, 3), np.inf, np.float32)}, seconds=QUICK)
    assert found.notes == ["A gives infinities or NaN on these inputs (relu)"]


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"providers": "DmlExecutionProvider"}, ProviderError, "DmlExecutionProvider was asked for, but"),
        ({"providers": ["cpu", "none"]}, ProviderError, "'none' is no provider"),
        ({"providers": []}, ArgumentError, "at least one"),
        ({"batches": [0]}, ArgumentError, "1 or more, found 0"),
        ({"batches": 3}, ArgumentError, "batches: expected several"),
        ({"seconds": 0}, ArgumentError, "above 0"),
        ({"seconds": float("nan")}, ArgumentError, "above 0"),
        ({"seconds": "1"}, ArgumentError, "seconds"),
        ({"feeds": {}, "batches": [1]}, ArgumentError, "own batch"),
        ({"feeds": {}}, VerificationError, "the feeds lack data"),
        ({"shapes": {"nothing": (1, 2)}}, Exception, "nothing"),
    ],
)
def test_errors(tmp_path: Path, options: dict[str, Any], error: type[Exception], text: str) -> None:
    path = written(network(), tmp_path / "net.onnx")
    with pytest.raises(error, match=text):
        bench(path, **options)


@pytest.mark.parametrize("name", ["warm_up", "threads", "seed"])
def test_a_number_below_0_is_refused(name: str) -> None:
    options: dict[str, Any] = {name: -1}
    with pytest.raises(ArgumentError, match=name):
        BenchOptions(**options)


@pytest.mark.parametrize("model, error", [(3, ArgumentError), (b"", ArgumentError), ("missing.onnx", ImportFailure)])
def test_no_model(model: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        bench(model)


def test_unknown_rank_asks_for_a_shape() -> None:
    graph = Graph("open")
    graph.set_outputs([graph.add(Relu(), graph.add_input("data", TensorType(tensor("float32[1]").dtype, None)))])
    with pytest.raises(graphir.GraphirError, match="data"):
        bench(graph, seconds=QUICK)


def test_machine_facts() -> None:
    facts = machine.machine_facts()
    assert facts["cpu"]
    assert 1 <= facts["usable_cores"] <= facts["cores"]
    assert facts["graphir"] == graphir.__version__
    assert "gpus" not in facts
    assert isinstance(machine.machine_facts(gpu=True)["gpus"], list)


def test_a_run_that_fails_says_what_was_fed(tmp_path: Path) -> None:
    """The product of a first size that a batch sets and of one that the file fixes at 4."""
    path = tmp_path / "product.onnx"
    types: list[tuple[int, list[Any]]] = [(TensorProto.FLOAT, ["N", 3]), (TensorProto.FLOAT, [4, "N"])]
    node = helper.make_node("Gemm", ["a", "b"], ["y"])
    onnx.save(models.onnx_model([node], {"a": types[1], "b": (TensorProto.FLOAT, ["K", 3])}, {"y": types[0]}), path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphir.benchmark.read_model", unreadable)
        patch.setattr("graphir.inputs.sizes.BATCH", 5)
        with pytest.raises(VerificationError, match="onnxruntime failed to run the model") as caught:
            bench(path, batches=[2], seconds=QUICK)
    assert any("while timing on cpu with batch 2" in note for note in caught.value.__notes__)
    assert any("fed with a float32[4, " in note for note in caught.value.__notes__)
