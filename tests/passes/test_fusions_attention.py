"""Attention that is spelled out becomes one node, where onnxruntime computes the same with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphir.graph import Graph
from graphir.ops import elementwise as ew
from graphir.ops.activation import Softmax
from graphir.ops.attention import Attention
from graphir.ops.creation import ConstantOfShape
from graphir.ops.linear import MatMul
from graphir.ops.shape import Expand, Reshape, Transpose, Unsqueeze
from graphir.ops.shape_parts import Trilu
from graphir.passes.fusions import RECOGNITIONS
from graphir.types import Dim, DType, TensorType
from tests.passes.spelled import TOLERANCE, Term, assert_equal, fuse, numbers, operators_of, run

Scores = Callable[[Term], Term]
Change = Callable[[Term], Term]
Sizes = tuple[Dim | str, ...]
LOWEST = float(np.finfo(np.float32).min)
CAUSAL = np.where(np.tri(3, 5, dtype=bool), 0.0, -np.inf)
SIZES: tuple[Sizes, Sizes, Sizes] = ((2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 6))
SQUARE: tuple[Sizes, Sizes, Sizes] = ((2, 4, 3, 8), (2, 4, 3, 8), (2, 4, 3, 6))
FEW: tuple[Sizes, Sizes, Sizes] = ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6))
LATER = np.triu(np.ones((3, 3), bool), 1)


def same(term: Term) -> Term:
    return term


def constant(term: Term, array: Any) -> Any:
    """A constant of the array's own dtype."""
    return term.value.graph.constant(np.asarray(array), name="constant")


def where(condition: Any, first: Any, second: Any) -> Term:
    """One of two numbers, arrays or terms, at least one of which is a term, by a condition."""
    term = first if isinstance(first, Term) else second
    sides = [item.value if isinstance(item, Term) else constant(term, np.float32(item)) for item in (first, second)]
    held = constant(term, condition) if isinstance(condition, np.ndarray) else condition
    return Term(term.value.graph.add(ew.Where(), held, *sides))


def condition(term: Term, *shape: Dim | str) -> Any:
    """A condition that is an input of the graph."""
    return term.value.graph.add_input("condition", TensorType(DType.BOOL, shape or (2, 1, 3, 5)))


def choice(term: Term, first: Any, second: Any, *shape: Dim | str) -> Term:
    """One of two constants by a condition that is an input."""
    sides = [constant(term, np.asarray(item, np.float32)) for item in (first, second)]
    return Term(term.value.graph.add(ew.Where(), condition(term, *shape), *sides))


def corner(term: Term, number: float, *, upper: bool, offset: int | None) -> Term:
    """A triangle of a number in a square (1, 1, 3, 3) of zeros, whose size nodes compute."""
    graph = term.value.graph
    filled = graph.add(ConstantOfShape(value=number, dtype=DType.FLOAT32), constant(term, np.array([3, 3])))
    operands = () if offset is None else (constant(term, np.int64(offset)),)
    return Term(graph.add(Unsqueeze(), graph.add(Trilu(upper=upper), filled, *operands), constant(term, [0, 1])))


def is_zero(term: Term) -> Any:
    return term.value.graph.add(ew.Equal(), term.value, constant(term, np.float32(0)))


def is_not_zero(term: Term) -> Any:
    return term.value.graph.add(ew.Not(), is_zero(term))


def shared(term: Term, axis: int = 2, count: int = 2) -> Term:
    """Each of 2 heads `count` times beside itself, or all of them after each other with axis 1."""
    batch, heads, *rest = term.value.shape or ()
    times = [count, heads] if axis == 1 else [heads, count]
    spread = term.apply(Unsqueeze(), np.array([axis])).apply(Expand(), np.array([batch, *times, *rest]))
    return spread.apply(Reshape(), np.array([batch, -1, *rest]))


