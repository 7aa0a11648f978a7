"""Nodes that differ and decide something: both sides of the decision occurred, or nothing is proven."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

import graphir
from graphir.analysis.ranges import possible_sides, range_of

HEAD = '<ir_version: 9, opset_import: ["" : 18]> g '
REAL, WHOLE = "(float[N, 8] x) => (float[N, 8] y) ", "(int64[N, L] x) => (float[N, L, 3] y) "
WEIGHTS = ", ".join(str((7 * place) % 13 - 6) for place in range(64))


def words(number: int) -> str:
    """A table of words, one of which is marked."""
    table = ", ".join(str(place % 17) for place in range(150))
    return f"""{WHOLE}<float[50, 3] table = {{{table}}}, int64 filler = {{{number}}}, int64[1] last = {{-1}}>
        {{ is = Equal(x, filler) mark = Cast<to = 1>(is) row = Gather(table, x) column = Unsqueeze(mark, last)
           y = Add(row, column) }}"""


def bounded(before: str, bound: str, **constants: float) -> str:
    """A step before, a bound, and what follows."""
    stated = ", ".join(f"float {name} = {{{number}}}" for name, number in constants.items())
    return f"{REAL}<{stated or 'float unused = {0}'}> {{ a = {before} {bound} y = Neg(b) }}"


def remainder(before: str, fmod: int) -> str:
    return f"""(int64[N, 8] x) => (int64[N, 8] y) <int64 five = {{5}}>
        {{ a = {before} b = Mod<fmod = {fmod}>(a, five) y = Add(b, five) }}"""


def scaled(scale: str, bias: str) -> str:
    return f"""{REAL}<float[8, 8] w = {{{WEIGHTS}}}, float s = {{{scale}}}, float b = {{{bias}}}>
        {{ p = MatMul(x, w) q = Mul(p, s) r = Add(x, q) t = Add(r, b) y = Sigmoid(t) }}"""


def verified(folder: Path, *texts: str) -> graphir.VerificationReport:
    paths = [folder / "reference.onnx", folder / "candidate.onnx"]
    for path, text in zip(paths, texts, strict=True):
        onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return graphir.verify(*paths)


GATE = "Where(is, zero, a)"
FAULTS = {
    "a word beyond the table in the candidate": (words(7), words(90007), "Equal"),
    "a word beyond the table in the reference": (words(90007), words(7), "Equal"),
    "a lower bound that no usual number reaches": (
        bounded("Neg(x)", "b = Identity(a)"), bounded("Neg(x)", "b = Max(a, low)", low=-1e6), "Max(-1000000)"),
    "a bound behind what has bounds that are not known": (
        bounded("Atan(x)", "b = Identity(a)"), bounded("Atan(x)", "b = Min(a, high)", high=2), "Min(2)"),
    "an upper bound behind a Relu": (
        bounded("Relu(x)", "b = Identity(a)"), bounded("Relu(x)", "b = Min(a, high)", high=1e7), "Min(1e+07)"),
    "a condition that is never true": (
        bounded("Relu(x)", "b = Identity(a)"),
        bounded("Relu(x)", f"is = Greater(a, high) b = {GATE}", high=1e7, zero=0), "Where"),
    "a number that never comes": (
        bounded("Neg(x)", "b = Identity(a)"),
        bounded("Neg(x)", f"is = Equal(a, high) b = {GATE}", high=12345.5, zero=0), "Equal"),
    "fmod for mod of numbers that are never negative": (
        remainder("Mul(x, x)", 0), remainder("Mul(x, x)", 1), "Mod"),
    "a layer scale": (scaled("0.000001", "0"), scaled("0.000002", "0"), "Mul"),
    "a bias before a saturated sigmoid": (scaled("0.000001", "60"), scaled("0.000001", "40"), "Add"),
}  # fmt: skip


@pytest.mark.parametrize(("reference", "candidate", "named"), FAULTS.values(), ids=FAULTS)
def test_a_decision_that_differs_is_found_or_not_proven(
    reference: str, candidate: str, named: str, tmp_path: Path
) -> None:
    report = verified(tmp_path, reference, candidate)
    assert report.exit_code in (4, 5), str(report)
    said = [*(cause.what for cause in report.causes), *report.unproven]
    assert any(named in text for text in said), str(report)


# What is computed inside: a bound, and what bounds of other operators make the same.
RELU6 = bounded("Neg(x)", "b = Clip(a, low, high)", low=0, high=6)
REWRITES = {
    "Relu as Max": (bounded("Neg(x)", "b = Relu(a)"), bounded("Neg(x)", "b = Max(a, low)", low=0)),
    "Relu as Clip": (bounded("Neg(x)", "b = Relu(a)"), bounded("Neg(x)", "b = Clip(a, low)", low=0)),
    "Clip as Min and Max": (RELU6, bounded("Neg(x)", "c = Max(a, low) b = Min(c, high)", low=0, high=6)),
    "Clip as Where": (RELU6, bounded(
        "Neg(x)", "c = Relu(a) is = Greater(c, high) b = Where(is, high, c)", high=6)),
    "Identity removed": (bounded("Neg(x)", "b = Identity(a)"), bounded("Neg(x)", "c = Identity(a) b = Identity(c)")),
    "wide bounds": (
        bounded("Neg(x)", "b = Clip(a, low, high)", low=-1e5, high=1e5),
        bounded("Neg(x)", "c = Max(a, low) b = Min(c, high)", low=-1e5, high=1e5)),
}  # fmt: skip


@pytest.mark.parametrize(("reference", "candidate"), REWRITES.values(), ids=REWRITES)
def test_a_decision_that_is_written_otherwise_is_the_same(reference: str, candidate: str, tmp_path: Path) -> None:
    report = verified(tmp_path, reference, candidate)
    assert report.ok, str(report)
    assert report.nodes_differing > 0 or "Identity" in reference


NEVER = {
    "a lower bound behind a Relu": ("Relu(x)", "b = Max(a, low)", {"low": -1000.0}),
    "a second Relu behind a sigmoid": ("Sigmoid(x)", "b = Relu(a)", {}),
    "bounds behind a softmax": ("Softmax(x)", "b = Clip(a, low, high)", {"low": -0.5, "high": 2.0}),
    "an upper bound behind a Tanh": ("Tanh(x)", "b = Min(a, high)", {"high": 3.0}),
    "a lower bound behind magnitudes that were moved": (
        "Abs(x)", "c = Unsqueeze(a, axis) d = Max(c, low) b = Squeeze(d, axis)", {"low": -0.1}),
}  # fmt: skip


@pytest.mark.parametrize(("before", "bound", "constants"), NEVER.values(), ids=NEVER)
def test_a_bound_that_no_number_can_be_beyond_is_the_same(
    before: str, bound: str, constants: dict[str, float], tmp_path: Path
) -> None:
    candidate = bounded(before, bound, **constants).replace("<float", "<int64[1] axis = {0}, float", 1)
    report = verified(tmp_path, bounded(before, "b = Identity(a)"), candidate)
    assert report.ok, str(report)
    assert any("cannot occur" in note for note in report.notes), str(report)


def test_fmod_is_mod_of_what_is_never_negative(tmp_path: Path) -> None:
    report = verified(tmp_path, remainder("Abs(x)", 0), remainder("Abs(x)", 1))
    assert report.ok, str(report)


RANGES = {
    "Relu(x)": (0, float("inf")),
    "Sigmoid(x)": (0, 1),
    "Clip(x, minus, six)": (-1, 6),
    "Max(x, six)": (6, float("inf")),
    "Min(x, minus)": (float("-inf"), -1),
    "Neg(x)": (float("-inf"), float("inf")),
    "Mul(x, six)": (float("-inf"), float("inf")),
    "Mul(c, minus) c = Clip(x, minus, six)": (-6, 1),
    "Add(c, six) c = Clip(x, minus, six)": (5, 12),
}


@pytest.mark.parametrize(("text", "expected"), RANGES.items())
def test_ranges(text: str, expected: tuple[float, float], tmp_path: Path) -> None:
    text, _, before = text.partition(" c = ")
    body = f"c = {before} y = {text}" if before else f"y = {text}"
    model = f"{HEAD}(float[N] x) => (float[N] y) <float minus = {{-1}}, float six = {{6}}> {{ {body} }}"
    onnx.save(onnx.parser.parse_model(model), tmp_path / "one.onnx")
    graph = graphir.load(tmp_path / "one.onnx")
    assert range_of(graph.outputs[0]) == expected
    assert possible_sides(graph.nodes[0])


@pytest.mark.parametrize(("ends", "expected"), [("all", {-1}), ("six", {-1, 1})])
def test_a_slice_that_can_cut_nothing_off_has_no_such_side(ends: str, expected: set[int], tmp_path: Path) -> None:
    constants = f"<int64[1] zero = {{0}}, int64[1] six = {{6}}, int64[1] all = {{{2**63 - 1}}}>"
    model = f"{HEAD}(float[N] x) => (float[M] y) {constants} {{ y = Slice(x, zero, {ends}) }}"
    onnx.save(onnx.parser.parse_model(model), tmp_path / "one.onnx")
    assert possible_sides(graphir.load(tmp_path / "one.onnx").nodes[0]) == expected
