"""Pictures as files: well-formed, loading nothing, safe with any name, and quick with many nodes."""

from __future__ import annotations

import json
import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import graphir
from graphir import Graph
from graphir.drawing.colours import style_sheet
from graphir.drawing.layout import Arranger, PlotExtraMissing
from graphir.drawing.looks import fit_text, label_width, text_width, title_lines
from graphir.drawing.marks import marks_of_report
from graphir.drawing.page import _read_asset
from graphir.drawing.placing import GAP, HEADER, PADDING, PASSING, PIN_HEIGHT, RAIL_HEIGHT, ROW_GAP, Placed, place_box
from graphir.drawing.scenes import add_rails
from graphir.errors import ArgumentError, ExportFailure, FormatError
from graphir.ops.activation import Relu, Tanh
from graphir.ops.elementwise import Add
from graphir.ops.shape_parts import Concat
from graphir.types import parse_shape
from tests.typed import untyped

from .nets import branching, chain, residuals, started

SVG = "{http://www.w3.org/2000/svg}"
NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></svg><script>alert(1)</script>",
    "]]>&amp;\x00\x1b[2J\u202e\ufffe",
    "</script><script>alert(1)",
    '"]; evil [label="',
    "end\\",
    "\ud800",
    "\u2028'`${1}",
]


def nasty() -> Graph:
    """Every name in it wants to be more than a name."""
    graph = Graph(NASTY[2])
    x = graph.add_input(NASTY[0], graphir.TensorType(graphir.DType.FLOAT32, (4, 8)))
    for name in NASTY:
        x = graph.add(Relu(), x, name=name)
    graph.set_outputs([x])
    return graph