def attention(
    scores: Scores = same, sizes: tuple[Sizes, Sizes, Sizes] = SIZES, dtype: DType = DType.FLOAT32, axis: int = -1,
    changes: tuple[Change, Change, Change] = (same, same, same), swapped: Change = same,
) -> Graph:  # fmt: skip
    """The graph of attention whose scores go through a function, and whose operands go through one each."""
    graph = Graph("spelled")
    inputs = [Term(graph.add_input(name, TensorType(dtype, shape))) for name, shape in zip("qkv", sizes, strict=True)]
    q, k, v = (change(term) for change, term in zip(changes, inputs, strict=True))
    product = q.apply(MatMul(), swapped(k.apply(Transpose((0, 1, 3, 2)))))
    graph.set_outputs([scores(product).apply(Softmax(axis=axis)).apply(MatMul(), v).value])
    return graph


def feeds_of(graph: Graph, seed: int, batch: int = 2) -> dict[str, NDArray[Any]]:
    """Random numbers for the inputs; of conditions the first row is false throughout, and the second true."""
    feeds: dict[str, NDArray[Any]] = {}
    for index, value in enumerate(graph.inputs):
        sizes = tuple(size if isinstance(size, int) else batch for size in value.shape or ())
        array = numbers(sizes, DType.FLOAT32, seed + index, special=False)
        feeds[value.name] = array if value.dtype is DType.FLOAT32 else array > 0
        if value.dtype is DType.BOOL:
            feeds[value.name][..., 0, :], feeds[value.name][..., 1, :] = False, True
    return feeds


def assert_recognised(graph: Graph, seed: int, operators: Sequence[str]) -> None:
    feeds = feeds_of(graph, seed)
    before = run(graph, feeds)
    assert fuse(graph, RECOGNITIONS)
    assert operators_of(graph) == list(operators)
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT32])


SPELLINGS: list[Scores] = [
    same,
    lambda s: s * 0.25,
    lambda s: 0.25 * s,
    lambda s: s / 3.0,
    lambda s: s * 0.25 + CAUSAL,
    lambda s: CAUSAL.reshape(1, 1, 3, 5) + s / 3.0,
    lambda s: s + np.zeros((1, 4, 3, 5)),
]


@pytest.mark.parametrize("scores", SPELLINGS)
@given(seed=st.integers(0, 99), batch=st.sampled_from([1, 2, "N"]))
@settings(max_examples=3)
def test_a_spelling_becomes_attention(scores: Scores, seed: int, batch: Dim | str) -> None:
    sizes = tuple((batch, *shape[1:]) for shape in SIZES)
    assert_recognised(attention(scores, sizes), seed, ["Attention"])  # type: ignore[arg-type]


COMPUTED: dict[str, Scores] = {
    "lowest where hidden": lambda s: s + choice(s, 0.0, LOWEST),
    "lowest where visible, of each head": lambda s: choice(s, LOWEST, 0.0, 2, 4, 3, 5) + s * 0.5,
    "numbers of each head, or lowest": lambda s: s + choice(s, np.linspace(-1, 1, 60).reshape(1, 4, 3, 5), LOWEST),
    "another low number": lambda s: s + choice(s, 0.0, -10000.0),
    "a high number": lambda s: s + choice(s, 0.0, -LOWEST),
    "the same for all batches": lambda s: s + choice(s, 0.0, LOWEST, 1, 1, 3, 5),
    "scores replaced": lambda s: where(condition(s), LOWEST, s),
    "scores kept": lambda s: where(condition(s, 3, 5), s * 2.0, -1e35),
    "a constant condition": lambda s: where(np.arange(15).reshape(3, 5) % 2 == 0, -np.inf, s),
}


@pytest.mark.parametrize("scores", COMPUTED.values(), ids=COMPUTED)
@given(seed=st.integers(0, 99))
@settings(max_examples=2)
def test_a_mask_that_is_computed_is_one_of_attention(scores: Scores, seed: int) -> None:
    graph = attention(scores)
    assert_recognised(graph, seed, ["Attention"] if operators_of(graph).count("Where") == 0 else ["Where", "Attention"])


