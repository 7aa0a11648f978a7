"""Which input and output is which: by name, by shape, by position, as stated; and a question where that was wrong."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.errors import VerificationError
from graphir.graph import Graph, Value
from graphir.ops.activation import Relu, Sigmoid, Tanh
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Abs, Add, Div, Exp, Min, Mul, Neg, Sub
from graphir.ops.shape import Transpose
from graphir.padding import symmetric
from graphir.passes.clone import clone
from graphir.symbolic.dims import symbol
from graphir.types import Dim, DType, TensorType
from graphir.verification.pairs.matches import Match, other_fittings, parse_match
from graphir.verification.running.layouts import fit_inputs
from graphir.verification.verdict import Verdict


def results(names: str, order: str = "") -> Graph:
    """Relu, Sigmoid and Tanh of x under these names, as outputs in this order."""
    graph = Graph("results")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 5)))
    made = {name: graph.add(op(), x, name=name) for op, name in zip((Relu, Sigmoid, Tanh), names, strict=False)}
    graph.set_outputs([made[name] for name in order or names])
    return graph


def composed(names: str, order: str = "") -> Graph:
    """`results` of operators that no graph tells to be Relu, Sigmoid and Tanh."""
    graph = Graph("composed")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 5)))
    one, two, half = (graph.constant(np.float32(number)) for number in (1, 2, 0.5))

    def relu(name: str) -> Value:
        return graph.add(Mul(), graph.add(Add(), graph.add(Abs(), x), x), half, name=name)

    def sigmoid(name: str, value: Value = x) -> Value:
        return graph.add(Div(), one, graph.add(Add(), graph.add(Exp(), graph.add(Neg(), value)), one), name=name)

    def tanh(name: str) -> Value:
        inner = sigmoid(f"{name}_inner", graph.add(Mul(), x, two))
        return graph.add(Sub(), graph.add(Mul(), inner, two), one, name=name)

    made = {name: write(name) for write, name in zip((relu, sigmoid, tanh), names, strict=False)}
    graph.set_outputs([made[name] for name in order or names])
    return graph


def difference(names: str, shapes: tuple[tuple[int, ...], ...] = ((2, 5), (2, 5)), order: str = "") -> Graph:
    """3 a - b for inputs a and b under these names, in this order."""
    graph = Graph("difference")
    sizes = dict(zip(names, shapes, strict=True))
    held = {name: graph.add_input(name, TensorType(DType.FLOAT32, sizes[name])) for name in order or names}
    tripled = graph.add(Mul(), held[names[0]], graph.constant(np.float32(3)))
    graph.set_outputs([graph.add(Sub(), tripled, held[names[1]], name="y")])
    return graph


WEIGHT = np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32)


def network(shape: tuple[Dim, ...], *, last: bool = False, result_last: bool | None = None, name: str = "x") -> Graph:
    graph = Graph("network")
    value = graph.add_input(name, TensorType(DType.FLOAT32, shape))
    value = graph.add(Transpose((0, 3, 1, 2)), value) if last else value
    value = graph.add(Conv((3, 3), padding=symmetric((1, 1))), value, graph.constant(WEIGHT, name="weight"))
    if last if result_last is None else result_last:
        value = graph.add(Transpose((0, 2, 3, 1)), value)
    graph.set_outputs([graph.add(Relu(), value, name="y")])
    return graph


OPEN = tuple(map(symbol, "NABC"))
PAIRED = [
    # reference, candidate, words of a note
    (results("ab"), results("ab", "ba"), "come in another order"),
    (results("abc"), composed("abz"), "by position: c with z"),
    (results("abc"), composed("abz", "zba"), "by position: c with z"),
    (results("abc"), results("abz"), "by what feeds them: c with z"),
    (results("abc"), results("abz", "zba"), "by what feeds them: c with z"),
    (results("ab"), results("cd", "dc"), "by what feeds them: a with c, b with d"),
    (results("abc"), results("pqr", "qrp"), "by what feeds them: a with p, b with q, c with r"),
    (difference("ab"), difference("pq"), "by position: a to p, b to q"),
    (difference("ab"), difference("aq", order="qa"), "by position: b to q"),
    (difference("ab", ((2, 5), (1, 5))), difference("pq", ((2, 5), (1, 5)), "qp"), "by shape: b to q, a to p"),
    (network((1, 3, 5, 6)), network((1, 5, 6, 3), last=True), "channels in the last place"),
    (network((1, 3, 5, 6)), network((1, 5, 6, 3), last=True), "was compared with its channels where y has them"),
    (network((1, 3, 5, 6)), network(OPEN, last=True), "refuses the feeds as they are; it was fed x to x with its axes"),
]


@pytest.mark.parametrize(("reference", "candidate", "said"), PAIRED)
def test_what_names_and_shapes_tell_is_paired(reference: Graph, candidate: Graph, said: str) -> None:
    report = graphir.verify(reference, candidate)
    assert report.ok
    assert any(said in note for note in report.notes)


def test_inputs_of_other_ranks_are_not_exchanged() -> None:
    feeds = {"a": np.zeros((2, 3, 4, 4)), "b": np.zeros((2, 4, 4))}
    fittings = list(other_fittings(feeds, {"x": (2, 3, 4, 4), "y": (2, 4, 4)}, {"x": ("a", ()), "y": ("b", ())}))
    assert fittings == [{"x": ("a", ()), "y": ("b", (0, 2, 1))}] * 2


ASKED = [
    (results("ab"), composed("cd", "dc"), ["a=c", "b=d"]),
    (results("abc"), composed("pqr", "qrp"), ["a=p", "b=q", "c=r"]),
    (results("abc"), composed("abz", "bza"), []),
    (results("ab"), results("ba"), []),
    (difference("ab"), difference("pq", order="qp"), ["b=q", "a=p"]),
    (network((1, 3, 3, 3)), network((1, 3, 3, 3), last=True), ["x=x:0,2,3,1", "y=y:0,3,1,2"]),
    (network((1, 3, 3, 3)), network((1, 3, 3, 3), last=True, result_last=False), ["x=x:0,2,3,1"]),
    (network((1, 3, 3, 3)), network((1, 3, 3, 3), result_last=True), ["y=y:0,3,1,2"]),
    (network((1, 3, 5, 6)), network((1, 3, 5, 6), result_last=True), ["y=y:0,3,1,2"]),
]


@pytest.mark.parametrize(("reference", "candidate", "options"), ASKED)
def test_a_pairing_that_was_a_guess_becomes_a_question(reference: Graph, candidate: Graph, options: list[str]) -> None:
    report = graphir.verify(reference, candidate)
    asked = [part for note in report.notes for part in re.findall(r"--match (\S+)", note)]
    assert (asked, report.ok) == (options, report.ok and not options)
    answered = graphir.verify(reference, candidate, comparison=graphir.ComparisonOptions(match=asked))
    assert answered.ok == (bool(options) or report.ok)


def test_what_differs_behind_matched_inputs_is_still_not_proven() -> None:
    def clipped(names: str, most: float, order: str = "") -> Graph:
        graph = difference(names, order=order)
        graph.set_outputs([graph.add(Min(), graph.outputs[0], graph.constant(np.float32(most)), name="z")])
        return graph

    how = graphir.ComparisonOptions(match=["a=p", "b=q"])
    same, other = (
        graphir.verify(clipped("ab", 1e8), clipped("pq", most, "qp"), comparison=how) for most in (1e8, 2e8)
    )
    assert same.ok, same.to_text()
    assert other.verdict is Verdict.NOT_PROVEN
    assert [said.split(",")[0] for said in other.unproven] == [
        "z: Min: const_1 1e+08 -> 2e+08"
    ], "what reads the inputs is the same"


WRONG = [
    (results("ab"), results("ab", "ba")),
    (results("ab"), results("cd")),
    (network((1, 3, 3, 3)), network((1, 3, 3, 3), last=True)),
    (difference("ab"), difference("pq")),
]


@pytest.mark.parametrize(("reference", "candidate"), WRONG)
def test_models_that_never_agree_are_asked_nothing(reference: Graph, candidate: Graph) -> None:
    wrong = clone(candidate)
    factor = wrong.constant(np.float32(1.01))
    wrong.set_outputs([wrong.add(Mul(), value, factor, name=f"{value.name}_more") for value in wrong.outputs])
    report = graphir.verify(reference, wrong)
    assert not report.ok
    assert [note for note in report.notes if "--match" in note] == []


TEXTS = [
    ("a=b", Match("a", "b")),
    ("a:0=b/c:1", Match("a:0", "b/c:1")),
    ("a=b:0,2,3,1", Match("a", "b", (0, 2, 3, 1))),
    ("a=b:1:0,2,1", Match("a", "b:1", (0, 2, 1))),
]


@pytest.mark.parametrize(("text", "match"), TEXTS)
def test_matches_are_read_and_written(text: str, match: Match) -> None:
    assert (parse_match(text), str(match)) == (match, text)


REFUSED = [
    (["a"], "write A=B"),
    (["=b"], "write A=B"),
    (["a=b:0,0,1"], "no order of 3 axes"),
    (["a=p", "b=p"], "p is matched already, by a=p"),
    (["a=z"], "the candidate the inputs p, q and the outputs y"),
    (["y=y:0,2,1"], "the order has 3 axes, the array 2"),
    (["a=p:0,2,1"], "the order has 3 axes, the array 2"),
]


@pytest.mark.parametrize(("match", "said"), REFUSED)
def test_matches_that_say_nothing_are_refused(match: list[str], said: str) -> None:
    with pytest.raises(VerificationError, match=re.escape(said)):
        graphir.verify(difference("ab"), difference("pq"), comparison=graphir.ComparisonOptions(match=match))


def test_the_command_asks_and_takes_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("a.onnx", "b.onnx")]
    for graph, path in zip((network((1, 3, 3, 3)), network((1, 3, 3, 3), last=True)), paths, strict=True):
        graphir.save(graph, path)
    assert main(["verify", *paths]) == 4
    text = " ".join(capsys.readouterr().out.split())
    options = shlex.split(" ".join(re.findall(r"--match \S+", text)))
    assert main(["verify", *paths, *options]) == 0


def test_what_is_stated_goes_before_names() -> None:
    feeds = {"a": np.zeros((2, 5)), "b": np.zeros((2, 5))}
    fitting, notes = fit_inputs(feeds, {"a": (2, 5), "b": (2, 5)}, {"a": ("b", ())})
    assert (fitting["a"], fitting["b"][0]) == (("b", ()), "a")
    assert notes == ["inputs of different names were fed by position: a to b"]
