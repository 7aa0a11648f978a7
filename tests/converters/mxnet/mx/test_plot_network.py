"""`mx.viz.plot_network` against the texts that MXNet 1.9.1 made with graphviz 0.8.4."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from graphir.converters.mxnet import mx
from graphir.converters.mxnet.mx.visualization.network import Digraph, plot_network, quote
from graphir.errors import ExportFailure
from tests.requirements import missing, needing
from tests.typed import untyped

GRAPHS = (
    *("mlp", "basic_g", "conv_factory", "inception_a", "composed", "group"),
    *("lightcnn_slice", "mixed_params", "lenet_1x1x32x32"),
)
MODES = ("default", "shape", "shape_oval", "show_weights", "shape_dtype")
CASES = [(graph, mode) for graph in GRAPHS for mode in MODES] + [("resnet18", "shape_oval")]


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    """The graphs with their texts, by name."""
    return dict(json.loads((shared / "golden" / "plot_network_dot.json").read_text())["graphs"])


def options(mode: str, shapes: Mapping[str, list[int]]) -> dict[str, Any]:
    """The arguments with which a text was made."""
    given = {name: tuple(shape) for name, shape in shapes.items()}
    modes: dict[str, dict[str, Any]] = {
        "default": {},
        "shape": {"shape": given},
        "shape_oval": {"shape": given, "node_attrs": {"shape": "oval", "fixedsize": "false"}},
        "show_weights": {"shape": given, "hide_weights": False},
        "shape_dtype": {"shape": given, "dtype": dict.fromkeys(given, "float32")},
    }
    return modes[mode]


@pytest.mark.parametrize(("graph", "mode"), CASES)
def test_as_mxnet_made_it(graph: str, mode: str, golden: dict[str, Any], shared: Path) -> None:
    case = golden[graph]
    made = plot_network(mx.sym.load_json(case["symbol_json"]), **options(mode, case["input_shapes"])).source
    assert made == case["dot"][mode]
    assert made == (shared / "golden" / "dot" / f"{graph}.{mode}.dot").read_text()


def test_every_golden_text_is_a_case(golden: dict[str, Any], shared: Path) -> None:
    assert {(graph, mode) for graph, case in golden.items() for mode in case["dot"]} == set(CASES)
    assert {path.stem for path in (shared / "golden" / "dot").iterdir()} == {".".join(case) for case in CASES}


LIVE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy
numpy.bool = bool
import mxnet as mx, graphviz
made = []
for path, options in json.load(sys.stdin):
    try:
        symbol = mx.sym.load(path)
        made.append(mx.viz.plot_network(symbol, **options).source)
    except Exception as error:
        made.append(type(error).__name__)
print(json.dumps([graphviz.__version__, made]))
"""