CORNERS: dict[str, Scores] = {
    "zero above the diagonal": lambda s: where(is_zero(corner(s, 1.0, upper=False, offset=0)), -np.inf, s / 2.0),
    "not zero above it": lambda s: where(is_not_zero(corner(s, 1.0, upper=True, offset=1)), LOWEST, s),
    "not zero below": lambda s: where(is_not_zero(corner(s, 7.0, upper=False, offset=None)), s, -np.inf),
    "added above it": lambda s: s * 0.5 + corner(s, -np.inf, upper=True, offset=1),
    "a constant condition": lambda s: where(LATER.reshape(1, 1, 3, 3), -np.inf, s),
    "its opposite": lambda s: where(~LATER, s, -np.inf),
}


@pytest.mark.parametrize("scores", CORNERS.values(), ids=CORNERS)
@given(seed=st.integers(0, 99))
@settings(max_examples=2)
def test_keys_behind_each_query_make_it_causal(scores: Scores, seed: int) -> None:
    graph = attention(scores, SQUARE)
    assert_recognised(graph, seed, ["Attention"])
    assert isinstance(graph.nodes[0].op, Attention)
    assert graph.nodes[0].op.is_causal


@given(seed=st.integers(0, 99))
@settings(max_examples=2)
def test_numbers_that_scale_queries_and_keys_are_the_scale(seed: int) -> None:
    graph = attention(changes=(lambda q: q * 0.5, lambda k: k / 4.0, same), swapped=lambda k: 2.0 * k)
    assert_recognised(graph, seed, ["Attention"])
    assert graph.nodes[0].op == Attention(scale=0.25)


@given(seed=st.integers(0, 99))
@settings(max_examples=2)
def test_heads_that_are_repeated_are_read_once(seed: int) -> None:
    graph = attention(lambda s: s + choice(s, 0.0, LOWEST), FEW, changes=(same, shared, shared))
    assert_recognised(graph, seed, ["Where", "Attention"])


ORDERS = ((0, 2, 1, 3),) * 4


def packed(perms: tuple[tuple[int, ...], ...] = ORDERS, heads: tuple[int, int] = (4, 4), slot: int = 0) -> Graph:
    """Attention of tensors (2, length, heads * size), with the orders of axes of Q, K, V and a result."""
    graph = Graph("packed")
    parts = []
    sizes = (heads[0], 8), (heads[1], 8), (heads[1], 6)
    for name, length, (count, size), perm in zip("qkv", (3, 5, 5), sizes, perms[:3], strict=True):
        term = Term(graph.add_input(name, TensorType(DType.FLOAT32, (2, length, count * size))))
        parts.append(term.apply(Reshape(), np.array([0, 0, count, size])).apply(Transpose(perm)).value)
    result = Term(graph.add_node(Attention(scale=0.5), parts).outputs[slot]).apply(Transpose(perms[3]))
    graph.set_outputs([result.apply(Reshape(), np.array([0, 0, -1])).value])
    return graph


@pytest.mark.parametrize("heads", [(4, 4), (4, 2)])
@given(seed=st.integers(0, 99))
@settings(max_examples=2)
def test_heads_beside_each_other_stay_there(heads: tuple[int, int], seed: int) -> None:
    graph = packed(heads=heads)
    assert_recognised(graph, seed, ["Attention"])
    assert graph.nodes[0].op == Attention(scale=0.5, q_num_heads=4, kv_num_heads=heads[1])


def with_reader(graph: Graph, operator: type) -> Graph:
    """The graph with an output that the first node of an operator gives."""
    node = next(node for node in graph.nodes if isinstance(node.op, operator))
    graph.set_outputs([*graph.outputs, node.outputs[0]])
    return graph


