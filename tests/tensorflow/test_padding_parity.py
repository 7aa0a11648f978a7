"""SAME, VALID and EXPLICIT against TensorFlow: golden cases, cases drawn at random, and sizes that stay open.

CI draws the same cases each time, every other run others; `pytest --hypothesis-seed=N` chooses them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir import convert
from graphir.converters.mxnet import to_symbol
from graphir.converters.tensorflow import load
from graphir.errors import GraphirError, ImportFailure, UnsupportedOpError
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.padding import Explicit, Same, SameMode
from graphir.passes.explicit_padding import KIND
from tests.building import run_model
from tests.equivalence.live import LivePair as MXNet
from tests.passes.test_explicit_padding import golden, pieces, some, wanted_of, window_graph
from tests.passes.test_explicit_padding import graph_of as ir_graph_of
from tests.requirements import needing
from tests.tensorflow.conftest import Oracle
from tests.tensorflow.windows import Window, feeds_of, graph_of, results_of, windows
from tests.thinning import FULL

BATCH, BATCHES, ALL_BATCHES = 50, 14, 42  # cases in a graph, and graphs; all of them with --full
TOLERANCE = 1e-5
Array = NDArray[Any]


@pytest.fixture(scope="module")
def mxnet_live() -> Iterator[MXNet]:
    """Live MXNet in its own process; through oneDNN what only that has (transposed convolution over three axes)."""
    with MXNet() as live:
        yield live


def differs(found: Array, wanted: Array) -> str:
    """What is wrong with a result, "" if nothing is."""
    if found.shape != wanted.shape:
        return f"shape {found.shape}, not {wanted.shape}"
    distance = float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1))
    return f"distance {distance:.2g}" if not distance <= TOLERANCE else ""


def differing(cases: Sequence[Window], found: Sequence[Array], wanted: Sequence[Array]) -> dict[Window, str]:
    """The cases with other results, and what is wrong."""
    pairs = zip(cases, found, wanted, strict=True)
    return {case: text for case, one, other in pairs if (text := differs(one, other))}


def live_results(cases: Sequence[Window], oracle: Oracle, weights: Sequence[Array] | None = None) -> list[Array]:
    graph = graph_of(cases, oracle=True, weights=weights)
    with needing("TensorFlow"):
        return oracle.live.run(graph, feeds_of(cases), [f"{name}:0" for name in results_of(cases)])


def onnx_results(graph: Graph, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes of the exported graph, as it is written."""
    return list(run_model(graph, feeds, optimize=False).values())


def mxnet_results(graph: Graph, feeds: Mapping[str, Array], live: MXNet) -> list[Array]:
    """What live MXNet computes of the exported graph."""
    symbol, params = to_symbol(graph)
    arrays = {name.partition(":")[2]: array for name, array in params.items()} | dict(feeds)
    with needing("MXNet"):
        return list(live.run(symbol, arrays).values())


# golden cases


@functools.cache
def tensors(folder: Path) -> dict[str, Array]:
    with np.load(folder / "golden" / "padding_golden.npz") as file:
        return {name: file[name] for name in file.files}


def with_tensors() -> list[dict[str, Any]]:
    return [case for case in golden().values() if case.get("tensors") and 0 not in case["tf_output_shape"]]


def window_of(case: Mapping[str, Any]) -> Window:
    """A golden case; dilations without a kernel of their own on TensorFlow's CPU are spread, as TensorFlow does."""
    op, shape, weight = case["op"], case["input_shape"], case.get("weight_shape") or [0, 0]
    kinds = {"depthwise": "depthwise", "max": "max", "avg": "average"}
    kind = "transposed" if op.endswith("transpose") else kinds.get(op.partition("_")[0], "conv")
    return Window(
        kind, tuple(shape[1:-1]), tuple(case["kernel"]), tuple(case["stride"]), tuple(case["dilation"]),
        case["padding"], shape[0], shape[-1], weight[-2] if kind == "transposed" else weight[-1],
        tuple(case.get("output_shape_argument", ())[1:-1]), spread=kind != "conv" or len(case["kernel"]) == 3,
    )  # fmt: skip


