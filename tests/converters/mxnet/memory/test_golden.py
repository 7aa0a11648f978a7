"""MXNet 1.9.1's plans, to the MB and the node, and memonger's search, on the networks of golden/memonger.json."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphir.analysis.memory.blocks import plan_blocks
from graphir.analysis.memory.program import Program
from graphir.converters.mxnet import mx
from graphir.converters.mxnet.files.nnvm_json import to_json
from graphir.converters.mxnet.memory.plan import from_environment
from graphir.converters.mxnet.mx import memonger
from tests.converters.mxnet.memory.golden import NAMES, forced, golden, network, planned

pytestmark = pytest.mark.live
GRAPHS = (
    *((net, req, mark) for net in ("mlp12_b4096", "example_resnet_1_1_1_1_b32", "resnet18_b32")
      for req, mark in (("null", "-"), ("write", "-"), ("write", "0"))),
    ("lstm_seq10", "write", "-"),
)  # fmt: skip


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", NAMES)
def test_totals_and_node_counts(name: str, shared: Path, mxnet: ModuleType) -> None:
    model = planned(name, shared, mxnet)
    found, expected = [], []
    for row in golden(shared, "memonger.json")["full_model_check"]["rows"]:
        if row["net"] == name:
            switches = replace(from_environment({}), training=row["req"] == "write")
            program = model.program(switches, forced(model, row["threshold"]))
            blocks = plan_blocks(program, switches.sharing)
            found.append((row["req"], row["threshold"], blocks.total >> 20, program.nodes))
            expected.append((row["req"], row["threshold"], row["mxnet_mb"], row["nodes_mxnet"]))
    assert found == expected
    assert found or name == "example_resnet_3_8_36_3_b32"  # which the golden file has a search of only


@pytest.mark.parametrize("name", ["mlp12_b4096", "resnet50_b32", "example_resnet_3_4_6_3_b32", NAMES[-1]])
def test_environment_variables(name: str, shared: Path, mxnet: ModuleType) -> None:
    model = planned(name, shared, mxnet)
    found, expected = [], []
    for row in golden(shared, "memonger.json")["env_variations"]:
        if row["net"] == name and row["env"]["MXNET_SUBGRAPH_BACKEND"] == "NONE":
            switches = replace(from_environment(row["env"]), training=row["req"] == "write")
            program = model.program(switches)
            total = plan_blocks(program, switches.sharing).total
            found.append((row["env"], row["req"], total >> 20, len(program.steps)))
            expected.append((row["env"], row["req"], row["mb"], row["op_nodes"]))
    assert found == expected
    assert len(found) == 18


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", NAMES)
def test_search(
    name: str, shared: Path, mxnet: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MXNET_BACKWARD_DO_MIRROR", raising=False)
    graph, shapes = network(name, shared, mxnet)
    symbol = mx.sym.load_json(to_json(graph))
    before = symbol.tojson()
    best = memonger.search_plan(symbol, **shapes)
    expected = golden(shared, "memonger.json")["nets"][name]
    assert capsys.readouterr().out.splitlines() == expected["stdout"][:-1]
    assert symbol.tojson() == before
    assert memonger.get_cost(symbol, **shapes) == expected["old_cost_mb"]
    assert memonger.get_cost(best, **shapes) == expected["new_cost_mb"]
    stated = {node: held["force_mirroring"] for node, held in best.attr_dict().items() if "force_mirroring" in held}
    assert sum(mark == "True" for mark in stated.values()) == expected["n_force_true"]
    kept = [node for node, mark in stated.items() if mark == "False"]
    known = expected["kept_nodes_force_false"]
    assert kept == known if isinstance(known, list) else len(kept) == known["count"]


@pytest.mark.parametrize("net, req, mark", GRAPHS)
def test_order_of_execution(net: str, req: str, mark: str, shared: Path, mxnet: ModuleType) -> None:
    row = next(
        row for row in golden(shared, "memory_plan_graphs.json")["graphs"]
        if (row["net"], row["grad_req"], row["mirror_threshold_mb"]) == (net, req, mark)
    )  # fmt: skip
    model = planned(net, shared, mxnet)
    switches = replace(from_environment({}), training=req == "write")
    program = model.program(switches, forced(model, None if mark == "-" else int(mark)))
    assert plan_blocks(program, switches.sharing).total == row["model_bytes"]
    assert steps_of(program) == steps_as_stated(row["nodes"])


def steps_of(program: Program) -> list[Any]:
    """Every step: operator, what it reads and makes by the names of producers and places, shapes."""
    names = {
        tensor: (step.name, place) for step in program.steps for place, tensor in enumerate(step.outputs)
    }
    return [
        [step.operator, [names.get(read, (program.tensors[read].name, 0)) for read in step.inputs],
         [program.tensors[made].shape for made in step.outputs]]
        for step in program.steps
    ]  # fmt: skip


def steps_as_stated(nodes: list[Any]) -> list[Any]:
    """The same of a golden graph, whose entries are numbered: variables in their place, results in order."""
    names: dict[int, tuple[str, int]] = {}
    steps = []
    number = 0
    for name, operator, inputs, outputs in nodes:
        if operator == "var":
            names[number] = (name, 0)
            number += 1
            continue
        names |= {entry: (name, place) for place, (entry, _) in enumerate(outputs)}
        number += len(outputs)
        steps.append([operator, [names[entry] for entry in inputs], [tuple(shape) for _, shape in outputs]])
    return steps


def test_a_plan_of_one_threshold(shared: Path, mxnet: ModuleType) -> None:
    graph, shapes = network("mlp12_b4096", shared, mxnet)
    info: dict[str, int] = {}
    symbol = memonger.make_mirror_plan(mx.sym.load_json(to_json(graph)), 16, info, **shapes)
    trial = golden(shared, "memonger.json")["nets"]["mlp12_b4096"]["trials"][1]
    assert info == {"max_size": trial["max_size"], "save_size": trial["save_size"]}
    assert symbol.attr_dict()["relu1"]["force_mirroring"] == "False"