class Page(HTMLParser):
    """What elements a page has, with which attributes, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data


GRAPHS = {
    "blocks": lambda: residuals(3, 8, 36, 3),
    "branching": branching,
    "nasty": nasty,
    "empty": lambda: Graph("empty"),
    "many ends": lambda: many_ends(),
}


def many_ends() -> Graph:
    """More inputs and outputs than are drawn one by one, and a value that many read."""
    graph = Graph("ends")
    kind = graphir.TensorType(graphir.DType.FLOAT32, (4,))
    made = [graph.add(Relu(), graph.add_input(f"in{number}", kind), name=f"relu{number}") for number in range(40)]
    made += [graph.add(Tanh(), made[0], name=f"tanh{number}") for number in range(40)]
    graph.set_outputs(made)
    return graph


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_the_svg_is_well_formed_and_shows_every_box_once(make: Any) -> None:
    made = graphir.plot(make(), most=2000)
    text = made.svg()
    root = ET.fromstring(text.encode("utf-8"))
    assert root.tag == f"{SVG}svg"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "g",
        "text",
        "path",
    }
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    leaves = sum(scene.children[at].kind == "node" and not scene.children[at].children
                 for scene in made.sides[0].scenes.values() for at in range(len(scene.children)))  # fmt: skip
    assert sum("c-" in element.get("class", "") for element in root.iter(f"{SVG}rect")) >= leaves


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_the_page_loads_nothing_and_runs_only_its_own_script(make: Any) -> None:
    text = graphir.plot(make()).html()
    text.encode("utf-8")
    page = Page(text)
    attributes = {key for _, held in page.elements for key in held}
    assert not attributes & {"src", "href", "srcset", "action", "data", "poster", "style"}
    assert not [key for key in attributes if key.startswith("on")]
    assert not {tag for tag, _ in page.elements} & {"img", "iframe", "object", "link", "embed", "base", "form"}
    own = _read_asset("page.js") + _read_asset("page.css") + style_sheet()
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)|innerHTML|eval\(|fetch\(", own)
    assert len(page.scripts) == 2
    assert page.scripts[1] == _read_asset("page.js")
    data = json.loads(page.scripts[0])
    assert "<" not in page.scripts[0]
    assert "\\u202e" not in page.scripts[0].replace("\\\\u202e", "")  # shown as an escape, not obeyed
    assert [side["boxes"][0]["k"] for side in data["sides"]] == ["graph"]
    policy = next(held["content"] for _, held in page.elements if held.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_the_script_draws_what_the_svg_draws() -> None:
    """Both put boxes by the same measures."""
    script = _read_asset("page.js")
    measures = {name: float(value) for name, value in re.findall(r"\b([A-Z_]+) = (\d+)", script)}
    assert (measures["GAP"], measures["ROW_GAP"]) == (GAP, ROW_GAP)
    assert (measures["PASSING"], measures["PADDING"], measures["HEADER"]) == (PASSING, PADDING, HEADER)
    assert (measures["PIN"], measures["RAIL"]) == (PIN_HEIGHT, RAIL_HEIGHT)


def test_no_name_ends_its_place_in_dot() -> None:
    text = graphir.plot(nasty()).dot()
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL)
    assert '"' not in outside
    assert "evil" not in outside
    assert text.count("{") - text.count("}") == 0


def placed_boxes(placed: Placed) -> Iterator[Placed]:
    yield placed
    for spot in placed.spots:
        if spot.inside is not None:
            yield from placed_boxes(spot.inside)


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_boxes_do_not_lie_on_each_other_and_wires_lead_down(make: Any) -> None:
    side = graphir.plot(make(), most=2000).sides[0]
    for held in placed_boxes(place_box(side.root, side.scenes, side.looks.of, side.opened(2000))):
        spots = held.spots
        for here, one in enumerate(spots):
            assert one.x >= -0.01
            assert one.x + one.width <= held.width + 0.01
            for two in spots[here + 1 :]:
                beside = one.x + one.width <= two.x + 0.01 or two.x + two.width <= one.x + 0.01
                assert beside or one.y + one.height <= two.y or two.y + two.height <= one.y
        for wire in held.wires:
            heights = [y for _, y in wire]
            assert heights == sorted(heights)


@pytest.mark.parametrize("kind", ["repeating", "alike", "crossing"])
def test_ten_thousand_nodes_make_a_small_picture(kind: str, tmp_path: Path) -> None:
    graph = {"repeating": lambda: residuals(2500), "alike": lambda: chain([f"op{n}" for n in range(10_000)]),
             "crossing": crossing}[kind]()  # fmt: skip
    made = graphir.plot(graph, path=tmp_path / "big.html")
    svg = made.svg()
    assert len(svg) < 300_000
    assert (tmp_path / "big.html").stat().st_size < 12_000_000


def crossing() -> Graph:
    """Ten thousand nodes, each of which reads two of the hundred before it."""
    graph, x = started()
    made, state = [x], 1
    for number in range(10_000):
        state = (state * 1103515245 + 12345) % (1 << 31)
        reach = min(len(made), 100)
        made.append(
            graph.add(Add(), made[-1 - (state >> 8) % reach], made[-1 - (state >> 16) % reach], name=f"op{number}")
        )
    graph.set_outputs([made[-1]])
    return graph


def test_the_same_picture_twice() -> None:
    assert graphir.plot(residuals(3, 8)).html() == graphir.plot(residuals(3, 8)).html()


def test_a_png_is_drawn(tmp_path: Path) -> None:
    graphir.plot(residuals(2)).save(tmp_path / "net.png")
    data = (tmp_path / "net.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert 300 < width < height


def test_two_models_side_by_side() -> None:
    one, two = residuals(2), residuals(2)
    changed = next(node for node in two.nodes if node.name == "stage0_block1_tanh")
    value = two.add(Relu(), changed.inputs[0], name="stage0_block1_other", before=changed)
    two.replace_uses(changed.output, value)
    two.erase(changed)
    made = graphir.plot(one, two, titles=("before", "after"))
    kinds = [side.facts()["marks"] for side in made.sides]
    assert kinds[0]["same"] == 9
    assert sum(count for kind, count in kinds[0].items() if kind != "same") == 1
    assert sum(count for kind, count in kinds[1].items() if kind != "same") == 1
    page = Page(made.html())
    data = json.loads(page.scripts[0])
    assert [side["title"] for side in data["sides"]] == ["before", "after"]
    pairs = data["sides"][0]["others"]
    assert all(data["sides"][1]["others"][str(there)] == int(here) for here, there in pairs.items())
    assert ET.fromstring(made.svg())


REPORT = {
    "verdict": "broken",
    "outputs": [{"name": "stage0_block1_add", "verdict": "broken", "max_abs": 1.0, "limit": 0.1, "note": ""}],
    "layers": [{"name": "stage0_block0_relu", "verdict": "noise", "max_abs": 0.0, "limit": 0.1, "note": "close"}],
}
WINDOWS = {
    "pairs": [
        {"first": {"name": "stage0_block0_fc"}, "second": {"name": "other"}, "disagreements": [{"text": "one off"}]},
        {"first": {"name": "stage0_block1_fc"}, "second": None, "disagreements": []},
    ]
}


@pytest.mark.parametrize(
    ("report", "kinds"),
    [
        (REPORT, {"stage0_block1_add": "broken", "stage0_block0_relu": "noise"}),
        ({"verification": REPORT}, {"stage0_block1_add": "broken", "stage0_block0_relu": "noise"}),
        (WINDOWS, {"stage0_block0_fc": "padding", "stage0_block1_fc": "agreed"}),
    ],
)
def test_a_report_marks_layers(report: object, kinds: dict[str, str]) -> None:
    graph = residuals(2)
    assert {node.name: mark.kind for node, mark in marks_of_report(graph, report).items()} == kinds
    assert graphir.plot(graph, report=report).svg().count('class="v-') == len(kinds)


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ([], "the report has no layers"),
        ({"verdict": "noise"}, "the report has no layers"),
        ({"verdict": "noise", "outputs": [{"name": "x", "verdict": "fine"}]}, "the verdict 'fine', none of"),
        ({"verdict": "noise", "outputs": [{"name": "x", "verdict": "noise"}]}, "names x and others, none of which"),
    ],
)
def test_what_is_no_report_is_refused(report: object, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        marks_of_report(residuals(1), report)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: graphir.plot(untyped("net.onnx")), ArgumentError, "the graph to plot"),
        (lambda: graphir.plot(residuals(1), untyped(3)), ArgumentError, "the other graph to plot"),
        (lambda: graphir.plot(residuals(1)).save("net.pdf"), ArgumentError, r"must end in \.html, \.svg"),
        (lambda: graphir.plot(residuals(1)).save("/nowhere/net.svg"), ExportFailure, "its folder does not exist"),
    ],
)
def test_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("missing", ["fast_sugiyama", "resvg_py"])
def test_a_missing_library_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    made = graphir.plot(residuals(1))
    with pytest.raises(PlotExtraMissing, match=r"pip install 'fast-sugiyama.*' 'resvg-py.*'; a \.dot"):
        made.save(tmp_path / "net.png")
    assert list(tmp_path.iterdir()) == []
    made.save(tmp_path / "net.dot")


def test_a_notebook_shows_a_picture_or_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for graph in (nasty(), residuals(3, 8)):
        shown = graph._repr_html_()
        assert "<svg" in shown
        assert not re.search(r"<script|onerror=(?!alert\(1\)&gt;)|<img", shown)
    monkeypatch.setitem(sys.modules, "fast_sugiyama", None)
    shown = nasty()._repr_html_()
    assert "<pre>" in shown
    assert not re.search(r"<script|<img", shown)


def test_what_the_engine_is_given_once_is_arranged_once() -> None:
    arranger = Arranger()
    assert arranger.arrange(3, [(0, 1), (1, 2), (0, 1)]) is arranger.arrange(3, [(1, 2), (0, 1)])


def test_unwired_boxes_have_places_of_their_own() -> None:
    found = Arranger().arrange(4, [(1, 2)])
    assert sorted(cell.box for row in found.rows for cell in row) == [0, 1, 2, 3]
    assert len({(row, cell.column) for row, cells in enumerate(found.rows) for cell in cells}) == 4


def test_many_unwired_boxes_stand_in_columns() -> None:
    found = Arranger().arrange(20, [])
    assert [len(row) for row in found.rows] == [4, 4, 3, 3, 3, 3]
    assert len(Arranger().arrange(3, []).rows) == 1


def test_a_rail_leads_to_all_that_is_read_at_several_depths() -> None:
    chained = [(place, place + 1) for place in range(1, 5)]
    assert add_rails(6, [*chained, (0, 1), (0, 3)]) == ([(0, 1), (0, 3), *chained], 0)
    wires, rails = add_rails(6, [*chained, *((0, place) for place in range(1, 6))])
    assert rails == 4
    assert [wire for wire in wires if wire not in chained] == [
        (0, 1), (0, 6), (6, 2), (6, 7), (7, 3), (7, 8), (8, 4), (8, 9), (9, 5),
    ]  # fmt: skip


def test_a_node_with_many_operands_tells_of_some() -> None:
    graph = Graph("many")
    read = [graph.add_input(f"in{number}", graphir.TensorType(graphir.DType.FLOAT32, (4,))) for number in range(500)]
    graph.set_outputs([graph.add(Concat(axis=0), *read, name="all")])
    side = graphir.plot(graph).sides[0]
    look = next(look for box, look in side.looks.of.items() if box.node is not None)
    assert sum(name == "reads" for name, _ in look.facts) == 25
    assert ("reads", "and 476 more") in look.facts
    assert len(graphir.plot(graph).svg()) < 100_000


@pytest.mark.parametrize("text", ["", "conv1", "a" * 500, "\u4e2d" * 80, "W" * 40, "x\ny"])
def test_texts_fit(text: str) -> None:
    assert text_width(fit_text(text)) <= 166
    assert "\n" not in fit_text(text)


@pytest.mark.parametrize(
    "title", ["", "digits-symbol.json + digits-0020.params (MXNet 1.9.1)", "W" * 300, "a b " * 200, "\u4e2d" * 80]
)
def test_titles_stay_in_the_picture(title: str) -> None:
    """A title wider than its model is broken in lines: it widens no picture and nothing of it is cut off."""
    root = ET.fromstring(graphir.plot(residuals(2), residuals(2), titles=[title, "other"]).svg())
    short = ET.fromstring(graphir.plot(residuals(2), residuals(2), titles=["one", "other"]).svg())
    assert root.get("width") == short.get("width")
    lines = title_lines(title, 320.0)
    assert all(text_width(line) <= 320.0 for line in lines)
    shown = [text.text or "" for text in root.iter(f"{SVG}text") if text.get("class") == "t"]
    assert shown[: len(lines)] == lines
    assert len(" ".join(lines)) == len(title.strip()) or ".." in lines[0]


def test_the_texts_at_wires_stay_in_the_picture() -> None:
    """The last wire's shape is longer than half a box: both the file and the page make room for it."""
    graph = Graph("long")
    sizes = parse_shape(",".join(f"a_size_with_a_long_name_{axis}" for axis in range(4)))
    x = graph.add_input("x", graphir.TensorType(graphir.DType.FLOAT32, sizes))
    graph.set_outputs([graph.add(Relu(), x)])
    made = graphir.plot(graph)
    root = ET.fromstring(made.svg())
    texts = [text for text in root.iter(f"{SVG}text") if text.get("class") == "f"]
    assert texts
    ends = [float(text.get("x", "0")) + label_width(text.text or "") for text in texts]
    assert max(ends) <= float(root.get("width", "0")) - 20
    scene = json.loads(Page(made.html()).scripts[0])["sides"][0]["boxes"][0]
    assert [wide for _, wide in scene["w"].values()] == [round(label_width(text.text or "")) for text in texts]
