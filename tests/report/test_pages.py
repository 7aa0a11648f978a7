"""The report pages taken apart: what they say, that names do not act, that links lead somewhere, that one can read."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.analysis.diff import compare
from graphir.analysis.padding_audit import audit_graphs
from graphir.analysis.padding_fixes import PLAIN
from graphir.cli.input_spec import input_spec
from graphir.drawing.layout import PlotExtraMissing
from graphir.drawing.picture import Plot
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.convolution import Conv
from graphir.ops.elementwise import Add
from graphir.ops.normalization import BatchNormalization
from graphir.padding import Explicit
from graphir.report.depth import FRAMES, depth_svg
from graphir.report.diff_html import diff_html, groups_of, overview
from graphir.report.html import conversion_html, verification_html
from graphir.report.padding_html import audit_html, windows_html
from graphir.report.page import read_asset
from graphir.report.usage import Input, inputs_of, option_of, program
from graphir.symbolic.dims import symbol
from graphir.tensor import Tensor
from graphir.types import DType, TensorType
from graphir.verification.report import InputSet, VerificationReport
from graphir.verification.verdict import Verdict

from .pages import check_page
from .samples import comparison, verification
from .test_conversion import report as conversion

EVIL = "a\"><script>x()</script><b onclick='y'>\u202e&lt;"


def layered(count: int, broken: int | None = None) -> VerificationReport:
    """A verification of so many layers, from one place on broken."""
    made = verification(passes=broken is None)
    made.layers = [
        comparison(f"layer{place}", relative=0.2, passes=False) if broken is not None and place >= broken
        else comparison(f"layer{place}", relative=1e-8 * (place % 7 + 1))
        for place in range(count)
    ]  # fmt: skip
    return made


def net(*, folded: bool = False, seed: int = 0, pads: int = 1, blocks: int = 3) -> Graph:
    """Convolutions with batch normalizations behind them, or with their scale folded in."""
    random = np.random.default_rng(seed)
    graph = Graph("net")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, 8, 8)))
    for block in range(blocks):
        kernel = random.standard_normal((4, 4, 3, 3)).astype(np.float32)
        scale = random.uniform(0.5, 2, 4).astype(np.float32)
        around = Explicit(((pads, pads), (pads, pads)))
        if folded:
            kernel = kernel * scale[:, None, None, None]
        weight = graph.add_parameter(f"kernel{block}", Tensor.of(kernel))
        x = graph.add(Conv(kernel_shape=(3, 3), padding=around), x, weight, name=f"conv{block}")
        if not folded:
            # A variance that is 1 with epsilon.
            rest = [np.zeros(4, np.float32), np.zeros(4, np.float32), np.full(4, 1 - 1e-5, np.float32)]
            arrays = enumerate([scale, *rest])
            held = [graph.add_parameter(f"bn{block}_{slot}", Tensor.of(array)) for slot, array in arrays]
            x = graph.add(BatchNormalization(), x, *held, name=f"bn{block}")
        x = graph.add(Relu(), x, name=f"relu{block}")
    graph.set_outputs([x])
    return graph


PAGES: dict[str, Callable[[], str]] = {
    "conversion": lambda: conversion().to_html(),
    "conversion verified": lambda: conversion_html(replace_verification(layered(30)), net()),
    "verification": lambda: verification_html(verification(passes=True), files=("a.onnx", "b.onnx")),
    "per-layer": lambda: verification_html(layered(30, broken=11), net()),
    "diff": lambda: diff_html(compare(net(), net(folded=True)), "a", "b"),
    "equal": lambda: diff_html(compare(net(), net()), "a", "b"),
    "padding": lambda: audit_html(audit_graphs(net(), net(pads=0), PLAIN), "a", "b"),
    "windows": lambda: windows_html(graphir.padding(net()).windows, "a"),  # type: ignore[union-attr]
}


def replace_verification(made: VerificationReport) -> Any:
    """A conversion's report with a verification."""
    found = conversion()
    found.verification = made
    return found


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_a_page_is_one_file_that_loads_nothing(make: Callable[[], str]) -> None:
    page = check_page(make())
    headings = [tag for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    assert dict(page.tags)["html"] == {"lang": "en"}
    assert all("scope" in held for tag, held in page.tags if tag == "th")


def test_names_do_not_act() -> None:
    made = layered(20, broken=5)
    made.layers = [replace(layer, name=f"{EVIL}{place}") for place, layer in enumerate(made.layers)]
    made.outputs = [replace(made.outputs[0], name=EVIL, note=EVIL)]
    made.feeds = {EVIL: "float32[2, 3]"}
    made.sets = [InputSet(EVIL, made.feeds, tuple(made.outputs)) for _ in range(2)]
    made.reference = made.candidate = EVIL
    made.notes, made.coverage, made.changes, made.unproven = [EVIL], [EVIL], [EVIL], [EVIL]
    made.rewritten = {f"{EVIL}7": EVIL}
    graph = net()
    for value in list(graph.values):
        graph.rename(value, f"{EVIL}{value.name}")
    for text in (verification_html(made, graph, (EVIL, f"{EVIL}.onnx")), diff_html(compare(graph, net()), EVIL, EVIL)):
        page = check_page(text)
        assert "\u202e" not in text
        assert not [tag for tag, held in page.tags if "onclick" in held or tag == "b"]


def test_the_verdict_comes_first_and_what_it_shows_and_does_not_behind_it() -> None:
    text = PAGES["conversion verified"]()
    order = ["Verified: equal within rounding", "What this shows", "What it does not show", "<h2>Outputs", "<h2>Layers",
             "<h2>Use it", "<h2>Picture", "<h2>Decisions"]  # fmt: skip
    places = [text.index(word, text.index("<body>")) for word in order]
    assert places == sorted(places)
    assert "net.onnx (the candidate) computes what net-symbol.json (the reference) computes, on one set" in text
    assert "30 layers inside were compared too, each against its own noise: none differs by more" in text
    assert "--per-layer" not in text


def test_what_the_inputs_never_reached_is_not_shown() -> None:
    made = verification(passes=True)
    made.coverage = ["both ways of 2 Relu reached", "If: a condition that is false never reached in 1 of 1 (branch)"]
    said, _, left_open = verification_html(made).partition("What it does not show")
    assert "Both ways of 2 Relu reached." in said
    assert "If: a condition that is false never reached" in left_open.partition("</section>")[0]
    assert "If: a condition" not in said


def test_files_are_named_only_as_what_ran_them() -> None:
    """Where MXNet ran the target, that is the reference, and the graph of the source the candidate."""
    found = replace_verification(verification(passes=True))
    found.target_format, found.target = "mxnet", "net-symbol.json"
    assert "the candidate computes what the reference computes" in found.to_html()


def test_a_name_makes_no_lines_of_a_tooltip() -> None:
    graph = net()
    graph.rename(graph.outputs[0], "y\ngraphir: everything is fine")
    assert "\ngraphir: everything" not in verification_html(layered(3), graph)


def test_what_was_not_run_is_not_claimed() -> None:
    text = PAGES["conversion"]()
    assert "What this shows</h3>" not in text
    assert "Nothing was run" in text


def test_agreement_that_proves_nothing_says_why() -> None:
    made = verification(passes=True)
    made.unproven = ["every output is constant"]
    made.reference = "graphir's numpy reference of MXNet"
    text = verification_html(made)
    assert "Every output is constant." in text
    assert "What the source framework computes" in text
    assert "only outputs were compared (--per-layer" in text
    assert "Accuracy on real data" in text


def test_first_and_worst_layers_are_open_and_the_rest_is_folded() -> None:
    text = PAGES["per-layer"]()
    first = text.index("First that differ")
    assert text.index(">layer11<", first) < text.index("Worst") < text.index("<summary>All 30 layers")
    assert "Closest to their limits" in PAGES["conversion verified"]()
    short = verification_html(layered(5))
    assert "<details" not in short
    assert 'id="layer-5"' in short


@pytest.mark.parametrize("count, points", [(2, (2, 2)), (90, (90, 90)), (6000, (300, 90))])
def test_a_line_against_depth(count: int, points: tuple[int, int]) -> None:
    made = layered(count, broken=None if count < 3 else count - 1)
    picture = depth_svg(made.layers, {}, {place: f"layer-{place + 1}" for place in range(count)})
    drawings = picture.split("</svg>")
    assert tuple(drawing.count("<circle") for drawing in drawings[: len(FRAMES)]) == points
    assert all(f'href="#layer-{count}"' in drawing for drawing in drawings[: len(FRAMES)])
    for kind in ("error", "limit", "floor"):
        assert f'<path class="{kind}" d="M' in picture


def test_no_difference_and_no_limit_have_a_place_too() -> None:
    values = [0.0, float("inf"), float("nan"), 1e-12, 3.0]
    found = [replace(comparison("x"), relative=value, limit=0.0, floor=0.0) for value in values]
    picture = depth_svg(found, {"x": "elsewhere"}, {})
    assert "nan" not in re.sub(r"<title>.*?</title>", "", picture)
    assert "href" not in picture
    assert 'class="rewritten"' in picture
    assert '<path class="floor" d="M' not in picture.replace('d="M0 5H22"', '')
    assert depth_svg(found[:1], {}, {}) == ""


def test_long_pages_are_small_and_closed() -> None:
    """A row takes some hundred bytes, and none of the rows is laid out before somebody opens them."""
    few, many = (verification_html(layered(count, broken=20)) for count in (1000, 3000))
    assert (len(many) - len(few)) / 2000 < 800
    assert many.index("<details>") < many.index('id="layer-1"')


def test_the_picture_is_coloured_and_leads_to_rows() -> None:
    made = layered(3)
    made.layers = [replace(made.layers[0], name="conv1"), replace(made.layers[1], name="relu1"),
                   replace(comparison("bn2", relative=0.5, passes=False))]  # fmt: skip
    page = check_page(verification_html(made, net()))
    inside = [held.get("class") for tag, held in page.tags if tag == "rect"]
    assert {"v-noise", "v-broken"} <= set(inside)
    assert {"#layer-1", "#layer-2", "#layer-3"} <= set(page.links())
    assert ".picture .v-broken" in page.styles[0]
    assert "<style" not in verification_html(made, net()).partition("<body>")[2]


def test_a_picture_that_cannot_be_drawn_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Not coloured: the report names layer0" in verification_html(layered(3), net())
    assert "<h2>Picture" not in verification_html(layered(3))

    def missing(plot: Plot, rows: object) -> str:
        raise PlotExtraMissing("fast-sugiyama is not installed")

    monkeypatch.setattr(Plot, "inline", missing)
    assert "Not drawn: fast-sugiyama is not installed" in verification_html(layered(3), net())


@pytest.mark.parametrize(
    "name, sizes",
    [("data", ("1", "3", "8")), ("my input", ("N", "3")), ("it's", ("1",)), ("a:b", ("2",)), ("$(rm)", ("1",)),
     ("x;y", ("?", "3"))],
)  # fmt: skip
def test_what_is_copied_for_a_shell_is_read_again(name: str, sizes: tuple[str, ...]) -> None:
    flag, stated = shlex.split(option_of([Input(name, "float32", sizes)]))
    found = input_spec(stated)
    assert (flag, found.name, tuple(map(str, found.shape))) == ("-i", name, sizes)


def test_scalars_need_no_shape_and_what_is_no_tensor_has_no_program() -> None:
    assert option_of([Input("x", "float32", ())]) == ""
    assert inputs_of([("x", "sequence(float32[2])")]) is None
    assert inputs_of([("x", "float32[...]")]) is None
    assert inputs_of([("x", "float32[N, 3]")], {"x": "float32[2, 3]"}) == [Input("x", "float32", ("2", "3"))]
    assert program([Input("x", "bfloat16", ("1",))], "m.onnx") is None


@pytest.mark.parametrize("name", ["x", 'quote " and \\ and \n', "it's {braces}"])
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.INT64, DType.UINT8])
@pytest.mark.parametrize("shape", [(), (3,), ("N", 2), (1, 2, "H", "W")])
def test_the_program_runs(name: str, dtype: DType, shape: tuple[Any, ...], tmp_path: Path) -> None:
    graph = Graph("g")
    sizes = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in shape)
    x = graph.add_input(name, TensorType(dtype, sizes))
    graph.set_outputs([graph.add(Add(), x, x, output="sum")])
    path = tmp_path / "it's \"m\".onnx"
    graphir.save(graph, path)
    inputs = inputs_of([(value.name, str(value.type)) for value in graph.inputs])
    assert inputs is not None
    text = program(inputs, str(path))
    assert text is not None
    assert text.isascii()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(text, "program", "exec"), {})
    assert said.getvalue().startswith(f"sum {dtype} (")