def imported(case: Mapping[str, Any]) -> tuple[object, ...]:
    """Shape, pads and output padding that the importer gives; "refused" where no window fits."""
    window = window_of(case)
    try:
        graph = load(graph_of([window]), outputs=["y0"])
    except GraphirError as error:
        return ("refused" if "no window fits" in str(error) else str(error),)
    (op,) = [node.op for node in graph.nodes if isinstance(node.op, Conv | ConvTranspose | MaxPool | AveragePool)]
    assert isinstance(op.padding, Explicit)
    whole = len(op.kernel_shape)
    pads = op.padding.pads or ((0, 0),) * whole
    extra = getattr(op, "output_padding", ()) or (0,) * whole
    rank = window.rank
    return list(graph.outputs[0].shape or ()), [list(pair) for pair in pads[-rank:]], list(extra[-rank:])


@pytest.mark.parametrize("piece", pieces())
def test_golden_shapes_and_pads_through_the_importer(piece: str) -> None:
    cases = some(piece)
    assert {case["id"]: imported(case) for case in cases} == {case["id"]: wanted_of(case) for case in cases}


def test_golden_numbers_through_the_importer_and_onnx(shared: Path) -> None:
    cases = with_tensors()
    held = tensors(shared)
    weights = [held.get(f"{case['id']}_w", np.zeros(0, np.float32)) for case in cases]
    graph = load(graph_of([window_of(case) for case in cases], weights=weights))
    feeds = {f"x{index}": held[f"{case['id']}_x"] for index, case in enumerate(cases)}
    found = onnx_results(graph, feeds)
    wrong = {case["id"]: differs(y, held[f"{case['id']}_y"]) for case, y in zip(cases, found, strict=True)}
    assert len(wrong) > 100
    assert {name: text for name, text in wrong.items() if text} == {}


def through_mxnet(case: dict[str, Any], held: Mapping[str, Array], live: MXNet) -> Array:
    """Live MXNet's result of a case as an IR graph, channels last."""
    x, weight = (held.get(f"{case['id']}_{name}") for name in "xw")
    assert x is not None
    (found,) = mxnet_results(ir_graph_of(case, x, weight), {"x": np.ascontiguousarray(np.moveaxis(x, -1, 1))}, live)
    return np.moveaxis(found, 1, -1)


@pytest.mark.live
def test_golden_numbers_through_mxnet(shared: Path, mxnet_live: MXNet) -> None:
    cases, held = with_tensors(), tensors(shared)
    wrong = {case["id"]: differs(through_mxnet(case, held, mxnet_live), held[f"{case['id']}_y"]) for case in cases}
    assert len(wrong) > 100
    assert {name: text for name, text in wrong.items() if text} == {}


# cases drawn at random


@pytest.mark.live
def test_drawn_cases_equal_tensorflow(tensorflow: Oracle, mxnet_live: MXNet, request: pytest.FixtureRequest) -> None:
    batches = ALL_BATCHES if request.config.getoption(FULL) else BATCHES
    seen: set[Window] = set()

    # A case is small by itself and the failure names it, so nothing is shrunk.
    @settings(max_examples=batches, phases=[Phase.explicit, Phase.generate], database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.lists(windows(), min_size=BATCH, max_size=BATCH, unique=True))
    def compare(cases: list[Window]) -> None:
        wanted = live_results(cases, tensorflow)
        graph = load(graph_of(cases), outputs=results_of(cases))
        assert differing(cases, onnx_results(graph, feeds_of(cases)), wanted) == {}
        known = [replace(case, open=False) for case in cases]
        graph = load(graph_of(known), outputs=results_of(known))
        assert differing(cases, mxnet_results(graph, feeds_of(known), mxnet_live), wanted) == {}
        seen.update(cases)

    compare()
    assert len(seen) >= (batches - 2) * BATCH


# what was wrong once, and what is rare


def window(kind: str, *numbers: tuple[int, ...], padding: Any = "SAME", **more: Any) -> Window:
    """A window by sizes, kernel, strides and dilations."""
    sizes, kernel, strides, *rest = numbers
    return Window(kind, sizes, kernel, strides, rest[0] if rest else (1,) * len(sizes), padding, **more)


KNOWN = [
    window("max", (9, 8, 7), (1, 2, 1), (4, 5, 3)),
    window("average", (8, 9, 11), (2, 1, 3), (5, 4, 4)),
    window("conv", (8, 7, 6), (1, 1, 1), (4, 4, 4)),
    window("conv", (8, 8), (1, 1), (4, 4), open=True),
    window("conv", (9, 10), (3, 3), (2, 2), (2, 2)),
    window("conv", (11, 12), (3, 3), (2, 3), (2, 1), padding="VALID", channels_first=True),
    window("max", (9, 10), (3, 2), (1, 1), (2, 3), padding="VALID", spread=True),
    window("average", (12,), (3,), (1,), (3,), padding="VALID", spread=True),
    window("max", (6, 7), (3, 3), (2, 1), padding=((2, 0), (1, 2)), channels_first=True),
]


