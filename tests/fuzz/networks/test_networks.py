"""Random MXNet networks: live MXNet and the four roads agree, PyTorch where it is installed, and nothing crashes.

GRAPHIR_FUZZ_NETWORKS and GRAPHIR_FUZZ_SEED make it longer and other; `python -m tests.fuzz.networks` sorts what it
finds.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.fuzz.networks.draw import draw
from tests.fuzz.networks.judge import LiveNetworks, verdict
from tests.fuzz.symbols.judge import Kind
from tests.requirements import needing

CASES = int(os.environ.get("GRAPHIR_FUZZ_NETWORKS", "300"))
SEED = int(os.environ.get("GRAPHIR_FUZZ_SEED", "0"))
FAULTS = (Kind.WRONG, Kind.CRASH)


@pytest.fixture(scope="module")
def live() -> Iterator[LiveNetworks]:
    """Live MXNet for the module."""
    with LiveNetworks() as found:
        yield found


@pytest.fixture(scope="module")
def accepted() -> list[bool]:
    """Whether MXNet ran each network that was tested."""
    return []


@pytest.mark.live
@pytest.mark.parametrize("index", range(CASES))
def test_all_roads_agree(index: int, live: LiveNetworks, accepted: list[bool]) -> None:
    drawn = draw(SEED, index)
    with needing("MXNet"):
        found = verdict(live, drawn, torch=find_spec("torch") is not None)
    accepted.append(found.runs)
    assert {road: outcome for road, outcome in found.roads.items() if outcome.kind in FAULTS} == {}, str(drawn)


@pytest.mark.live
def test_most_networks_are_mxnets(live: LiveNetworks, accepted: list[bool]) -> None:
    with needing("MXNet"):
        runs = accepted or [verdict(live, draw(SEED, index)).runs for index in range(40)]
    assert sum(runs) > 0.7 * len(runs)


def test_a_network_is_drawn_alike_twice() -> None:
    first, second = draw(SEED, 17), draw(SEED, 17)
    assert (first.symbol, str(first)) == (second.symbol, str(second))


def test_networks_have_what_makes_them_networks() -> None:
    drawn = [draw(SEED, index) for index in range(300)]
    symbols = [json.loads(each.symbol) for each in drawn]
    ops = Counter(node["op"] for symbol in symbols for node in symbol["nodes"])
    assert {"_foreach", "_while_loop", "_cond", "RNN", "amp_cast", "amp_multicast", "Convolution"} <= set(ops)
    assert len(ops) > 200
    reads = [Counter(tuple(read) for node in symbol["nodes"] for read in node["inputs"]) for symbol in symbols]
    assert sum(max(each.values(), default=0) > 1 for each in reads) > 100
    assert sum(len(symbol["heads"]) > 1 for symbol in symbols) > 100
    assert sum("is_np_shape" in symbol["attrs"] for symbol in symbols) > 50
    assert any(0 in array.shape for each in drawn for array in each.arrays.values())