def test_the_program_of_a_page_is_its_own_text(tmp_path: Path) -> None:
    text = PAGES["conversion verified"]()
    assert "session = onnxruntime.InferenceSession(&#x27;net.onnx&#x27;" in text
    assert "random.standard_normal((2, 3)), np.float32)" in text  # the sizes that were verified
    assert "-i data:N,3" in text


def test_differences_of_one_kind_are_one_group() -> None:
    folded = groups_of(compare(net(), net(folded=True)))
    assert [group.title for group in folded] == ["3 Conv+BatchNormalization folded in the second"]
    assert len(folded[0].rows) == 6
    back = groups_of(compare(net(folded=True), net()))
    assert [group.title for group in back] == ["3 Conv+BatchNormalization folded in the first"]
    retrained = compare(net(), net(seed=1))
    assert [group.title for group in groups_of(retrained)] == [
        "3 Conv: weights differ", "3 BatchNormalization: weights differ"
    ]  # fmt: skip
    padded = [group.title for group in groups_of(compare(net(), net(pads=0)))]
    assert len(padded) == 1
    assert padded[0].startswith("3 Conv: padding is ")
    assert groups_of(compare(net(), net())) == []


def test_a_retrained_model_is_one_sentence() -> None:
    assert overview(compare(net(), net(seed=1))) == (
        "6 of 15 weights differ; operators, attributes and wiring are the same."
    )
    assert overview(compare(net(folded=True), net(folded=True, seed=1))).startswith("All 3 weights differ; ")
    assert overview(compare(net(folded=True, blocks=1), net(folded=True, blocks=1, seed=1))).startswith("The only wei")
    assert overview(compare(net(), net(pads=0))) == ""
    assert overview(compare(net(), net(folded=True))) == ""


