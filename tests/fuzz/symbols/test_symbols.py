"""Random MXNet symbols: live MXNet, the numpy reference and the ONNX model agree, and nothing crashes.

GRAPHIR_FUZZ_CASES and GRAPHIR_FUZZ_SEED make it longer and other; `python -m tests.fuzz.symbols` sorts what it finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.equivalence.case import Case, case, values
from tests.fuzz.symbols.draw import Drawn, draw, rows
from tests.fuzz.symbols.judge import Kind, LiveMXNet, Outcome, compare, in_float32, verdict
from tests.fuzz.symbols.recorded import OVERFLOWS, before_rounding, explained, overflowed
from tests.requirements import needing

Array = NDArray[Any]
CASES = int(os.environ.get("GRAPHIR_FUZZ_CASES", "500"))
SEED = int(os.environ.get("GRAPHIR_FUZZ_SEED", "0"))
FAULTS = (Kind.WRONG, Kind.CRASH)


@pytest.fixture(scope="module")
def live() -> Iterator[LiveMXNet]:
    """Live MXNet for the module."""
    with LiveMXNet() as found:
        yield found


@pytest.mark.live
@pytest.mark.parametrize("index", range(CASES))
def test_all_roads_agree(index: int, live: LiveMXNet) -> None:
    drawn = draw(SEED, index)
    with needing("MXNet"):
        found = verdict(live, drawn)
    assert [outcome for outcome in (found.onnx, found.reference) if outcome.kind in FAULTS] == [], str(drawn)


@pytest.mark.live
def test_most_symbols_are_mxnets(live: LiveMXNet) -> None:
    with needing("MXNet"):
        runs = [verdict(live, draw(SEED, index)).runs for index in range(120)]
    assert sum(runs) > 40


@pytest.mark.live
@pytest.mark.parametrize("numbers", [
    (6e4, 1, 6e4), (6e4, 6e4, 1), (6e4, 6e4, -6e4), (6e4, 5e3, 1e3, 0), (6e4, 6e4, float("nan")), (3e4, 3e4, -1, 5e3),
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("op", "attrs"), [("nansum", {}), ("norm", {"ord": 1})], ids=["nansum", "norm"])
def test_sums_of_float16_overflow_in_the_reference_as_in_mxnet(
    live: LiveMXNet, op: str, attrs: dict[str, object], numbers: tuple[float, ...]
) -> None:
    row = case(op, "overflow", values(*numbers, dtype="float16"), **attrs)  # type: ignore[arg-type]
    with needing("MXNet"):
        found = verdict(live, Drawn(row, row.arrays(), True))
    assert found.runs
    assert found.reference.kind is Kind.EQUAL
    assert found.onnx.kind in (Kind.EQUAL, Kind.RECORDED)


# What was found, MXNet's float16 and its float32, and whether the first is the third where the second overflowed.
WIDER: list[tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], list[bool]]] = [
    ((6e4, 6), (np.nan, np.nan), (6e4, 9), [True, False]),
    ((6e4, 6), (np.inf, 6), (6e4, 6), [True, False]),
    ((np.inf, np.nan), (np.nan, np.inf), (1.2e5, np.nan), [True, True]),
    ((5.9e4, -np.inf), (np.inf, np.nan), (6e4, 1.2e5), [False, False]),
    ((0, 1), (np.nan, 3), (0, 1), [True, False]),
]


@pytest.mark.parametrize(("found", "wanted", "wider", "explains"), WIDER)
def test_an_overflow_of_float16_is_proven_by_mxnet_in_float32(
    found: tuple[float, ...], wanted: tuple[float, ...], wider: tuple[float, ...], explains: list[bool]
) -> None:
    places = overflowed(drawn_of("sum"), of("float16", *found), of("float16", *wanted), of("float32", *wider))
    assert places.tolist() == explains


@pytest.mark.live
@pytest.mark.parametrize(("op", "numbers"), [
    ("prod", (100, -0.5, 1000, 5, 0)), ("nanprod", (1e3, 1e3, 1e-3, 1e-3)), ("sum", (6e4, 6e4, -6e4, 1)),
    ("_npi_std", (300, -300, 100)),
])  # fmt: skip
def test_what_overflows_on_the_way_is_recorded(live: LiveMXNet, op: str, numbers: tuple[float, ...]) -> None:
    row = case(op, "way", values(*numbers, dtype="float16"))
    drawn = Drawn(row, row.arrays(), True)
    with needing("MXNet"):
        found = verdict(live, drawn)
        (wanted,) = live(drawn)
    assert not np.isfinite(wanted).all()
    assert (found.onnx.kind, found.onnx.text) == (Kind.RECORDED, OVERFLOWS)
    other = [np.full_like(wanted, 7)]
    assert compare(drawn, other, [wanted], "onnx", in_float32(live, drawn, [wanted])).kind is Kind.WRONG


def test_a_case_is_drawn_alike_twice() -> None:
    first, second = draw(SEED, 17), draw(SEED, 17)
    assert (first.symbol, str(first)) == (second.symbol, str(second))


def test_every_operator_with_rows_is_drawn() -> None:
    count = len(rows())
    assert len({draw(SEED, index).case.op for index in range(count)}) == count


def drawn_of(op: str, **values: Any) -> Drawn:
    """A symbol of an operator with these values."""
    return Drawn(Case(op, {}, (), "made"), {name: np.asarray(array) for name, array in values.items()}, False)


def of(dtype: str, *numbers: float) -> Array:
    """A vector."""
    return np.array(numbers, dtype)


INTEGERS = np.array([2**24 + 4, -7], np.int32)
HALVES = np.array([np.inf, 2], np.float16)
LEAST = np.array([-(2**63)], np.int64)
ROWS = [
    ("_contrib_quantized_elemwise_add", "onnx", INTEGERS, INTEGERS + 8, {}, 2),
    ("_contrib_quantized_elemwise_add", "onnx", INTEGERS, INTEGERS + 9, {}, 0),
    ("_contrib_quantize_v2", "onnx", of("int8", 127), of("int8", 0), {"a": of("float32", 0)}, 1),
    ("_contrib_quantize_v2", "onnx", of("int8", 127), of("int8", 1), {"a": of("float32", 0)}, 0),
    ("_npi_add", "onnx", INTEGERS, INTEGERS + 1, {}, 0),
    ("gamma", "onnx", of("int32", 479001599), of("int32", 479001600), {}, 1),
    ("gamma", "onnx", of("int32", 5040), of("int32", 5038), {}, 0),
    ("gamma", "onnx", of("float32", 24.0), of("float32", 25.0), {}, 0),
    ("_contrib_allclose", "torch", of("uint8", 1), of("uint8", 0), {"a": LEAST, "b": of("int64", 100)}, 1),
    ("_contrib_allclose", "torch", of("uint8", 1), of("uint8", 0), {"a": LEAST, "b": of("int64", -1)}, 0),
    ("_npi_add", "onnx", HALVES, of("float16", 7, 2), {"a": of("float16", 1, 2), "b": of("int32", 70000, 1)}, 1),
    ("_npi_add", "onnx", HALVES, of("float16", 7, 2), {"a": of("float16", 1, 2), "b": of("int32", 7, 70000)}, 0),
    ("_npi_add", "reference", HALVES, of("float16", 7, 2), {"a": of("float16", 1, 2), "b": of("int32", 70000, 1)}, 0),
    ("_npi_std", "onnx", HALVES, of("float16", 7, 2), {"a": of("int32", 70000)}, 0),
    ("_npi_norm", "onnx", of("float32", 2), of("float32", 3), {"a": of("float32", np.nan, 1, 1)}, 0),
    ("LeakyReLU", "onnx", of("float64", np.nan), of("float64", -0.0), {"gamma": of("float64", np.inf)}, 1),
    ("LeakyReLU", "onnx", of("float64", np.nan), of("float64", -0.0), {"gamma": of("float64", 0.5)}, 0),
    ("LeakyReLU", "onnx", of("float64", np.nan), of("float64", 1.0), {"gamma": of("float64", np.inf)}, 0),
    ("_random_pdf_dirichlet", "onnx", of("float32", np.nan), of("float32", 0),
     {"a": of("float32", 1, 1, 1), "b": of("float32", -3e9, 2, 3e9)}, 1),
    ("_random_pdf_dirichlet", "onnx", of("float32", np.nan), of("float32", 0),
     {"a": of("float32", 1, 1, 1), "b": of("float32", -3, 2, 3)}, 0),
]  # fmt: skip


# Numbers in steps, how many steps apart the results are, and how many of those are recorded.
TIES: list[tuple[tuple[float, ...], int, int]] = [
    ((0.5, 1.5, 0.49, 2.2), 1, 2),
    ((0.50001, 1.50001, 7.6, 2.2), 1, 2),
    ((0.5, 1.5, 0.49, 2.2), 2, 0),
    ((0.501, 1.499, 7.6, 2.2), 1, 0),
]


@pytest.mark.parametrize(("numbers", "steps", "count"), TIES)
def test_a_step_apart_is_recorded_half_way_between_two_only(
    numbers: tuple[float, ...], steps: int, count: int
) -> None:
    row = case("_contrib_quantize_v2", "ties", values(*numbers), min_calib_range=-127.5, max_calib_range=127.5)
    drawn = Drawn(row, row.arrays(), False)
    (true,) = [array for array in before_rounding(drawn) if array.size == len(numbers)]
    assert np.allclose(true, numbers, atol=1e-6)
    wanted = np.rint(true).astype(np.int8)
    assert int(explained(drawn, "onnx", wanted + np.int8(steps), wanted)[0].sum()) == count


APART = {"a": of("float32", 1e30, 1e-30)}
NORMS: list[tuple[str, dict[str, Array], Array, Array, int]] = [
    ("0", {"a": of("float32", np.nan, 1, 1)}, of("float32", 2), of("float32", 3), 1),
    ("0", {"a": of("float32", np.nan, 1, 1)}, of("float32", 3), of("float32", 2), 1),
    ("0", {"a": of("float32", np.nan, 1, 1)}, of("float32", 1), of("float32", 3), 0),
    ("0", {"a": of("float32", np.inf, 1, 1)}, of("float32", 2), of("float32", 3), 0),
    ("-1", APART, of("float32", 1e30), of("float32", 1e-30), 1),
    ("3", APART, of("float32", 1e30), of("float32", 1e-30), 0),
    ("-1", {"a": of("float32", 10, 2)}, of("float32", 1), of("float32", 2), 0),
]


@pytest.mark.parametrize(("order", "values", "wanted", "found", "count"), NORMS)
def test_norms_that_are_recorded(
    order: str, values: dict[str, Array], wanted: Array, found: Array, count: int
) -> None:
    drawn = Drawn(Case("_npi_norm", {"ord": order}, (), "made"), values, False)
    assert int(explained(drawn, "onnx", found, wanted)[0].sum()) == count


@pytest.mark.parametrize(("op", "road", "wanted", "found", "values", "count"), ROWS)
def test_what_is_recorded_is_shown_by_its_numbers(
    op: str, road: str, wanted: Array, found: Array, values: dict[str, Array], count: int
) -> None:
    places, reason = explained(drawn_of(op, **values), road, found, wanted)
    assert (int(places.sum()), bool(reason)) == (count, count > 0)


@pytest.mark.parametrize(("channels", "interp", "count"), [(5, 0, 1), (7, 0, 3), (6, 0, 0), (8, 0, 0), (5, 1, 0)])
def test_channels_that_opencv_leaves_out_are_recorded(channels: int, interp: int, count: int) -> None:
    drawn = Drawn(Case("_image_resize", {"interp": str(interp)}, (), "made"), {}, False)
    wanted = np.zeros((1, 1, channels), np.uint8)
    assert int(explained(drawn, "onnx", wanted + np.uint8(1), wanted)[0].sum()) == count


@pytest.mark.parametrize(("lower", "row", "count"), [("0", 0, 1), ("1", 0, 0), ("True", 1, 1), ("0", 1, 0)])
def test_nan_in_the_triangle_that_is_read_is_recorded(lower: str, row: int, count: int) -> None:
    matrix = np.ones((2, 2), np.float32)
    matrix[row, 1 - row] = np.nan
    drawn = Drawn(Case("_linalg_trsm", {"lower": lower}, (), "made"), {"A": matrix, "B": matrix}, False)
    wanted, found = of("float32", np.nan, 1, 1, 1).reshape(2, 2), np.ones((2, 2), np.float32)
    assert int(explained(drawn, "onnx", found, wanted)[0].sum()) == count


@pytest.mark.parametrize(("stated", "count"), [("(1.5, 2)", 1), ("(1.5,)", 2), ("(1, 2, 3)", 0), ("()", 0)])
def test_borders_without_a_value_are_recorded(stated: str, count: int) -> None:
    drawn = Drawn(Case("_cvcopyMakeBorder", {"values": stated}, (), "made"), {}, False)
    wanted = np.zeros((1, 1, 3), np.float32)
    assert int(explained(drawn, "onnx", wanted + np.float32(1), wanted)[0].sum()) == count


def test_a_cause_has_no_numbers_of_its_case() -> None:
    assert Outcome(Kind.WRONG, "3 of 12 elements, at 4 found -1.5e-07").cause == "# of # elements, at # found #"
