"""`graphir cost`, and the table of `graphir summary`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import graphir as library
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.types import DType, TensorType
from tests.report.pages import check_page
from tests.requirements import shared_folder

from .conftest import Command, bare

SHAPE = ("-i", "data:1,1,8,8")
MODELS = sorted(
    str(path.relative_to(folder))
    for folder in [shared_folder() or Path("none")]
    for pattern in ("models/mxnet/*", "models/onnx/*/*.onnx", "models/tf/*/*.pb")
    for path in folder.glob(pattern)
)
UNREADABLE = ("bmxnet-mnist-32", "mms-mnist", "tract-hey-snips")


def test_totals_are_the_sums_of_layers_and_of_operators(graphir: Command, digits: Path) -> None:
    data = graphir("cost", digits, *SHAPE, "--json").data
    assert (data["macs"], data["flops"], data["parameters"]) == (89568, 186204, 11642)
    assert (data["trainable_parameters"], data["auxiliary_parameters"]) == (11546, 96)
    for key in ("macs", "flops", "activation_bytes", "parameters"):
        assert sum(layer[key] for layer in data["layers"]) == data[key]
        assert sum(row[key] for row in data["operators"]) == data[key]
    assert data == graphir("cost", digits, "--shapes", SHAPE[1], "--json").data
    assert graphir("summary", digits, *SHAPE, "--json").data["macs"] == data["macs"]


def test_open_sizes_stay_symbols(graphir: Command, digits: Path) -> None:
    data = graphir("cost", digits, "--json").data
    assert (data["macs"], data["flops"]) == ("89568*N", "186204*N")
    assert "89568*N" in graphir("cost", digits).out


def test_csv(graphir: Command, digits: Path, tmp_path: Path) -> None:
    out = graphir("cost", digits, *SHAPE, "--csv").out
    rows = list(csv.DictReader(out.splitlines()))
    assert sum(int(row["macs"]) for row in rows) == 89568
    assert rows[0]["name"] == "conv1"
    target = tmp_path / "cost.csv"
    assert graphir("cost", digits, *SHAPE, "--report", target, "-q").out == ""
    assert list(csv.DictReader(target.read_text().splitlines())) == rows
    assert graphir("cost", digits, "--csv", "--json").code == 2


@pytest.mark.parametrize("name", ["=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\uff1d1", "a\n=1"])
def test_no_cell_is_a_formula(name: str, graphir: Command, tmp_path: Path) -> None:
    graph = Graph("g")
    graph.set_outputs([graph.add(Relu(), graph.add_input(name, TensorType(DType.FLOAT32, (2, 3))), name=name)])
    library.save(graph, tmp_path / "m.onnx")
    assert graphir("cost", tmp_path / "m.onnx", "--report", tmp_path / "cost.csv").code == 0
    (row,) = csv.DictReader((tmp_path / "cost.csv").read_text(encoding="utf-8").splitlines())
    assert name[-1] in row["name"]
    for cell in row.values():
        assert cell.isdecimal() or not cell.strip().startswith(("=", "+", "-", "@", "\uff1d")), cell


def test_page(graphir: Command, digits: Path, tmp_path: Path) -> None:
    for options in (SHAPE, ()):
        assert graphir("cost", digits, *options, "--html", tmp_path / "cost.html").code == 0
        page = (tmp_path / "cost.html").read_text()
        check_page(page)
        assert "BatchNormalization" in page
        assert ('class="profile"' in page) == bool(options)
    assert graphir("cost", digits, "--report", tmp_path / "cost.json").code == 0
    assert json.loads((tmp_path / "cost.json").read_text())["macs"] == "89568*N"


def test_a_name_is_no_markup_and_acts_on_no_terminal(graphir: Command, tmp_path: Path) -> None:
    graph = Graph("g")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    first = graph.add(Relu(), x, name="<b>\x1b[2J", output="first")
    graph.set_outputs([graph.add(Relu(), first, name="second")])
    library.save(graph, tmp_path / "g.graphir.json")
    outcome = graphir("cost", tmp_path / "g.graphir.json", "--report", tmp_path / "c.html")
    assert "\x1b" not in outcome.out + (tmp_path / "c.html").read_text()
    assert "<b>\\x1b" not in (tmp_path / "c.html").read_text()
    assert "\x1b" not in graphir("cost", tmp_path / "g.graphir.json", "--csv").out


@pytest.mark.parametrize("command", ["cost", "summary"])
@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_tables_fit_the_terminal(
    graphir: Command, terminal: Command, tmp_path: Path, command: str, columns: int
) -> None:
    graph = Graph("g")
    value = graph.add_input("data", TensorType(DType.FLOAT32, (2, 3, 224, 224)))
    for number in range(3):
        value = graph.add(Relu(), value, name=f"a/long/scope/of/names/which/goes/on/and/on/relu_{number}")
    graph.set_outputs([value])
    library.save(graph, tmp_path / "g.graphir.json")
    lines = bare(terminal(columns, command, tmp_path / "g.graphir.json").out).splitlines()
    scope = "a/long/scope/of/names/which/goes/on/and/on/"
    assert max(len(line) for line in lines if scope not in line) <= columns
    assert any("relu_2" in line for line in lines)
    name = f"{scope}relu_2"
    whole = bare(terminal(columns, command, "-v", tmp_path / "g.graphir.json").out)
    assert name in whole.replace("\n", "").replace(" ", "") or columns < 120
    assert name in graphir(command, tmp_path / "g.graphir.json", "-v").out


@pytest.mark.one_of(8)
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS or ["models"])
def test_real_models(terminal: Command, shared: Path, name: str) -> None:
    for command in ("cost", "summary"):
        outcome = terminal(80, command, shared / name)
        refused = any(part in name for part in UNREADABLE)
        assert outcome.code == (1 if refused else 0)
        assert refused or all(len(line) <= 80 for line in bare(outcome.out).splitlines()[2:])
