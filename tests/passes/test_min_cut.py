"""The smallest cut against all cuts of small networks."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from graphir.passes.min_cut import SINK, SOURCE, FlowNetwork

PLACES = 6
EDGES = st.lists(
    st.tuples(st.integers(0, PLACES - 1), st.integers(0, PLACES - 1), st.integers(0, 3), st.integers(0, 2)), max_size=14
)


def least(edges: list[tuple[int, int, int, int]]) -> int:
    """The smallest sum of capacities from one side to the other, over all divisions."""
    sums = []
    for sides in product((True, False), repeat=PLACES - 2):
        side = (True, False, *sides)
        forth = sum(room for start, end, room, _ in edges if side[start] and not side[end])
        sums.append(forth + sum(back for start, end, _, back in edges if side[end] and not side[start]))
    return min(sums)


@given(EDGES)
def test_cut_is_the_smallest(edges: list[tuple[int, int, int, int]]) -> None:
    network = FlowNetwork()
    assert [network.add_vertex() for _ in range(PLACES - 2)] == list(range(2, PLACES))
    for edge in edges:
        network.connect(*edge)
    total, side = network.cut()
    assert total == least(edges)
    assert SOURCE in side
    assert SINK not in side
    crossing = sum(room for start, end, room, _ in edges if start in side and end not in side)
    crossing += sum(back for start, end, _, back in edges if end in side and start not in side)
    assert crossing == total


def test_a_long_way_needs_no_recursion() -> None:
    network = FlowNetwork()
    last = SOURCE
    for _ in range(20_000):
        following = network.add_vertex()
        network.connect(last, following, 2)
        last = following
    network.connect(last, SINK, 1)
    assert network.cut()[0] == 1