@pytest.mark.live
def test_rare_cases_equal_tensorflow(tensorflow: Oracle) -> None:
    graph = load(graph_of(KNOWN), outputs=results_of(KNOWN))
    assert differing(KNOWN, onnx_results(graph, feeds_of(KNOWN)), live_results(KNOWN, tensorflow)) == {}


EMPTY = [
    window("conv", (2, 7), (3, 3), (1, 1), padding="VALID"),
    window("conv", (7, 3), (3, 5), (2, 2), padding="VALID"),
    window("conv", (4,), (3,), (1,), (2,), padding="VALID"),
    window("conv", (5, 5, 1), (2, 2, 2), (1, 1, 1), padding="VALID"),
    window("conv", (1, 9), (4, 2), (1, 1), padding=((1, 1), (0, 0))),
    window("depthwise", (2, 9), (3, 3), (1, 1), padding="VALID"),
    window("max", (1, 8), (2, 2), (2, 2), padding="VALID"),
    window("average", (8, 2), (3, 3), (1, 1), padding="VALID", channels_first=True),
    window("average", (3, 2, 4), (2, 3, 2), (1, 1, 1), padding="VALID"),
]


@pytest.mark.live
@pytest.mark.parametrize("case", EMPTY, ids=lambda case: f"{case.kind}-{case.sizes}")
def test_no_window_is_an_error_where_tensorflow_gives_nothing(case: Window, tensorflow: Oracle) -> None:
    (wanted,) = live_results([replace(case, open=True)], tensorflow)  # with sizes stated TensorFlow refuses it too
    assert wanted.size == 0
    with pytest.raises(ImportFailure, match="no window fits"):
        load(graph_of([case]), outputs=["y0"])


# sizes that stay open

OPEN = [
    window("conv", (7, 9), (3, 3), (2, 2)),
    window("conv", (7, 9), (3, 2), (2, 3), (2, 3)),
    window("conv", (7, 9), (3, 2), (1, 1), (2, 3)),
    window("conv", (7, 9), (1, 2), (4, 5)),
    window("conv", (11,), (4,), (3,)),
    window("conv", (5, 6, 7), (3, 2, 3), (2, 2, 3)),
    window("conv", (7, 9), (3, 3), (2, 1), padding="VALID"),
    window("conv", (7, 9), (3, 3), (2, 2), channels_first=True),
    window("depthwise", (7, 9), (3, 3), (2, 2)),
    window("max", (7, 9), (3, 3), (2, 2)),
    window("max", (7, 9), (1, 2), (3, 4), channels_first=True),
    window("average", (7, 9), (3, 3), (2, 2)),
    window("average", (7, 9), (2, 1), (3, 4)),
    window("average", (5, 6, 7), (3, 2, 3), (2, 2, 3)),
    window("max", (11,), (2,), (3,)),
]
LONGER = [0, 1, 2, 3, 5, 12]


@pytest.mark.live
def test_one_import_with_open_sizes_holds_for_every_size(tensorflow: Oracle) -> None:
    graph = load(graph_of([replace(case, open=True) for case in OPEN]), outputs=results_of(OPEN))
    fed = [[replace(case, sizes=tuple(size + more for size in case.sizes)) for case in OPEN] for more in LONGER]
    weights = [case.weight() for case in OPEN]
    wrong = [
        differing(cases, onnx_results(graph, feeds_of(cases)), live_results(cases, tensorflow, weights))
        for cases in fed
    ]
    assert wrong == [{}] * len(LONGER)


NEEDS_SIZES = [
    (window("conv", (7, 9), (3, 3), (2, 2)), "SAME at stride 2x2 needs the size of axis 2"),
    (window("max", (7, 9), (3, 3), (2, 1)), "SAME at stride 2x1 needs the size of axis 2"),
    (window("average", (7, 9), (3, 3), (1, 2), channels_first=True), "SAME at stride 1x2 needs the size of axis 3"),
    (window("depthwise", (7, 9), (3, 3), (2, 2)), "-i x0:1,224,224,2"),
]


