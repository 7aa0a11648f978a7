"""`graphir memory`: totals, the peak, plans under a budget, pictures, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphir.cli.memory import size
from tests.cli.conftest import Command, bare

NODES = 16


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """A symbol of fully connected layers, each with a tanh."""
    nodes: list[dict[str, object]] = [{"op": "null", "name": "data", "inputs": []}]
    last = 0
    for layer in range(NODES):
        begin = len(nodes)
        nodes += [{"op": "null", "name": f"f{layer}_{kind}", "inputs": []} for kind in ("weight", "bias")]
        nodes.append({"op": "FullyConnected", "name": f"f{layer}", "attrs": {"num_hidden": "64"},
                      "inputs": [[last, 0, 0], [begin, 0, 0], [begin + 1, 0, 0]]})  # fmt: skip
        nodes.append({"op": "Activation", "name": f"t{layer}", "attrs": {"act_type": "tanh"},
                      "inputs": [[begin + 2, 0, 0]]})  # fmt: skip
        last = begin + 3
    arguments = [place for place, node in enumerate(nodes) if node["op"] == "null"]
    path = tmp_path / "chain-symbol.json"
    path.write_text(json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": [[last, 0, 0]]}))
    return path


GIVEN = ("-i", "data:4096,64")
LAYER = 4096 * 64 * 4


def test_a_run(graphir: Command, chain: Path) -> None:
    found = graphir("memory", chain, *GIVEN)
    assert found.code == 0
    assert "peak        2.0 MiB" in found.out
    assert "At the peak, step" in found.out


def test_training(graphir: Command, chain: Path) -> None:
    data = graphir("memory", chain, *GIVEN, "--training", "--json").data
    assert data["peak"] > NODES * LAYER
    assert data["allocated"] >= data["peak"]
    assert data["steps"] == len(data["live"])
    assert data["plan"] is None


def test_a_budget(graphir: Command, chain: Path, tmp_path: Path) -> None:
    plain = graphir("memory", chain, *GIVEN, "--training", "--mxnet", "--json").data
    target = tmp_path / "small-symbol.json"
    data = graphir(
        "memory", chain, *GIVEN, "--budget", "16MB", "--mxnet", "--symbol", target, "--seconds", "10", "--json"
    ).data
    assert data["allocated"] <= 16 << 20 < plain["allocated"]
    assert data["plan"]["nodes_twice"] == len(data["recomputed"]) > 0
    assert sum(map(len, data["plan"]["segments"])) >= data["plan"]["nodes_twice"]
    again = graphir("memory", target, *GIVEN, "--training", "--mxnet", "--json").data
    assert again["allocated"] == data["allocated"]
    assert again["recomputed"] == data["recomputed"]


def test_the_plan_in_words(graphir: Command, chain: Path) -> None:
    out = " ".join(graphir("memory", chain, *GIVEN, "--least", "--seconds", "10").out.split())
    assert "nodes run twice" in out
    assert "segments for torch.utils.checkpoint, first to last node:" in out
    assert "of the forward pass is done twice" in out


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_it_fits_the_terminal(terminal: Command, chain: Path, columns: int) -> None:
    out = bare(terminal(columns, "memory", chain, *GIVEN, "--least", "--seconds", "2").out)
    assert max(map(len, out.splitlines())) <= columns


@pytest.mark.parametrize("suffix, begins", [("html", "<!DOCTYPE html>"), ("svg", "<svg ")])
def test_pictures(graphir: Command, chain: Path, tmp_path: Path, suffix: str, begins: str) -> None:
    target = tmp_path / f"memory.{suffix}"
    assert graphir("memory", chain, *GIVEN, "--timeline", target).code == 0
    assert target.read_text().startswith(begins)


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        ((), 1, "give the shapes of the inputs, such as -i data:SIZES"),
        (("-i", "data:N,64"), 1, "the open sizes are N; give the shapes of the inputs, such as -i data:1,64"),
        (("-i", "data:N,64", "--training"), 1, "give the shapes of the inputs, such as -i data:1,64"),
        ((*GIVEN, "--budget", "1KB", "--seconds", "5"), 1, "no plan was found that trains in 1024 bytes"),
        ((*GIVEN, "--budget", "much"), 2, "'much' is not a size; write a number with a unit, as in 512MB or 1.5GB"),
        ((*GIVEN, "--budget", "1MB", "--least"), 2, "not allowed with"),
        ((*GIVEN, "--symbol", "x.json"), 2, "a plan to write needs --budget or --least"),
        ((*GIVEN, "--timeline", "x.png"), 2, "its name must end in .html or .svg"),
    ],
)
def test_refusals(graphir: Command, chain: Path, arguments: tuple[str, ...], code: int, text: str) -> None:
    found = graphir("memory", chain, *arguments)
    assert (found.code, found.out) == (code, "")
    assert text in found.err


@pytest.mark.parametrize(
    "text, nbytes", [("512MB", 512 << 20), ("1.5 GB", 3 << 29), ("1000", 1000), ("2kib", 2048), ("7B", 7)]
)
def test_sizes(text: str, nbytes: int) -> None:
    assert size(text) == nbytes
