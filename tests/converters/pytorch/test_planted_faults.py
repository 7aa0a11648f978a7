"""Faults that converters make, planted in a module that was written: the proof finds each. That a momentum is read the
wrong way round shows in training only: `test_training`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.converters.formats import Judge
from graphir.converters.pytorch.exporting.exporter import export_copy
from graphir.converters.pytorch.live.process import LiveTorch
from graphir.graph import Graph
from graphir.ops.convolution import Conv
from graphir.ops.pooling import AveragePool, MaxPool
from graphir.ops.recurrent import GRU, LSTM
from graphir.padding import Explicit
from graphir.tensor import Tensor
from graphir.verification.models import verify_conversion
from graphir.verification.options import ComparisonOptions
from graphir.verification.report import VerificationReport
from tests.converters.pytorch.cases import Case, Constant, uniform
from tests.converters.pytorch.running import need_torch
from tests.converters.pytorch.test_recurrent import case as recurrent

pytestmark = pytest.mark.live
ONE_SIDE = Explicit(((0, 1), (0, 1)))
X, WEIGHT = uniform(2, 3, 6, 6), Constant(uniform(4, 3, 3, 3))


def digits() -> Graph:
    graph = graphir.load(Path(__file__).parents[3] / "models" / "digits")
    assert isinstance(graph, Graph)
    return graph


def maximum() -> Graph:
    graph = Case(MaxPool((2, 2), padding=ONE_SIDE), X).graph()
    graph.set_outputs(graph.outputs[:1])
    return graph


# What is built, and a text of the module with what a fault makes of it.
TEXTS: Mapping[str, tuple[Callable[[], Graph], str, str]] = {
    "eps": (digits, "eps=2e-05", "eps=0.001"),
    "ceil mode": (digits, "3, 2, ceil_mode=True)", "3, 2, 1)"),
    "pad side": (Case(Conv(strides=(2, 2), padding=ONE_SIDE), X, WEIGHT).graph, "(0, 1, 0, 1)", "(1, 0, 1, 0)"),
    "pad rows for columns": (
        Case(Conv(padding=Explicit(((0, 2), (1, 0)))), X, WEIGHT).graph, "(1, 0, 0, 2)", "(0, 2, 1, 0)",
    ),
    "zeros before a maximum": (maximum, ', value=-float("inf")', ""),
    "average over padding": (
        Case(AveragePool((3, 3), padding=Explicit(((1, 1), (1, 1)))), X).graph, ", count_include_pad=False", "",
    ),
}  # fmt: skip


def verified(graph: Graph, text: str, module: Any) -> VerificationReport:
    judge = Judge(partial(LiveTorch, text, module, sys.executable))
    return verify_conversion([judge], graph, graph, graph, ComparisonOptions())


@pytest.mark.parametrize("name", TEXTS)
def test_a_fault_in_the_text(name: str) -> None:
    need_torch()
    make, right, wrong = TEXTS[name]
    graph = make()
    module = export_copy(graph)
    text = module.text("a test")
    assert right in text, text
    assert verified(graph, text, module).verdict.passes
    assert verified(graph, text.replace(right, wrong), module).verdict.differs


@pytest.mark.parametrize("op", [LSTM(2), GRU(2, linear_before_reset=True)], ids=str)
def test_gates_in_the_order_of_the_source(op: Any) -> None:
    """The first two gates exchanged, as where iofc or zrh is taken for torch's order."""
    need_torch()
    graph = recurrent(op).graph()
    module = export_copy(graph)
    text = module.text("a test")
    assert verified(graph, text, module).verdict.passes
    swapped = {}
    for key, tensor in module.tensors.items():
        gates = np.split(tensor.numpy(), len(tensor.numpy()) // 2)
        swapped[key] = Tensor.of(np.concatenate([gates[1], gates[0], *gates[2:]]))
    assert verified(graph, text, replace(module, tensors=swapped)).verdict.differs