@pytest.mark.parametrize(("case", "text"), NEEDS_SIZES)
def test_mxnet_names_the_axis_and_the_option_that_gives_its_size(case: Window, text: str) -> None:
    graph = load(graph_of([replace(case, open=True)]), outputs=["y0"])
    with pytest.raises(UnsupportedOpError) as caught:
        to_symbol(graph)
    assert text in str(caught.value)
    assert "-i x0:1," in str(caught.value)


DECIDED = [
    (window("conv", (8, 9), (3, 3), (2, 2)), "SAME_UPPER on 8x9, kernel 3x3, stride 2x2: pads (0, 1), (1, 1)"),
    (window("max", (8, 9), (2, 3), (1, 1)), "SAME_UPPER, kernel 2x3, stride 1x1: pads (0, 1), (1, 1)"),
    (window("average", (7, 9), (3, 3), (2, 3)), "SAME_UPPER on 7x9, kernel 3x3, stride 2x3: pads (1, 1), (0, 0)"),
]


@pytest.mark.parametrize(("case", "text"), DECIDED)
@pytest.mark.parametrize("target", ["m.onnx", "m.graphir.json", "m-symbol.json"])
def test_what_same_became_is_written_and_reported(case: Window, text: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(graph_of([case]))
    report = convert(tmp_path / "m.pb", tmp_path / target)
    assert [made.text.startswith(text) for made in report.decisions if made.kind == KIND] == [True]
    assert "SAME" not in (tmp_path / target).read_bytes().decode("latin-1").replace(text, "")


POLICIES: list[tuple[Operator, str]] = [
    (Conv((3, 3), strides=(2, 2), padding=Same()), "SAME_UPPER on 8x9, kernel 3x3, stride 2x2: pads (0, 1), (1, 1)"),
    (MaxPool((2, 3), padding=Same(SameMode.LOWER)), "SAME_LOWER, kernel 2x3, stride 1x1: pads (1, 0), (1, 1)"),
    (AveragePool((3, 3), strides=(2, 3), padding=Same()), "SAME_UPPER on 8x9, kernel 3x3, stride 2x3: pads (0, 1)"),
    (ConvTranspose((3, 3), strides=(2, 2), padding=Same()), "SAME_UPPER on 8x9, kernel 3x3, stride 2x2: pads (0, 1)"),
    (ConvTranspose((3, 3), strides=(2, 2), output_shape=(17, 20)), "the output shape on 8x9"),
]


@pytest.mark.parametrize(("op", "text"), POLICIES, ids=lambda value: type(value).__name__)
def test_a_symbol_of_a_policy_says_what_it_became(op: Operator, text: str) -> None:
    graph = window_graph(op, (8, 9))
    to_symbol(graph)
    assert [made.text.startswith(text) for made in graph.decisions if made.kind == KIND] == [True]


@pytest.mark.parametrize("target", ["m.onnx", "m.graphir.json"])
def test_unknown_sizes_stay_a_policy_in_the_file(target: str, tmp_path: Path) -> None:
    case = window("conv", (8, 9), (3, 3), (2, 2), open=True)
    (tmp_path / "m.pb").write_bytes(graph_of([case]))
    convert(tmp_path / "m.pb", tmp_path / target)
    assert b"SAME_UPPER" in (tmp_path / target).read_bytes().upper().replace(b"SAME:UPPER", b"SAME_UPPER")


def test_the_command_line_says_which_size_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graphir.cli import main

    case = window("conv", (8, 9), (3, 3), (2, 2), open=True)
    source, target = tmp_path / "m.pb", tmp_path / "m-symbol.json"
    source.write_bytes(graph_of([case]))
    assert main(["convert", str(source), str(target)]) != 0
    assert "SAME at stride 2x2 needs the size of axis 2" in (text := capsys.readouterr().err)
    assert "-i x0:1,224,224,2" in text
    assert not target.exists()
    assert main(["convert", str(source), str(target), "-i", "x0:1,8,9,2"]) == 0


def test_windows_that_begin_by_the_size_need_it() -> None:
    case = window("max", (9, 8, 7), (1, 2, 1), (4, 5, 3), open=True)
    with pytest.raises(ImportFailure, match="windows begin where the sizes say") as caught:
        load(graph_of([case]), outputs=["y0"])
    assert "x0" in str(caught.value)
