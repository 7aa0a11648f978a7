"""Types: what unification keeps, what it refuses, and how shapes and dtypes are written."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphir
from graphir.errors import ShapeError
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.symbolic.dims import UNKNOWN, Sym, Unknown, dim_max, symbol
from graphir.types import (
    ANYTHING,
    Dim,
    DType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
    format_shape,
    parse_shape,
    product,
    unify,
    unify_dim,
)
from tests.ops.rule import tensor
from tests.symbolic.expressions import expressions
from tests.typed import tensor_type

N, H = symbol("N"), symbol("H")
FLOATS = SequenceType(tensor("float32[2, ?]"))

UNIFIED = [
    ("float32[1, 2]", "float32[1, 2]", "float32[1, 2]"),
    ("?[...]", "float32[1, 2]", "float32[1, 2]"),
    ("float32[...]", "?[N]", "float32[N]"),
    ("?[?, 3]", "int8[2, ?]", "int8[2, 3]"),
    ("?[N, 3]", "?[4, M]", "?[4, 3]"),
    ("?[N]", "?[?]", "?[N]"),
    ("?[N]", "?[M]", "?[N]"),
    ("?[]", "float64[...]", "float64[]"),
]

CONTRADICTIONS = [
    (tensor("float32[2, 3]"), tensor("float32[2, 4]"), r"\[2, 3\] and \[2, 4\].*3 and 4 differ"),
    (tensor("float32[2]"), tensor("float32[2, 1]"), r"\[2\] and \[2, 1\] differ in rank"),
    (tensor("float32[]"), tensor("float32[1]"), r"\[\] and \[1\] differ in rank"),
    (tensor("float32[2]"), tensor("float16[2]"), "dtypes float32 and float16 differ"),
    (tensor("float32[2]"), FLOATS, r"float32\[2\] and sequence\(float32\[2, \?\]\) are of different kinds"),
    (FLOATS, SequenceType(tensor("int8[2, 3]")), "float32 and int8"),
    (OptionalType(FLOATS), FLOATS, "different kinds"),
    (SparseTensorType(None, (2,)), SparseTensorType(None, (3,)), "2 and 3 differ"),
]

SHAPES = [
    ((), "[]"),
    ((1, 3, N, UNKNOWN), "[1, 3, N, ?]"),
    (((H + 1) // 2, dim_max(H, N)), "[(H+1)//2, max(H,N)]"),
    ((dim_max(H, 2),), "[max(2,H)]"),
    (((H + 1) // (N + 1),), "[(H+1)//(N+1)]"),
]

READ = [
    ("1,3,H", (1, 3, H)),
    ("(1, 3)", (1, 3)),
    ("1,", (1,)),
    ("", ()),
    ("()", ()),
    ("(H+1)//2", ((H + 1) // 2,)),
    ("(H+1)//2,(H+1)", ((H + 1) // 2, H + 1)),
    ("[(H+1)//2]", ((H + 1) // 2,)),
]

dtypes = st.none() | st.sampled_from(list(DType))
dims = st.one_of(st.integers(0, 3), st.sampled_from([N, H, N + 1, UNKNOWN]))
shapes = st.none() | st.lists(dims, max_size=3).map(tuple)
tensor_types = st.builds(TensorType, dtypes, shapes)


@pytest.mark.parametrize(("left", "right", "merged"), UNIFIED)
def test_what_both_say(left: str, right: str, merged: str) -> None:
    assert str(unify(tensor(left), tensor(right))) == merged


@pytest.mark.parametrize(("left", "right", "text"), CONTRADICTIONS)
def test_contradictions_name_both_sides(left: Type, right: Type, text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        unify(left, right)


@pytest.mark.parametrize("type_", [FLOATS, OptionalType(FLOATS), SparseTensorType(DType.FLOAT32, (2,)), tensor("?[2]")])
def test_anything_says_nothing(type_: Type) -> None:
    assert unify(ANYTHING, type_) == unify(type_, ANYTHING) == type_


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        (("N", 8), "float32[N, 8]"),
        (["N", 8], "float32[N, 8]"),
        (("2*N", None, "?"), "float32[2*N, ?, ?]"),
        ((np.int64(3), np.uint8(2)), "float32[3, 2]"),
        ((), "float32[]"),
    ],
)
def test_a_shape_is_what_it_means(stated: Any, shown: str) -> None:
    for kind in (TensorType, SparseTensorType):
        type_ = kind(DType.FLOAT32, stated)
        assert str(type_).removeprefix("sparse ") == shown
        assert isinstance(type_.shape, tuple)
        assert all(type(dim) is int or isinstance(dim, Sym | Unknown) for dim in type_.shape)


@pytest.mark.parametrize("stated", ["N", 8, (1.5,), ("a b",), (object(),)])
def test_what_is_no_shape_is_refused(stated: Any) -> None:
    with pytest.raises(ShapeError, match="not a shape"):
        TensorType(DType.FLOAT32, stated)


def test_a_graph_over_named_sizes_can_be_saved(tmp_path: Path) -> None:
    graph = Graph("named")
    graph.set_outputs([graph.add(Relu(), graph.add_input("x", TensorType(DType.FLOAT32, ("N", 8))))])
    path = tmp_path / "named.onnx"
    graphir.save(graph, path)
    assert str(graphir.load(path).inputs[0].type) == "float32[N, 8]"


def test_element_types_are_unified() -> None:
    merged = unify(OptionalType(FLOATS), OptionalType(SequenceType(tensor("?[?, 3]"))))
    assert str(merged) == "optional(sequence(float32[2, 3]))"


def knowledge(type_: TensorType) -> tuple[DType | tuple[Any, ...] | None, ...]:
    """What a type knows, up to which of two expressions stands for a size."""
    shape = type_.shape
    return type_.dtype, shape if shape is None else tuple(Sym if isinstance(dim, Sym) else dim for dim in shape)


def attempt(left: TensorType, right: TensorType) -> str | tuple[DType | tuple[Any, ...] | None, ...]:
    try:
        return knowledge(tensor_type(unify(left, right)))
    except ShapeError:
        return "contradiction"


@given(tensor_types, tensor_types)
def test_the_order_does_not_matter(left: TensorType, right: TensorType) -> None:
    assert attempt(left, right) == attempt(right, left)


@given(tensor_types)
def test_a_type_agrees_with_itself(type_: TensorType) -> None:
    assert unify(type_, copy.deepcopy(type_)) == type_


@given(tensor_types, tensor_types)
def test_merging_again_adds_nothing(left: TensorType, right: TensorType) -> None:
    try:
        merged = unify(left, right)
    except ShapeError:
        return
    assert unify(merged, left) == merged
    assert knowledge(tensor_type(unify(merged, right))) == knowledge(tensor_type(merged))


@given(tensor_types)
def test_pickles_are_equal(type_: TensorType) -> None:
    hash(type_)
    found = pickle.loads(pickle.dumps(type_))
    assert (found, hash(found), found.__dict__.keys() - {"_hash"}) == (type_, hash(type_), {"dtype", "shape"})


def test_a_pickle_carries_no_hash_of_this_process() -> None:
    type_ = tensor("float32[N]")
    hash(type_)
    assert "_hash" not in pickle.loads(pickle.dumps(type_)).__dict__


@pytest.mark.parametrize(("left", "right"), [(2, 3), (0, 1)])
def test_different_numbers_contradict(left: int, right: int) -> None:
    with pytest.raises(ShapeError, match=f"{left} and {right}"):
        unify_dim(left, right)


@pytest.mark.parametrize(("shape", "text"), SHAPES)
def test_shapes_as_text(shape: tuple[Dim, ...], text: str) -> None:
    assert format_shape(shape) == text
    assert parse_shape(text) == shape


@pytest.mark.parametrize(("text", "shape"), READ)
def test_other_ways_to_write_a_shape(text: str, shape: tuple[Dim, ...]) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize("text", ["1,,3", ",", "1;2", "[1,2)", "[1", "1]", "[...]", "2 3", "1.0"])
def test_text_that_is_no_shape(text: str) -> None:
    with pytest.raises(ValueError, match="not a dimension"):
        parse_shape(text)


@given(st.lists(expressions.map(lambda expression: expression.dim), max_size=4).map(tuple))
def test_shapes_read_back(shape: tuple[Dim, ...]) -> None:
    assert parse_shape(format_shape(shape)) == shape


@pytest.mark.parametrize(("dims", "expected"), [((), 1), ((2, 3), 6), ((2, N), 2 * N), ((N, UNKNOWN), UNKNOWN)])
def test_product(dims: tuple[Dim, ...], expected: Dim) -> None:
    assert product(dims) == expected


@pytest.mark.parametrize(("text", "static", "rank", "elements"), [
    ("float32[2, 3]", True, 2, 6), ("?[2, 3]", False, 2, 6), ("float32[2, N]", False, 2, 2 * N),
    ("float32[?]", False, 1, UNKNOWN), ("float32[...]", False, None, UNKNOWN), ("int8[]", True, 0, 1),
])  # fmt: skip
def test_what_a_type_tells(text: str, static: bool, rank: int | None, elements: Dim) -> None:
    type_ = tensor(text)
    assert (type_.is_static, type_.rank, type_.elements()) == (static, rank, elements)


@pytest.mark.parametrize(("value", "dtype"), [
    ("float32", DType.FLOAT32), (np.float32, DType.FLOAT32), (np.dtype(">f4"), DType.FLOAT32), (float, DType.FLOAT64),
    (np.zeros(1, np.uint8).dtype, DType.UINT8), (bool, DType.BOOL), (str, DType.STRING), (np.object_, DType.STRING),
    (ml_dtypes.bfloat16, DType.BFLOAT16),
    ("float8_e4m3fn", DType.FLOAT8E4M3FN), (np.dtype(ml_dtypes.int4), DType.INT4), (DType.INT2, DType.INT2),
])  # fmt: skip
def test_dtypes_by_other_names(value: Any, dtype: DType) -> None:
    assert DType.of(value) is dtype


@pytest.mark.parametrize("value", ["float33", "", None, dict, np.dtype("M8[s]"), object(), "M8[s]"])
def test_what_is_no_dtype(value: Any) -> None:
    with pytest.raises(ShapeError, match="no such dtype"):
        DType.of(value)


@pytest.mark.parametrize("dtype", DType)
def test_numpy_holds_every_dtype(dtype: DType) -> None:
    if dtype is DType.FLOAT8E8M0 or dtype is DType.FLOAT4E2M1:
        pytest.importorskip("ml_dtypes", minversion="0.5")
    assert DType.of(dtype.numpy()) is dtype
    assert dtype.bits in (0, 2, 4, 8, 16, 32, 64, 128)
    assert not (dtype.is_float and dtype.is_integer)
