"""Choosing a part of a model: signatures, inner nodes as outputs, and nodes at which the graph is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

import graphir
from graphir.cli import main
from graphir.converters.tensorflow import load
from graphir.errors import ImportFailure
from tests.tensorflow.graphdef import const, function, graph_def, node, placeholder
from tests.tensorflow.keras_files import archive, functional, weights_file

FLOAT = {"T": "float32"}
X = placeholder("x", "float32", (None, 4))
SAME = function("same", {"a": "float32"}, {"r": ("float32", "inner:y:0")}, node("Neg", "inner", ["a"], **FLOAT))


def _parts(*names: str) -> list[dict[str, object]]:
    return [const("axis", 1, "int32"), node("Split", "parts", ["axis", names[0]], num_split=2, **FLOAT)]


GRAPH = graph_def(
    X,
    placeholder("text", "string", ()),
    node("DecodeRaw", "decode", ["text"], out_type="uint8"),
    node("Cast", "cast", ["decode"], SrcT="uint8", DstT="float32"),
    node("AddV2", "sum", ["x", "cast"], **FLOAT),
    *_parts("sum"),
    node("Relu", "first", ["parts"], **FLOAT),
    node("Exp", "second", ["parts:1"], **FLOAT),
    node("PartitionedCall", "call", ["second"], f="same", Tin=["float32"], Tout=["float32"]),
    node("PlaceholderWithDefault", "half", ["second"], dtype="float32", shape=(None, 2)),
    node("Mul", "y", ["first", "half"], **FLOAT),
    functions=[SAME],
)

BRANCHES = graph_def(
    X,
    placeholder("c", "bool", ()),
    node("Switch", "switch", ["x", "c"], **FLOAT),
    node("Neg", "neg", ["switch"], **FLOAT),
    node("Merge", "merged", ["neg", "switch:1"], N=2, **FLOAT),
)


@pytest.mark.parametrize("name", ["neg", "switch:1"])
def test_an_output_in_a_branch_is_refused(name: str) -> None:
    with pytest.raises(
        ImportFailure, match=f"{name}.* is computed in a branch of the conditional on c,.*name what the Merge"
    ):
        load(BRANCHES, outputs=[name])


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected", "nodes"),
    [
        (["sum"], None, {"sum"}, 5),
        (["sum:0"], ["y:0"], {"sum"}, 4),
        (["parts"], ["first"], {"parts"}, 1),
        (["parts:1"], ["second"], {"parts:1"}, 1),
        (["parts", "parts:1"], ["y"], {"parts", "parts:1"}, 3),
        (["sum", "parts:1"], ["y"], {"sum", "parts:1"}, 4),
        (["call"], ["call"], {"call"}, 1),
        (["half", "sum"], ["y"], {"half", "sum"}, 3),
        (["cast"], ["sum"], {"x", "cast"}, 1),
        (["x", "cast"], ["sum"], {"x", "cast"}, 1),
    ],
)  # fmt: skip
def test_graph_is_cut(inputs: list[str], outputs: list[str] | None, expected: set[str], nodes: int) -> None:
    shapes = {name: ("N", 4 if name in ("sum", "cast") else 2) for name in expected - {"x"}}
    graph = load(GRAPH, inputs=inputs, outputs=outputs, shapes=shapes)
    graph.check()
    assert {value.name for value in graph.inputs} == expected
    assert len(graph) == nodes
    assert [held.node for held in graph.decisions if held.kind == "inputs chosen"] == [
        name.removesuffix(":0") for name in inputs
    ]


@pytest.mark.parametrize(
    ("inputs", "outputs", "reason"),
    [
        (["nothing"], None, "no node 'nothing' that could become an input$"),
        (["add/sum"], None, "no node 'add/sum' .*; there is sum$"),
        (["sum"], ["net/call/inner"], "no node gives the output net/call/inner; there is call/inner$"),
        (["sum"], ["nothing"], "no node gives the output nothing"),
        ([], ["y"], "DecodeRaw"),
    ],
)
def test_what_cannot_be_chosen_is_told(inputs: list[str], outputs: list[str] | None, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        load(GRAPH, inputs=inputs, outputs=outputs)


def test_a_shape_for_an_inner_node_names_the_option() -> None:
    with pytest.raises(ImportFailure, match=r"'first', which is no input \(.*--inputs makes it one\)"):
        load(GRAPH, inputs=["sum"], shapes={"sum": (1, 4), "first": (1, 2)})


@pytest.mark.live
@pytest.mark.usefixtures("live_tensorflow")
@pytest.mark.parametrize(
    ("chosen", "code"),
    [
        (["--inputs", "sum", "--outputs", "y,second", "-i", "sum:3,4"], 0),
        (["--inputs=parts:1", "--outputs", "second", "-i", "parts:1:3,2"], 0),
        (["--inputs", "parts,parts:1", "--outputs=y", "-i", "parts:N,2", "-i", "parts:1:N,2", "--per-layer"], 0),
    ],
)
def test_cut_graph_equals_tensorflow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chosen: list[str], code: int
) -> None:
    source, target = str(tmp_path / "frozen.pb"), str(tmp_path / "out.onnx")
    Path(source).write_bytes(GRAPH)
    assert main(["convert", source, target, "--verify", "--against", "live", *chosen]) == code
    assert main(["verify", source, target, "--against", "live", *chosen]) == code
    assert "in a child process" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["shapes"], ["padding"], ["summary"], ["check"]])
def test_commands_take_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    (tmp_path / "frozen.pb").write_bytes(GRAPH)
    options = ["--inputs", "sum", "--outputs", "y", "-i", "sum:N,4"]
    assert main([*command, str(tmp_path / "frozen.pb"), *options]) == 0
    assert "second" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--outputs", "y,,x"], 2, "has an empty name"),
        (["--outputs", "gone"], 1, "no node gives the output gone"),
        (["--signature", "s"], 1, "no signatures"),
    ],
)
def test_wrong_choices_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, text: str
) -> None:
    (tmp_path / "frozen.pb").write_bytes(GRAPH)
    assert main(["shapes", str(tmp_path / "frozen.pb"), *options]) == code
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--outputs", "gone"], "has no value or layer 'gone'"),
        (["--inputs", "x"], "has no value or layer 'x'"),
        (["--signature", "s"], "of TensorFlow models only"),
    ],
)
def test_what_other_formats_have_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], text: str
) -> None:
    source, target = str(tmp_path / "frozen.pb"), str(tmp_path / "out.onnx")
    Path(source).write_bytes(GRAPH)
    assert main(["convert", source, target, "--inputs", "sum", "-i", "sum:N,4"]) == 0
    assert main(["shapes", target, *options]) == 1
    assert main(["convert", target, str(tmp_path / "again.onnx"), *options]) == 1
    assert main(["verify", target, target, *options]) == 1
    assert capsys.readouterr().err.count(text) == 3


def test_what_becomes_an_input_has_the_type_that_the_whole_model_gives_it(tmp_path: Path) -> None:
    model = graph_def(X, node("Relu", "act", ["x"], **FLOAT), *_parts("act"))
    (tmp_path / "frozen.pb").write_bytes(model)
    (value,) = graphir.load(tmp_path / "frozen.pb", inputs=["act"]).inputs
    assert str(value.type) == "float32[N, 4]"
    (value,) = graphir.load(tmp_path / "frozen.pb", inputs=["act"], shapes={"act": (2, 6)}).inputs
    assert str(value.type) == "float32[2, 6]"


def test_layers_of_keras_mean_what_they_give(tmp_path: Path) -> None:
    config, layers = functional()
    (tmp_path / "model.keras").write_bytes(archive(config, weights_file(layers)))
    whole = graphir.load(tmp_path / "model.keras")
    part = graphir.load(tmp_path / "model.keras", outputs=["summed"], inputs=["left", "inner"])
    part.check()
    assert [value.name for value in part.inputs] == ["left", "inner"]
    assert {str(value.type) for value in part.inputs} == {"float32[N, 4]"}
    assert [value.name for value in part.outputs] == ["summed"]
    assert len(part) < len(whole)
    with pytest.raises(ImportFailure, match="no node gives the output lefft; there is left"):
        graphir.load(tmp_path / "model.keras", outputs=["lefft"])
