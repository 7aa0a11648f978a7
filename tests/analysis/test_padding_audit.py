"""Windows as the audit sees them, and what it says about pairs that differ."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from graphir.analysis.padding_audit import audit, compare
from graphir.analysis.padding_fixes import PLAIN
from graphir.analysis.windows import SlidingWindow, find_windows
from graphir.converters.table import fixes_of
from graphir.graph import Graph
from graphir.ops.base import Operator
from graphir.ops.convolution import Conv, ConvTranspose
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.shape import Pad
from graphir.padding import Explicit, Same, SameMode, symmetric
from graphir.report.padding import audit_json, audit_text, windows_json, windows_text
from graphir.report.padding_html import audit_html, windows_html
from graphir.symbolic.dims import symbol
from graphir.types import DType, TensorType
from tests.typed import untyped


def window_of(
    op: Operator,
    sizes: tuple[int | str, ...] = (224, 224),
    *,
    filters: int = 4,
    pads: tuple[int, ...] | None = None,
    channels: int = 3,
) -> SlidingWindow:
    """The only window of a graph over (1, channels, *sizes), with a Pad in front if `pads` are given."""
    graph = Graph("one")
    dims = [symbol(size) if isinstance(size, str) else size for size in sizes]
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, channels, *dims)))
    if pads is not None:
        x = graph.add(Pad(), x, graph.constant(np.array(pads, np.int64), name="pads"))
    operands = [x]
    if isinstance(op, Conv):
        operands.append(graph.constant(np.zeros((filters, channels // op.group, *op.kernel_shape), np.float32)))
    if isinstance(op, ConvTranspose):
        operands.append(graph.constant(np.zeros((channels, filters, *op.kernel_shape), np.float32)))
    graph.set_outputs(graph.add_node(op, operands, name="layer").outputs[:1])
    (found,) = find_windows(graph)
    return found


SAME = Same()
BEHIND = Explicit(((0, 1), (0, 1)))
SEEN = [
    # operator, sizes, policy, pads, flags
    (Conv((3, 3), strides=(2, 2), padding=SAME), (224, 225), "SAME_UPPER", ((0, 1), (1, 1)),
     ("asymmetric", "size-dependent")),
    (Conv((3, 3), padding=SAME), ("H", "W"), "SAME_UPPER", ((1, 1), (1, 1)), ()),
    (Conv((3, 3), strides=(2, 2), padding=SAME), ("H", "W"), "SAME_UPPER", None, ("size-dependent",)),
    (Conv((3, 3), dilations=(2, 2), padding=symmetric((2, 2))), (9, 9), "explicit", ((2, 2), (2, 2)), ("dilated",)),
    (Conv((1, 1), strides=(2, 2), padding=SAME), (9, 8), "SAME_UPPER", ((0, 0), (0, 0)), ()),
    (Conv((3, 3)), (9, 9), "VALID", ((0, 0), (0, 0)), ()),
    (Conv((2, 2), padding=Same(SameMode.LOWER)), (9, 9), "SAME_LOWER", ((1, 0), (1, 0)), ("asymmetric",)),
    (AveragePool((3, 3), padding=symmetric((1, 1)), count_include_pad=True), (9, 9), "explicit", ((1, 1), (1, 1)),
     ("divisor",)),
    (MaxPool((3, 3), (2, 2), ceil_mode=True), (10, 10), "VALID", ((0, 0), (0, 0)), ("ceil",)),
    (ConvTranspose((3, 3), strides=(2, 2), padding=SAME), ("H", 5), "SAME_UPPER", ((0, 1), (0, 1)), ("asymmetric",)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "sizes", "policy", "pads", "flags"), SEEN)
def test_windows_show_policy_numbers_and_flags(
    op: Operator,
    sizes: tuple[int | str, ...],
    policy: str,
    pads: tuple[tuple[int, ...], ...] | None,
    flags: tuple[str, ...],
) -> None:
    found = window_of(op, sizes)
    assert (found.policy, found.pads, found.flags) == (policy, pads, flags)


def test_a_pad_in_front_is_the_windows_own() -> None:
    found = window_of(Conv((3, 3), strides=(2, 2)), pads=(0, 0, 0, 0, 0, 0, 1, 1))
    assert (found.pads, found.policy, found.also) == (((0, 1), (0, 1)), "explicit", "SAME_UPPER")


def conv(
    pads: Same | tuple[tuple[int, int], ...],
    *,
    kernel: tuple[int, ...] = (3, 3),
    stride: int = 2,
    **more: Any,
) -> Conv:
    return Conv(kernel, strides=(stride, stride), padding=pads if isinstance(pads, Same) else Explicit(pads), **more)


DIFFERENT = [
    # first, second, framework, kind, words of the text, fix
    (window_of(conv(SAME)), window_of(conv(((1, 1), (1, 1)))), "onnx", "padding",
     "SAME_UPPER at stride 2x2 on 224x224 pads (0, 1), (0, 1); the second model pads (1, 1), (1, 1): same shape, "
     "output shifted by 1 pixel", "pads=[0, 0, 1, 1]"),
    (window_of(conv(SAME)), window_of(conv(((1, 1), (1, 1)))), "mxnet", "padding", "shifted by 1 pixel",
     "mx.sym.Pad(mode='constant', pad_width=(0, 0, 0, 0, 0, 1, 0, 1), constant_value=0) in front and pad=(0, 0)"),
    (window_of(conv(SAME, kernel=(1, 7), stride=1), (17, 17)),
     window_of(conv(((1, 1), (2, 2)), kernel=(1, 7), stride=1), (17, 17)), "mxnet", "padding",
     "17x17 becomes 19x15", "pad=(0, 3)"),
    (window_of(conv(((0, 0), (0, 0)))), window_of(conv(SAME)), "", "padding", "111x111 becomes 112x112",
     "pad (0, 0), (0, 0), before and after each axis"),
    (window_of(conv(SAME), ("H", "W")), window_of(conv(((1, 1), (1, 1))), ("H", "W")), "", "padding",
     "depends on the input's size", "state the inputs' shapes (-i) to have both as numbers"),
    (window_of(conv(SAME, kernel=(3, 3))), window_of(conv(SAME, kernel=(5, 5))), "onnx", "kernel",
     "kernel 3x3 in the first model, 5x5 in the second", "kernel_shape=[3, 3]"),
    (window_of(conv(SAME, stride=1)), window_of(conv(SAME)), "mxnet", "stride", "stride 1x1", "stride=(1, 1)"),
    (window_of(conv(SAME, stride=1, dilations=(2, 2))), window_of(conv(SAME, stride=1)), "mxnet", "dilation",
     "dilation 2x2 in the first model, 1x1 in the second", "dilate=(2, 2)"),
    (window_of(conv(SAME), filters=128), window_of(conv(SAME), filters=129), "mxnet", "filters",
     "128 filters in the first model, 129 in the second", "num_filter=128"),
    (window_of(AveragePool((3, 3), padding=SAME)),
     window_of(AveragePool((3, 3), padding=symmetric((1, 1)), count_include_pad=True)), "mxnet", "divisor",
     "fewer than 9 at the border", "count_include_pad=False"),
    (window_of(conv(SAME)), window_of(MaxPool((3, 3), (2, 2))), "", "operator", "Conv in the first model, MaxPool",
     "make it a Conv"),
    (window_of(conv(SAME)), None, "", "missing", "layer (Conv 3x3, stride 2x2) of the first model has no counterpart",
     "look at the layers before and behind it in both models"),
    (None, window_of(conv(SAME)), "", "missing", "of the second model has no counterpart in the first",
     "look at the layers before and behind it in both models"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "framework", "kind", "words", "fix"), DIFFERENT)
def test_a_disagreement_is_explained_and_mended(
    left: SlidingWindow | None, right: SlidingWindow | None, framework: str, kind: str, words: str, fix: str
) -> None:
    (found,) = compare(left, right, fixes_of(framework) if framework else PLAIN)
    assert (found.kind, found.fix) == (kind, fix)
    assert words in found.text


AGREEING = [
    (window_of(conv(SAME)), window_of(conv(((0, 1), (0, 1))))),
    (window_of(conv(SAME)), window_of(Conv((3, 3), strides=(2, 2)), pads=(0, 0, 0, 0, 0, 0, 1, 1))),
    # the element behind that no window reads
    (window_of(MaxPool((3, 3), (2, 2)), (7, 7)), window_of(MaxPool((3, 3), (2, 2), padding=BEHIND), (7, 7))),
    # ceil mode that changes nothing here
    (window_of(MaxPool((3, 3), (2, 2)), (7, 7)), window_of(MaxPool((3, 3), (2, 2), ceil_mode=True), (7, 7))),
    # another size in front, the same rule
    (window_of(conv(SAME), (17, 17)), window_of(conv(SAME), (19, 15))),
    (window_of(conv(SAME), (17, 17)), window_of(conv(((0, 1), (1, 1))), (18, 15))),
    # fewer channels come in: the fault of the layer before
    (window_of(conv(SAME), channels=128), window_of(conv(SAME), channels=129)),
    # no padding, no divisor
    (window_of(AveragePool((2, 2))), window_of(AveragePool((2, 2), count_include_pad=True))),
    (window_of(conv(SAME), ("H", "W")), window_of(conv(SAME), ("H", "W"))),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), AGREEING)
def test_what_reads_the_same_data_agrees(left: SlidingWindow, right: SlidingWindow) -> None:
    assert compare(left, right) == []


def test_reports_hold_every_pair() -> None:
    pairs = [DIFFERENT[0][:2], AGREEING[0], (None, DIFFERENT[0][1])]
    found = audit(pairs, fixes_of("mxnet"))
    assert not found.agrees
    text = audit_text(found, "a.pb", "b-symbol.json", verbose=True)
    assert text.startswith("DISAGREE: 2 of 3 windows (1 padding, 1 missing)")
    assert "fix: mx.sym.Pad(" in text
    data = json.loads(json.dumps(audit_json(found)))
    assert [len(pair["disagreements"]) for pair in data["pairs"]] == [1, 0, 1]
    assert data["pairs"][0]["first"]["pads"] == [[0, 1], [0, 1]]
    page = audit_html(found, "a.pb", "b-symbol.json")
    assert "Disagreements (2)" in page
    assert audit_text(audit(pairs[1:2]), "a", "b").startswith("agreed: 1 window of both models read the same data")


def test_one_models_windows_as_text_json_and_page() -> None:
    windows = [window_of(op, untyped(sizes)) for op, sizes, *_ in SEEN]
    assert "10 windows: 3 asymmetric, 2 size-dependent, 1 dilated, 1 divisor, 1 ceil" in windows_text(windows)
    assert [row["pads"] for row in json.loads(json.dumps(windows_json(windows)))][2] is None
    assert windows_html(windows, "model").count("<tr>") == len(SEEN) + 1
