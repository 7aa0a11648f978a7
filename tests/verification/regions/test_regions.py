"""Parts of a candidate judged on the reference's own numbers: what end-to-end comparisons do not show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import graphir
from graphir.converters.onnx.files.cut import CutModel
from graphir.converters.session import Session
from graphir.verification.numbers.compare import NOISE_LEAST
from graphir.verification.report import VerificationReport
from graphir.verification.verdict import Verdict

DRAWN = np.random.Generator(np.random.PCG64(25))
WEIGHT = DRAWN.standard_normal((8, 8)).astype(np.float32)


def model(body: str, header: str = "float[2, 8] x) => (float[2, 8] y", weights: str = "", **arrays: Any) -> Any:
    """A model whose inputs and output stand in `header`, with arrays as weights beside those of a text."""
    made = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g ({header}) {f"<{weights}>" if weights else ""} {{ {body} }}'
    )
    given = {"w": WEIGHT} | arrays
    made.graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in given.items()
        if any(name in node.input for node in made.graph.node)
    )  # fmt: skip
    return made


def verified(folder: Path, first: Any, second: Any, **options: Any) -> VerificationReport:
    for name, made in (("first", first), ("second", second)):
        onnx.save(made, folder / f"{name}.onnx")
    return graphir.verify(folder / "first.onnx", folder / "second.onnx", **options)


def scaled(scale: float) -> Any:
    """A residual branch that counts for next to nothing, as a layer scale leaves it at first."""
    body = "h = MatMul(x, w) s = Mul(h, scale) t = Add(x, s) y = Relu(t)"
    return model(body, scale=np.full(8, scale, np.float32))


def saturated(bias: float) -> Any:
    body = "h = MatMul(x, w) b = Add(h, bias) y = Sigmoid(b)"
    return model(body, bias=np.full(8, bias, np.float32))


def limited(*, limit: bool) -> Any:
    """Numbers that a maximum with -100 leaves as they are."""
    body = "h = MatMul(x, w) m = Max(h, low) y = Tanh(m)" if limit else "h = MatMul(x, w) y = Tanh(h)"
    return model(body, low=np.full((), -100, np.float32))


def chosen(*, chooses: bool) -> Any:
    """Numbers of which those beyond 50 are replaced."""
    body = "h = MatMul(x, w) large = Greater(h, high) m = Where(large, zero, h) y = Tanh(m)"
    constants: dict[str, Any] = {"high": np.full((), 50, np.float32), "zero": np.zeros((), np.float32)}
    return model(body if chooses else "h = MatMul(x, w) y = Tanh(h)", **constants)


def remainder(fmod: int) -> Any:
    """The remainder of numbers of the divisor's sign, of which fmod and mod agree."""
    return model(f"h = MatMul(x, w) p = Abs(h) y = Mod<fmod = {fmod}>(p, three)", three=np.full((), 3, np.float32))


def added(weight: Any) -> Any:
    """A branch of next to nothing beside what it is added to, its factor in the weights."""
    header = "float[2, 8] x, float[2, 8] z) => (float[2, 8] y"
    return model("m = MatMul(x, w) h = Tanh(m) y = Gemm(h, v, z)", header, v=np.float32(1e-7) * weight)


def narrowed(dtype: int) -> Any:
    return model(f"n = Cast<to = {dtype}>(x) c = Cast<to = 1>(n) y = MatMul(c, w)")


UNSHOWN = {
    "a layer scale": (scaled(1e-6), scaled(2e-6), Verdict.BROKEN),  # outputs change, however little
    "a bias before a saturated sigmoid": (saturated(6000), saturated(4000), Verdict.BROKEN),  # in larger numbers
    "a Max": (limited(limit=False), limited(limit=True), Verdict.NOT_PROVEN),
    "a branch that counts for next to nothing": (added(WEIGHT), added(WEIGHT.T), Verdict.NOT_PROVEN),
    "float16 for bfloat16, which holds larger numbers": (narrowed(16), narrowed(10), Verdict.NOT_PROVEN),
    "a Where": (chosen(chooses=False), chosen(chooses=True), Verdict.BROKEN),
}


@pytest.mark.parametrize("name", UNSHOWN)
def test_what_hardly_shows_in_numbers_does_not_pass(name: str, tmp_path: Path) -> None:
    first, second, verdict = UNSHOWN[name]
    report = verified(tmp_path, first, second)
    assert report.verdict is verdict, str(report)


@pytest.mark.parametrize("seed", range(4))
def test_what_shows_on_large_inputs_only_is_shown_by_every_seed(seed: int, tmp_path: Path) -> None:
    """The four usual sets saturate these gates; some seeds led to a bias of 60 all the same."""
    for bias in (60, 6000):
        report = verified(tmp_path, saturated(bias), saturated(bias / 2), seed=seed)
        assert report.verdict is Verdict.BROKEN, str(report)
        assert not report.unproven


