"""`graphir shapes A B`: layers side by side, whatever the layout; 4 where they differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir import save
from graphir.analysis.shape_comparison import compare_shapes
from graphir.graph import Graph
from graphir.ops.activation import Relu
from graphir.ops.convolution import Conv
from graphir.ops.shape import Flatten, Transpose
from graphir.padding import symmetric
from graphir.symbolic.dims import symbol
from graphir.types import Dim, DType, TensorType

WEIGHT = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)


def network(
    prefix: str, *, pad: int = 1, last: bool = False, sizes: tuple[Dim, ...] = (6, 7), tail: bool = False
) -> Graph:
    graph = Graph(prefix)
    shape = (1, *sizes, 3) if last else (1, 3, *sizes)
    value = graph.add_input(f"{prefix}x", TensorType(DType.FLOAT32, shape))
    if last:
        value = graph.add(Transpose((0, 3, 1, 2)), value, name=f"{prefix}in")
    weight = graph.constant(WEIGHT, name=f"{prefix}w")
    value = graph.add(Conv((3, 3), padding=symmetric((pad, pad))), value, weight, name=f"{prefix}conv")
    if last:
        value = graph.add(Transpose((0, 2, 3, 1)), value, name=f"{prefix}out")
    value = graph.add(Relu(), value, name=f"{prefix}relu")
    if tail:
        value = graph.add(Flatten(), value, name=f"{prefix}flat")
    graph.set_outputs([value])
    return graph


H, W = symbol("H"), symbol("W")
CASES = [
    ({}, ["same", "same"]),
    ({"last": True}, ["same", "layout", "alone", "alone"]),
    ({"pad": 0}, ["differs", "differs"]),
    ({"sizes": (H, W)}, ["open", "open"]),
    ({"tail": True}, ["same", "same", "alone"]),
]


@pytest.mark.parametrize(("changes", "verdicts"), CASES)
def test_layers_are_held_against_each_other(changes: dict[str, Any], verdicts: list[str]) -> None:
    found = [pair.verdict for pair in compare_shapes(network("a"), network("b", **changes))]
    assert sorted(found) == sorted(verdicts)


@pytest.mark.parametrize(("pad", "code"), [(1, 0), (0, 4)])
def test_the_command_says_which_layer_is_the_first(
    graphir: Callable[..., Any], tmp_path: Path, pad: int, code: int
) -> None:
    paths = [tmp_path / f"{name}.graphir.json" for name in "ab"]
    save(network("a"), paths[0])
    save(network("b", pad=pad), paths[1])
    outcome = graphir("shapes", *paths)
    assert outcome.code == code
    assert ("the first is aconv" in outcome.out) == bool(code)
    data = graphir("shapes", *paths, "--json").data
    assert data["agree"] == (not code)
    assert [layer["first"]["name"] for layer in data["layers"]] == ["aconv", "arelu"]