HIDDEN = np.where(np.arange(3)[:, None] == 1, -np.inf, np.zeros((3, 5)))
KEPT: dict[str, Graph] = {
    "a row that is hidden whole": attention(lambda s: s + HIDDEN),
    "a constant condition that hides a row": attention(lambda s: where(HIDDEN < 0, -np.inf, s)),
    "a row of lowest numbers": attention(lambda s: s + np.maximum(HIDDEN, LOWEST)),
    "a mask of one row for all": attention(lambda s: s + np.zeros(5)),
    "a computed one": attention(lambda s: s + choice(s, 0.0, LOWEST, 2, 1, 1, 5)),
    "a mask for each head, without a batch": attention(lambda s: s + np.zeros((4, 3, 5))),
    "a mask with NaN": attention(lambda s: s + np.full((3, 5), np.nan)),
    "a mask that is computed": attention(lambda s: s + s * 2.0),
    "a computed mask of -inf": attention(lambda s: s + choice(s, 0.0, -np.inf)),
    "scores replaced by -inf": attention(lambda s: where(condition(s), -np.inf, s)),
    "scores replaced by a high number": attention(lambda s: where(condition(s), -LOWEST, s)),
    "scores replaced by 0": attention(lambda s: where(condition(s), 0.0, s)),
    "zeros below the diagonal": attention(
        lambda s: where(is_zero(corner(s, 1.0, upper=True, offset=0)), -np.inf, s), SQUARE
    ),
    "the diagonal hidden too": attention(
        lambda s: where(is_not_zero(corner(s, 1.0, upper=True, offset=0)), -np.inf, s), SQUARE
    ),
    "a key more": attention(lambda s: where(is_zero(corner(s, 1.0, upper=False, offset=1)), -np.inf, s), SQUARE),
    "a triangle of zeros": attention(
        lambda s: where(is_zero(corner(s, 0.0, upper=False, offset=0)), -np.inf, s), SQUARE
    ),
    "high numbers above the diagonal": attention(lambda s: s + corner(s, np.inf, upper=True, offset=1), SQUARE),
    "low numbers below": attention(lambda s: s + corner(s, -np.inf, upper=False, offset=0), SQUARE),
    "small numbers above": attention(lambda s: s + corner(s, -5.0, upper=True, offset=1), SQUARE),
    "a scale for each key": attention(lambda s: s * np.ones(5)),
    "a scale of 0": attention(lambda s: s * 0.0),
    "another axis": attention(axis=2),
    "half precision": attention(dtype=DType.FLOAT16),
    "keys that are shared by all heads": attention(sizes=((2, 4, 3, 8), (2, 1, 5, 8), (2, 1, 5, 6))),
    "a Cast between": attention(lambda s: s.cast(DType.FLOAT64).cast(DType.FLOAT32)),
    "another reader of the scores": with_reader(attention(lambda s: s * 0.5), MatMul),
    "another reader of the weights": with_reader(attention(), Softmax),
    "another order of heads": packed(((0, 2, 1, 3), (0, 2, 1, 3), (0, 2, 1, 3), (0, 1, 2, 3))),
    "the keys in place of the result": packed(slot=1),
    "another reader of the result": with_reader(packed(), Attention),
}


@pytest.mark.parametrize("graph", KEPT.values(), ids=KEPT.keys())
def test_what_is_something_else_stays(graph: Graph) -> None:
    assert not fuse(graph, [Attention])


ELSEWHERE: dict[str, tuple[Change, Change]] = {
    "heads after each other": (lambda k: shared(k, 1), lambda v: shared(v, 1)),
    "heads of the keys alone": (shared, lambda v: shared(v, 1)),
}


@pytest.mark.parametrize("changes", ELSEWHERE.values(), ids=ELSEWHERE)
def test_heads_in_another_order_are_repeated_as_before(changes: tuple[Change, Change]) -> None:
    graph = attention(sizes=FEW, changes=(same, *changes))
    feeds = feeds_of(graph, 3)
    before = run(graph, feeds)
    assert fuse(graph, [Attention])
    assert operators_of(graph).count("Expand") == 2
    assert_equal(before, run(graph, feeds), TOLERANCE[DType.FLOAT32])