def test_what_a_sure_softmax_hides_is_broken_before_it(tmp_path: Path) -> None:
    """The outputs are the same to the last bit whatever the maximum does, the scores before the softmax are not."""
    bias = np.zeros(8, np.float32)
    bias[0] = 1e5
    first, second = (
        model(f"h = MatMul(x, w) m = {call} d = MatMul(m, v) b = Add(d, bias) y = Softmax<axis = -1>(b)",
              low=np.full((), -100, np.float32), v=WEIGHT.T.copy(), bias=bias)
        for call in ("Identity(h)", "Max(h, low)")
    )  # fmt: skip
    report = verified(tmp_path, first, second, feeds={"x": 1000 * DRAWN.standard_normal((2, 8)).astype(np.float32)})
    assert [one.verdict for one in report.outputs] == [Verdict.IDENTICAL, Verdict.BROKEN], str(report)
    assert [cause.name for cause in report.causes] == ["m"]


def test_identical_follows_from_the_nodes(tmp_path: Path) -> None:
    """A Relu that is written as a Max gives the same to the last bit, but is another node."""
    zero = np.zeros((), np.float32)
    first, second, renamed = (
        model(f"h = MatMul(x, w) {name} = {call} y = Tanh({name})", zero=zero)
        for name, call in (("r", "Relu(h)"), ("r", "Max(h, zero)"), ("t", "Relu(h)"))
    )
    report = verified(tmp_path, first, second)
    assert {one.verdict for one in report.outputs} == {Verdict.IDENTICAL}
    assert report.verdict is Verdict.NOISE
    assert verified(tmp_path, first, renamed).verdict is Verdict.IDENTICAL
    assert str(report).startswith("verified: equal within rounding (1 node differs")


def test_truth_values_are_no_pair_of_real_numbers(tmp_path: Path) -> None:
    """Both say which numbers are above zero, and no operator that reads them rounds."""
    zero = np.zeros((), np.float32)
    first, second = (
        model(f"h = MatMul(x, w) {call} y = NonZero(r)", "float[2, 8] x) => (int64[2, n] y", zero=zero)
        for call in ("r = Relu(h)", "r = Greater(h, zero)")
    )
    report = verified(tmp_path, first, second)
    assert report.verdict is Verdict.NOISE, str(report)


def test_a_cause_is_the_part_that_differs_by_itself(tmp_path: Path) -> None:
    """Behind a wrong part everything differs; one that follows and is wrong too is named beside it."""
    first = model("a = MatMul(x, w) b = Tanh(a) c = MatMul(b, w) d = Sigmoid(c) y = MatMul(d, w)")
    second = model("a = MatMul(x, w) b = Softsign(a) c = MatMul(b, w) d = Tanh(c) y = MatMul(d, w)")
    report = verified(tmp_path, first, second)
    assert report.verdict is Verdict.BROKEN
    assert [cause.name for cause in report.causes] == ["b", "d"]


def test_a_part_that_is_written_otherwise_is_no_cause(tmp_path: Path) -> None:
    """A factor that stands in the weights behind it; the fault behind that is named alone."""
    first = model("a = MatMul(x, w) b = Mul(a, two) c = MatMul(b, w) y = Tanh(c)", two=np.full((), 2, np.float32))
    second = model("a = MatMul(x, w) b = Relu(a) c = MatMul(a, v) y = Sigmoid(c)", v=2 * WEIGHT)
    report = verified(tmp_path, first, second)
    assert [cause.name for cause in report.causes] == ["y"]


def test_bodies_of_nodes_read_what_is_fed(tmp_path: Path) -> None:
    text = """
        h = Abs(x)
        flag = Greater(total, low)
        y = If(flag) <
            then_branch = t () => (float[2, 8] first) { first = Add(h, h) },
            else_branch = e () => (float[2, 8] second) { h_own = Neg(h) second = Mul(h_own, h) }>
    """
    made = model(text, "float[2, 8] x, float total) => (float[2, 8] y", low=np.zeros((), np.float32))
    cut = CutModel(made.SerializeToString())
    assert cut.reads(["y"], {"h", "flag"}) == {"y": {"h", "flag"}}
    fed = {"h": np.full((2, 8), 3, np.float32)}
    part, names = cut.part(fed, ["y", "h"])
    session = onnxruntime.InferenceSession(part.SerializeToString(), providers=["CPUExecutionProvider"])
    assert {one.name for one in session.get_inputs()} == {"x", "total", names["h"]}
    feeds = {"x": np.ones((2, 8), np.float32), names["h"]: fed["h"]}
    for total, expected in ((1, 6), (-1, -9)):
        y, h = session.run(["y", "h"], feeds | {"total": np.array(total, np.float32)})
        assert (y == expected).all()
        assert (h == 1).all()


def test_two_casts_of_an_input_that_a_body_captures_run() -> None:
    """onnxruntime takes such a pair away if the first one reads an input, and loses what bodies read of it."""
    made = model("""
        h = Neg(x) wide = Cast<to = 11>(h) c = Cast<to = 1>(wide) again = Cast<to = 11>(h) d = Cast<to = 1>(again)
        total = ReduceSum<keepdims = 0>(x) flag = Greater(total, low) y = If(flag) <
            then_branch = t () => (float[2, 8] first) { first = Add(c, d) },
            else_branch = e () => (float[2, 8] second) { second = Neg(c) }>
    """, low=np.zeros((), np.float32))
    fed = {"h": np.full((2, 8), 3, np.float32)}
    part, names = CutModel(made.SerializeToString()).part(fed, ["y"])
    feeds = {"x": np.ones((2, 8), np.float32), names["h"]: fed["h"]}
    (y,) = Session(part.SerializeToString(), optimize=False).run(["y"], feeds)
    assert (y == 6).all()