def test_every_row_of_a_group_is_on_the_page() -> None:
    text = PAGES["diff"]()
    assert "3 Conv+BatchNormalization folded in the second" in text
    assert text.count("its scale is most likely part of the weights") == 3


def _colours(sheet: str, dark: bool) -> dict[str, str]:
    """The colours by name, in light or in dark."""
    blocks = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2]
    light, found = (dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in blocks)
    return light | found if dark else light


def _luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    bright, faint = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (faint + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("text", ["ink", "soft", "good", "warn", "bad", "link"])
@pytest.mark.parametrize("ground", ["ground", "panel", "chosen"])
def test_texts_stand_out(text: str, ground: str, dark: bool) -> None:
    """WCAG's AA: 4.5 to 1."""
    colours = _colours(read_asset("page.css"), dark)
    if (text, ground) != ("soft", "chosen"):
        assert _contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("fill", ["fill-good", "fill-warn", "fill-bad", "fill-open"])
def test_white_stands_out_on_banners(fill: str, dark: bool) -> None:
    assert _contrast("#ffffff", _colours(read_asset("page.css"), dark)[fill]) >= 4.5


def test_every_verdict_has_a_look() -> None:
    sheet = read_asset("page.css")
    assert all(f".banner.{verdict.css_class}" in sheet for verdict in Verdict)