@pytest.mark.live
@pytest.mark.filterwarnings("ignore:There are multiple variables with the same name")
def test_as_live_mxnet_makes_it_of_real_models(shared: Path) -> None:
    """Every symbol that MXNet draws; at some of them it raises KeyError, where there is a text here."""
    paths = sorted((shared / "models").glob("mxnet*/*/*-symbol.json"))
    given = [(str(path), options) for path in paths for options in ({}, {"hide_weights": False, "title": "a net"})]
    with needing("MXNet"):
        done = subprocess.run(
            [os.environ.get("GRAPHIR_MXNET_PYTHON", sys.executable), "-c", LIVE],
            input=json.dumps(given),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise ImportError(done.stderr[-2000:])
    version, texts = json.loads(done.stdout.splitlines()[-1])
    if version != "0.8.4":
        missing("MXNet", f"graphviz is {version}: the text is that of 0.8.4, which MXNet 1.9.1 demands")
    drawn = [(case, text) for case, text in zip(given, texts, strict=True) if text.startswith("digraph")]
    assert len(drawn) > len(given) // 2
    ours = [plot_network(mx.sym.load(path), **untyped(options)).source for (path, options), _ in drawn]
    assert ours == [text for _, text in drawn]


SEVERAL = """{"nodes": [
  {"op": "null", "name": "x", "inputs": []},
  {"op": "topk", "name": "best", "attrs": {"ret_typ": "both", "k": "2"}, "inputs": [[0, 0, 0]]},
  {"op": "elemwise_add", "name": "%s", "inputs": [[1, 0, 0], [1, 1, 0]]},
  {"op": "Pooling", "name": "pool", "attrs": {"global_pool": "True"}, "inputs": [[2, 0, 0]]}
  ], "arg_nodes": [0], "heads": [[%d, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}"""


def test_results_without_a_stated_number_are_shown() -> None:
    made = plot_network(mx.sym.load_json(SEVERAL % ("sum", 2)), shape={"x": (3, 7)}).source
    assert made.count("sum -> best [label=2 ") == 2


def test_a_pooling_without_attributes_is_shown() -> None:
    assert '[label="Pooling\nmax, []/1" ' in plot_network(mx.sym.load_json(SEVERAL % ("sum", 3))).source


def test_a_repeated_name_is_warned_of() -> None:
    text = "There are multiple variables with the same name in your graph, .* Repeated names: x"
    with pytest.warns(RuntimeWarning, match=text):
        plot_network(mx.sym.load_json(SEVERAL % ("x", 2)))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda symbol: plot_network(untyped("net")), TypeError, "expected a Symbol, found str"),
        (lambda symbol: plot_network(symbol, shape={}), ValueError, "shapes of the inputs leave others open"),
        (lambda symbol: plot_network(symbol.get_internals()[0], dtype={}), ValueError, "dtypes of the inputs leave"),
        (lambda symbol: plot_network(symbol, save_format="p d f"), ValueError, "unknown format: 'p d f'"),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(mx.sym.load_json(SEVERAL % ("sum", 2)))


@pytest.mark.parametrize("name", ['a"b', 'a\\"]; evil [label="', "<b>x</b>", "end\\", "node", "two\nlines", "a:b:c d"])
def test_a_name_stays_within_its_quotes(name: str) -> None:
    """What stands outside of quotes, read as Graphviz reads them, is our own."""
    drawn = Digraph("t")
    drawn.node(name, label=name, fillcolor="#fff")
    drawn.edge(name, "other")
    outside, inside, rest = "", False, iter(drawn.source)
    for character in rest:
        if inside and character == "\\":
            next(rest)
        elif character == '"':
            inside = not inside
        elif not inside:
            outside += character
    assert not inside
    assert set("".join(outside.split())) <= set("digraphtlbefcos{}[]=->:")


def test_quotes() -> None:
    assert quote("") == '""'
    assert quote("_maximum0") == "_maximum0"


def test_saved_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = plot_network(mx.sym.load_json(SEVERAL % ("sum", 2)), title="net", save_format="gv")
    assert drawn.save() == "net.gv"
    assert Path("net.gv").read_text() == drawn.source + "\n"
    assert drawn.render("deep/net.dot", cleanup=True) == "deep/net.dot.gv"
    assert sorted(path.name for path in Path("deep").iterdir()) == ["net.dot.gv"]


def test_a_drawing_without_graphviz_says_what_does_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    drawn = plot_network(mx.sym.load_json(SEVERAL % ("sum", 2)))
    with pytest.raises(ExportFailure, match=r"cannot draw plot as pdf: the program dot of Graphviz is not installed"):
        drawn.render("plot.gv", str(tmp_path))
    assert (tmp_path / "plot.gv").read_text() == drawn.source + "\n"


def test_the_program_is_given_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for Graphviz that gives back its argument and what it read."""
    program = tmp_path / "dot"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.stdout.write(sys.argv[1] + sys.stdin.read())\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    drawn = Digraph("net", format="svg")
    assert drawn.pipe() == b"-Tsvg" + drawn.source.encode()
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no such font')\n")
    with pytest.raises(ExportFailure, match="dot cannot draw net as svg: no such font"):
        drawn.pipe()