def test_a_softmax_behind_a_reshape_may_add_up_its_terms_one_after_the_other(tmp_path: Path) -> None:
    """That loses half a unit in the last place of the sum for each term, and what only moves its results keeps it."""
    header, count = "float[1, 90, 900] x) => (float[1, 90, 900] y", 81000
    given: dict[str, Any] = {"flat": np.array([1, -1]), "square": np.array([1, 90, 900]), "one": np.array(1)}
    whole = "f = Reshape(x, flat) s = Softmax(f) y = Reshape(s, square)"
    parts = """m = ReduceMax<axes = [1, 2]>(x) z = Sub(x, m) e = Exp(z) f = Reshape(e, flat) c = CumSum(f, one)
        total = Gather<axis = 1>(c, last) y = Div(e, total)"""
    last = np.full((1, 1), count - 1)
    report = verified(tmp_path, model(whole, header, **given), model(parts, header, **given, last=last))
    assert report.verdict is Verdict.NOISE, report
    assert max(found.relative for found in report.outputs) > NOISE_LEAST


def test_a_scatter_that_adds_in_another_order_is_no_cause(tmp_path: Path) -> None:
    """It rounds, as every sum does, though other scatters only move elements."""
    indices = DRAWN.integers(0, 7, (1, 400))
    weight = DRAWN.standard_normal((7, 5)).astype(np.float32)
    rest = "t = Tanh(y) o = MatMul(t, v)"
    header = "float[1, 400] x) => (float[1, 7] y, float[1, 5] o"
    given: dict[str, Any] = {"zero": np.zeros((1, 7), np.float32), "scale": np.full((), 1.5, np.float32)}
    whole = 'z = Mul(x, scale) y = ScatterElements<axis = 1, reduction = "add">(zero, all, z)'
    halves = """z = Mul(x, scale) l, r = Split<axis = 1>(z)
        h = ScatterElements<axis = 1, reduction = "add">(zero, right, r)
        y = ScatterElements<axis = 1, reduction = "add">(h, left, l)"""
    parts: dict[str, Any] = {"left": indices[:, :200], "right": indices[:, 200:]}
    first = model(f"{whole} {rest}", header, **given, all=indices, v=weight)
    second = model(f"{halves} {rest}", header, **given, **parts, v=weight * np.float32(1.01))
    report = verified(tmp_path, first, second)
    assert [cause.name for cause in report.causes] == ["o"]


def resized(mode: str, size: int = 481, result: int = 240) -> Any:
    """An image that is resized by onnxruntime in a `mode`, or by a product with weights computed in float64, and
    convolved."""
    header = f"float[1, 1, {size}, {size}] x) => (float[1, 4, {result - 2}, {result - 2}] y"
    kernel = np.random.Generator(np.random.PCG64(1)).standard_normal((4, 1, 3, 3)).astype(np.float32)
    if mode:
        body = f'r = Resize<mode = "linear", coordinate_transformation_mode = "{mode}">(x, , , sizes) y = Conv(r, k)'
        return model(body, header, k=kernel, sizes=np.array([1, 1, result, result]))
    places = np.arange(result) * (size - 1) / (result - 1)
    weights = np.maximum(1 - np.abs(places[:, None] - np.arange(size)), 0).astype(np.float32)
    body = "r = MatMul(m, x) s = MatMul(r, n) y = Conv(s, k)"
    return model(body, header, k=kernel, m=weights, n=weights.T.copy())


def test_places_that_a_resize_rounds_are_no_cause(tmp_path: Path) -> None:
    for first, second in ((resized(""), resized("align_corners")), (resized("align_corners"), resized(""))):
        report = verified(tmp_path, first, second)
        assert report.verdict is Verdict.NOISE, str(report)
        assert report.outputs[0].relative > NOISE_LEAST
    assert verified(tmp_path, resized(""), resized("half_pixel")).verdict is Verdict.BROKEN


def summed(last: str) -> Any:
    """What a `last` operator makes of a sum of positive numbers, which a loop reads in its body alone."""
    return model(
        f"""h = MatMul(x, w) p = Abs(h)
        s = Loop(two, yes, zeros) <body = b (int64 i, bool go, float[2, 8] t) => (bool more, float[2, 8] u) {{
            more = Identity(go) u = Add(t, p)
        }}> a = {last}(s) y = MatMul(a, w)""",
        two=np.array(2), yes=np.array(True), zeros=np.zeros((2, 8), np.float32),
    )  # fmt: skip


def test_what_a_body_alone_reads_leads_to_other_numbers(tmp_path: Path) -> None:
    report = verified(tmp_path, summed("Abs"), summed("Identity"))
    assert report.verdict is Verdict.NOT_PROVEN, str(report)
