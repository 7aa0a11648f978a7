"""What torch.export and torch.compile follow: all but loops and branches on data, which the file's first lines name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import parser

import graphir
from graphir.converters.onnx import from_model
from graphir.graph import Graph
from graphir.ops.detection import RoiAlign, RoiCoordinates
from models.resnet50 import resnet50
from tests.converters.pytorch.cases import Case, Constant
from tests.converters.pytorch.running import need_torch, to_numpy, to_torch, written_class
from tests.converters.pytorch.test_control import CASES, HEAD
from tests.converters.pytorch.test_detection import DETECTION

pytestmark = pytest.mark.live
NOTE = "torch.export does not follow "


def is_followed(graph: Graph, feeds: list[object]) -> tuple[bool, str]:
    """Whether torch.export takes a graph's module, and its text."""
    import torch

    net, text = written_class(graph)
    try:
        torch.export.export(net, tuple(map(to_torch, feeds)))
    except Exception:  # of any kind: torch has many
        return False, text
    return True, text


@pytest.mark.parametrize("name", CASES)
def test_control_flow_is_followed_unless_the_first_lines_say_otherwise(name: str) -> None:
    need_torch()
    model, feeds, _ = CASES[name]
    followed, text = is_followed(from_model(parser.parse_model(HEAD + model)), list(feeds))
    assert followed == (NOTE not in text), text


@pytest.mark.one_of(8)
@pytest.mark.parametrize("case", DETECTION, ids=str)
def test_functions_over_data_are_named(case: Case) -> None:
    need_torch()
    feeds = [operand for operand in case.operands if operand is not None and not isinstance(operand, Constant)]
    followed, text = is_followed(case.graph(), feeds)
    if isinstance(case.op, RoiAlign) and case.op.sampling_ratio and case.op.coordinates is RoiCoordinates.HALF_PIXEL:
        assert NOTE in text  # with a known number of samples torch.export follows it, for these regions
        return
    assert followed == (NOTE not in text), text


@pytest.mark.parametrize("name", ["digits", "resnet50"])
def test_compiled(name: str) -> None:
    """torch.compile gives what the module gives, for two batches."""
    need_torch()
    import torch

    digits = Path(__file__).parents[3] / "models" / "digits"
    graph = graphir.load(digits) if name == "digits" else resnet50(batch="N", size=64)
    assert isinstance(graph, Graph)
    net, text = written_class(graph)
    assert NOTE not in text
    compiled: Callable[..., torch.Tensor] = torch.compile(net, backend="aot_eager")
    for batch in (1, 3):
        shape = (batch, 1, 8, 8) if name == "digits" else (batch, 3, 64, 64)
        feed = to_torch(np.random.default_rng(batch).standard_normal(shape).astype(np.float32))
        with torch.no_grad():
            np.testing.assert_allclose(to_numpy(compiled(feed)), to_numpy(net(feed)), rtol=0, atol=1e-5)
