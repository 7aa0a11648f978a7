"""Plans for MXNet: less memory than memonger's at no more work, as live MXNet's executor confirms."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.analysis.memory.recompute.problem import NoPlan
from graphir.converters.mxnet.files.nnvm_json import read_symbol, to_json
from graphir.converters.mxnet.memory.plan import Planned, from_environment
from graphir.converters.mxnet.memory.recompute import Search, with_marks
from graphir.converters.mxnet.memory.thresholds import Walk, search
from tests.converters.mxnet.memory.golden import NAMES, planned
from tests.models.nets_memory import preactivated_small

pytestmark = pytest.mark.live
# Plans of large networks take a minute each; GRAPHIR_ALL_PLANS=1 makes them all.
ALL = os.environ.get("GRAPHIR_ALL_PLANS") == "1"
SEARCHED = NAMES if ALL else ("mlp12_b4096", "lstm_seq10", "resnet18_b32")
UNITS = 111 if ALL else 12  # of each of three stages: ResNet-1001, ResNet-110


def live_total(mxnet: ModuleType, text: str, shapes: dict[str, Any], grad_req: str = "write") -> int:
    """The MB that live MXNet's executor says it allocated."""
    executor = mxnet.sym.load_json(text).simple_bind(mxnet.cpu(), grad_req=grad_req, **shapes)
    line = next(line for line in executor.debug_str().splitlines() if line.endswith("MB allocated"))
    return int(line.split()[1])


@pytest.mark.parametrize("name", SEARCHED)
def test_no_more_memory_than_memonger_at_no_more_work(name: str, shared: Path, mxnet: ModuleType) -> None:
    model = planned(name, shared, mxnet)
    switches = from_environment({})
    plans = Search(model, switches)
    places = {number: node for node, number in enumerate(plans.numbers)}

    def measured(marks: Any) -> Any:
        return plans.measure(places[number] for number, forced in marks.forced.items() if forced and number in places)

    tried = search(Walk(model.graph, model.types), lambda marks: measured(marks).total >> 20)
    theirs = measured(min(tried, key=lambda trial: trial.cost).marks)
    ours = Search(model, switches).find(theirs.total, seconds=300.0)
    assert ours.best.total <= theirs.total
    assert ours.best.work <= theirs.work
    shapes = _shapes(model)
    marked = to_json(with_marks(model.graph, dict.fromkeys(ours.best.marks, True)))
    assert live_total(mxnet, marked, shapes) == ours.best.total >> 20


def _shapes(model: Planned) -> dict[str, Any]:
    return {
        node.name: model.types[number][0][0]
        for number, node in enumerate(model.graph.nodes)
        if node.op == "null" and node.name in model.given
    }


def test_a_very_deep_chain_takes_a_third(mxnet: ModuleType) -> None:
    shapes = {"data": (4, 3, 32, 32)}
    with mxnet.name.NameManager():
        model = Planned(read_symbol(preactivated_small(mxnet, UNITS)), shapes)
    found = Search(model, from_environment({})).find(None, seconds=300.0)
    assert found.best.total * 3 < found.without.total
    marked = to_json(with_marks(model.graph, dict.fromkeys(found.best.marks, True)))
    assert live_total(mxnet, marked, shapes) == found.best.total >> 20


def test_a_budget_that_nothing_fits(shared: Path, mxnet: ModuleType) -> None:
    with pytest.raises(NoPlan, match=r"no plan was found that trains in 1000 bytes .*; the least that was found is"):
        Search(planned("mlp12_b4096", shared, mxnet), from_environment({})).find(1000, seconds=20.0)


def test_gradients_are_those_of_the_unmarked_network(shared: Path, mxnet: ModuleType) -> None:
    model = planned("mlp12_b4096", shared, mxnet)
    found = Search(model, from_environment({})).find(None, seconds=20.0)
    plain = json.loads(to_json(model.graph))
    marked = json.loads(to_json(with_marks(model.graph, dict.fromkeys(found.best.marks, True))))
    results = [_gradients(mxnet, json.dumps(text)) for text in (plain, marked)]
    assert results[0].keys() == results[1].keys()
    assert all((results[0][name] == results[1][name]).all() for name in results[0])


def _gradients(mxnet: ModuleType, text: str) -> dict[str, Any]:
    executor = mxnet.sym.load_json(text).simple_bind(mxnet.cpu(), grad_req="write", data=(8, 256))
    mxnet.random.seed(1)
    for array in executor.arg_arrays:
        array[:] = mxnet.nd.random.uniform(-1, 1, array.shape)
    executor.forward(is_train=True)
    executor.backward()
    return {name: array.asnumpy() for name, array in executor.grad_dict.items()}
