"""Dimensions: canonical arithmetic, its agreement with the arithmetic of integers, its text, its bounds."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from graphir.symbolic.dims import (
    MAX_LENGTH,
    MAX_TERMS,
    UNKNOWN,
    Sym,
    Unknown,
    ceildiv,
    dim_max,
    dim_min,
    lower_bound,
    substitute,
    symbol,
)
from graphir.symbolic.text import parse_dim
from graphir.types import Dim
from tests.typed import present

from .expressions import Expression, Sizes, expressions, sizes

H, N, W = symbol("H"), symbol("N"), symbol("W")

CANONICAL = [
    # left, right: equal by arithmetic, so equal as dimensions and as text
    (N + H, H + N),
    ((N + 1) * (N - 1), N * N - 1),
    (2 * (N + H) - H, 2 * N + H),
    ((N + H) * (N + H), N * N + 2 * N * H + H * H),
    (N - N, 0),
    (0 * N, 0),
    (N * 3 - N * 2 - N + 7, 7),
    ((2 * N + 3) // 2, N + 1),
    ((2 * H) // 4, H // 2),
    ((2 * H + 1) // 4, H // 2),
    ((6 * H + 4 * N + 2) // 8, (3 * H + 2 * N + 1) // 4),
    ((H + 1) // -2, (-H - 1) // 2),
    (H // 2 // 3, H // 6),
    (((H + 1) // 2 + 1) // 2, (H + 3) // 4),
    (((H - 1) // 2 + 1 - 1) // 2 + 1, (H - 1) // 4 + 1),
    (ceildiv(ceildiv(ceildiv(H, 2), 2), 2), ceildiv(H, 8)),
    ((N * H) // N, H),
    ((2 * N * H + 4 * N) // (2 * N), H + 2),
    ((N * H + H) // (N + 1), H),
    (N // N, 1),
    ((N + 1) // (N + 1), 1),
    (N // 1, N),
    (3 // (N + 4), 0),
    ((4 * N) % 2, 0),
    ((4 * N + 3) % 2, 1),
    (dim_max(N, 1), N),
    (dim_max(0, N), N),
    (dim_min(N, 1), 1),
    (dim_max(N + 2, N), N + 2),
    (dim_min(N + 2, N), N),
    (dim_max(N, H), dim_max(H, N)),
    (dim_max(7, 3), 7),
]

TEXTS = [
    (2 * H + 1, "2*H+1"),
    (3 - N, "-N+3"),
    ((H + 1) // 2, "(H+1)//2"),
    (-(H // 2), "-(H//2)"),
    (N - H // 2, "N-H//2"),
    (3 * (H // 2), "3*(H//2)"),
    (H * (W // 2) * N, "H*N*(W//2)"),
    (7 // (N - 3), "7//(N-3)"),
    (dim_max(N - 3, 2 * H), "max(2*H,N-3)"),
    (dim_min(N, 7) // 2, "(min(7,N))//2"),
    (symbol("batch.size:0") + 1, "batch.size:0+1"),
    (UNKNOWN, "?"),
    (-3, "-3"),
]

READ = [
    ("(H+1)//2", (H + 1) // 2),
    (" N + 1 ", N + 1),
    ("-H//2", (-H) // 2),
    ("2*-3", -6),
    ("--N", N),
    ("7//2*2", 6),
    ("max(N,min(H,4))", dim_max(N, dim_min(H, 4))),
    ("max+min", symbol("max") + symbol("min")),
    ("?", UNKNOWN),
]

REFUSED = ["", "N+", "(N", "N)", "N N", "*N", "max(N)", "max(N,H", "N/2", "1//0", "N//(H-H)", "(" * 5000, "-" * 5000,
           "a b", "\u00b2", "N\u00e9", "??", "N+?", "1.5"]  # fmt: skip

BOUNDS = [
    (5, 5),
    (N, 1),
    (N - 5, -4),
    (3 - N, None),
    (N * H + 2, 3),
    ((N + 7) // 4, 2),
    ((N - 9) // 4, -2),
    (7 // N, None),
    (dim_max(H - N, 3), 3),
    (dim_min(N + 2, H + 4), 3),
    (dim_min(N, 3 - H), None),
    (UNKNOWN, None),
]


@pytest.mark.parametrize(("left", "right"), CANONICAL)
def test_equal_expressions_are_equal(left: Dim, right: Dim) -> None:
    assert (left, hash(left), str(left)) == (right, hash(right), str(right))


@pytest.mark.parametrize(("left", "right"), [(N, H), (N, N + 1), (N, 1), (N, UNKNOWN), (H // 2, H // 3), (N, "N")])
def test_different_expressions_differ(left: Sym, right: Any) -> None:
    assert left != right


@pytest.mark.parametrize(("dim", "text"), TEXTS)
def test_text(dim: Dim, text: str) -> None:
    assert str(dim) == text
    assert parse_dim(text) == dim


@pytest.mark.parametrize(("text", "dim"), READ)
def test_other_text_that_is_read(text: str, dim: Dim) -> None:
    assert parse_dim(text) == dim


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_is_no_dimension(text: str) -> None:
    with pytest.raises(ValueError, match="not a dimension"):
        parse_dim(text)


@pytest.mark.parametrize("name", ["", "1N", "N H", "N+1", "\u00e9", "N\n"])
def test_symbols_are_identifiers(name: str) -> None:
    with pytest.raises(ValueError, match="identifier"):
        symbol(name)


@pytest.mark.parametrize("divide", [lambda: N // 0, lambda: N % 0, lambda: substitute(7 // (N - 3), {"N": 3})])
def test_division_by_zero(divide: Callable[[], Dim]) -> None:
    with pytest.raises(ZeroDivisionError):
        divide()


@pytest.mark.parametrize(("dim", "bound"), BOUNDS)
def test_lower_bound(dim: Dim, bound: int | None) -> None:
    assert lower_bound(dim) == bound


@given(expressions, sizes)
@example(Expression(((N * 5 - 3) // 2 + 1) // 2, lambda s: ((s["N"] * 5 - 3) // 2 + 1) // 2), {"N": 1, "H": 1, "W": 1})
def test_arithmetic_is_that_of_integers(expression: Expression, given_sizes: Sizes) -> None:
    assume(not isinstance(expression.dim, Unknown))
    try:
        expected = expression.value(given_sizes)
    except ZeroDivisionError:
        assume(False)
    assert substitute(expression.dim, given_sizes) == expected


@given(expressions, sizes, st.sampled_from(["H", "N", "W"]))
def test_sizes_may_be_given_one_after_the_other(expression: Expression, given_sizes: Sizes, first: str) -> None:
    rest = {name: size for name, size in given_sizes.items() if name != first}
    try:
        expression.value(given_sizes)
        step = substitute(expression.dim, {first: given_sizes[first]})
        whole = substitute(expression.dim, given_sizes)
    except ZeroDivisionError:
        assume(False)
    assume(not isinstance(step, Unknown))
    assert substitute(step, rest) == whole


@given(expressions)
def test_text_reads_back(expression: Expression) -> None:
    dim = expression.dim
    assert parse_dim(str(dim)) == dim


@given(expressions, sizes)
def test_text_means_what_it_means_in_python(expression: Expression, given_sizes: Sizes) -> None:
    assume(not isinstance(expression.dim, Unknown))
    try:
        expected = expression.value(given_sizes)
    except ZeroDivisionError:
        assume(False)
    assert eval(str(expression.dim), {"max": max, "min": min}, dict(given_sizes)) == expected


@given(expressions, sizes)
def test_lower_bound_is_never_above(expression: Expression, given_sizes: Sizes) -> None:
    bound = lower_bound(expression.dim)
    assume(bound is not None)
    try:
        found = expression.value(given_sizes)
    except ZeroDivisionError:
        assume(False)
    assert present(bound) <= found


@given(expressions, expressions, expressions)
@settings(max_examples=60)
def test_sums_and_products_are_polynomials(first: Expression, second: Expression, third: Expression) -> None:
    a, b, c = first.dim, second.dim, third.dim
    sums = (a + b, b + a), ((a + b) + c, a + (b + c)), (a - b, -(b - a))
    results = *sums, (a * b, b * a), (a * (b + c), a * b + a * c)
    assert [left for left, right in results if left != right and UNKNOWN not in (left, right)] == []


@given(expressions, st.integers(-9, 9).filter(bool))
def test_quotient_and_remainder_make_the_whole(expression: Expression, divisor: int) -> None:
    dim = expression.dim
    whole = dim // divisor * divisor + dim % divisor
    assert whole in (dim, UNKNOWN)


@given(expressions)
def test_copies_and_pickles_are_equal(expression: Expression) -> None:
    dim = expression.dim
    copies = (copy.copy(dim), copy.deepcopy(dim), pickle.loads(pickle.dumps(dim)))
    assert {(found, hash(found)) for found in copies} == {(dim, hash(dim))}


def test_a_pickle_from_another_process_hashes_as_here() -> None:
    code = "import pickle, sys; from graphir.symbolic.dims import symbol; H = symbol('H');" \
           "sys.stdout.buffer.write(pickle.dumps(((H + 1) // 2, (H + 1) // 2 * H)))"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": "1"}
                          | {"PYTHONPATH": ":".join(sys.path)})  # fmt: skip
    assert {(H + 1) // 2: 1, (H + 1) // 2 * H: 2}.keys() == set(pickle.loads(done.stdout))


@pytest.mark.parametrize("result", [
    UNKNOWN + 1, 1 + UNKNOWN, UNKNOWN - N, N - UNKNOWN, UNKNOWN * 0, 0 * UNKNOWN, N * UNKNOWN, UNKNOWN // 2,
    2 // UNKNOWN,
    N // UNKNOWN, UNKNOWN % 2, 5 % UNKNOWN, N % UNKNOWN, -UNKNOWN, dim_max(UNKNOWN, 1), dim_min(N, UNKNOWN),
    ceildiv(UNKNOWN, 2), substitute(UNKNOWN, {"N": 1}), substitute(N + 1, {"N": UNKNOWN}), copy.deepcopy(UNKNOWN),
    pickle.loads(pickle.dumps(UNKNOWN)),
])  # fmt: skip
def test_unknown_absorbs(result: Dim) -> None:
    assert result is UNKNOWN


def _times(count: int, grow: Callable[[Dim], Dim], start: Dim) -> Dim:
    return start if count == 0 else _times(count - 1, grow, grow(start))


@pytest.mark.parametrize("found", [
    sum((symbol(f"s{index}") for index in range(MAX_TERMS + 1)), start=N),
    _times(40, lambda x: x * x, N),
    _times(40, lambda x: x * x, 3 * N),
    _times(40, lambda x: dim_max(x + N, x * H - 7 * W), N),
    _times(40, lambda x: N // (x + H), N),
    dim_max(symbol("a" * MAX_LENGTH), N),
])  # fmt: skip
def test_what_grows_too_large_is_forgotten(found: Dim) -> None:
    assert found is UNKNOWN


def test_many_strided_layers_stay_one_division() -> None:
    assert _times(12, lambda x: (x + 2 - 3) // 2 + 1, H) == (H + 4095) // 4096


def test_symbols_of_nested_expressions() -> None:
    assert (dim_max(H // 2, N * 3) // (W + 1)).symbols() == {"H", "N", "W"}


def test_a_sym_is_never_constant() -> None:
    assert not isinstance(Sym.__sub__(N, N - 4), Sym)
