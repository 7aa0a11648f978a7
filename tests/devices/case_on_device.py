"""An operator case run by a provider: its results, the reference's, and the operators that ran on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphir.converters.mxnet.files.nnvm_json import read_symbol
from graphir.converters.mxnet.reference.evaluate import evaluate
from graphir.converters.onnx import to_model
from graphir.errors import GraphirError
from graphir.runtime.providers import parse_provider
from graphir.runtime.session import OnnxSession
from graphir.structure.record import record
from tests.devices.device import FACTS, Facts
from tests.equivalence.case import Case
from tests.equivalence.test_onnx import distance, has_no_kernel, imported, tolerance

OPSET = 17
NO_NODE = "runs no node of the model"
# What onnxruntime says where a device has no 16-bit floats, as SwiftShader.
NO_HALVES = "requires f16 but the device does not support it"
# What onnxruntime adds to bring tensors to the device and back computes nothing.
COPIES = {"MemcpyToHost", "MemcpyFromHost"}


class NoKernel(Exception):
    """Nothing of a case runs on the device."""


@record
class Result:
    """What a case gave, what it must give, how far each may be off, and the device's operators, sorted."""

    outputs: list[NDArray[Any]]
    expected: list[NDArray[Any]]
    limits: list[float]
    on_device: list[str]


def run_case(case: Case, provider: str) -> Result:
    """Run a case. Raises NoKernel where nothing of it runs on the device."""
    expected = list(evaluate(read_symbol(case.symbol_json()), case.arrays()).values())
    graph, feeds = imported(case)
    model = to_model(graph, opset=max(OPSET, case.least_opset))
    if has_no_kernel(model):
        raise NoKernel("onnxruntime has no kernel for it at this opset")
    try:
        session = OnnxSession(model.SerializeToString(), providers=provider)
        outputs: list[Any] = list(session.run(feeds).values())
    except GraphirError as error:
        if NO_NODE not in str(error) and NO_HALVES not in str(error):
            raise
        raise NoKernel(str(error)) from error
    row = parse_provider(provider)[0]
    names = {node.operator for node in session.nodes() if node.provider == row.runtime_name} - COPIES
    if not names and row.name != "cpu":
        raise NoKernel("all of it runs on the CPU")
    times = 1.0 if row.name == "cpu" else FACTS.get(row.name, Facts("")).times
    limits = [times * max(tolerance(graph, array.dtype), case.tolerance or 0.0) for array in expected]
    return Result(outputs, expected, limits, sorted(names))


def check_result(result: Result) -> None:
    """Fail where types or numbers are others than the reference's."""
    types = [(value.dtype, value.shape) for value in result.expected]
    assert [(value.dtype, value.shape) for value in result.outputs] == types
    for value, expected, limit in zip(result.outputs, result.expected, result.limits, strict=True):
        assert distance(np.asarray(value), expected) <= limit


__all__ = ["COPIES", "NoKernel", "Result", "check_result", "run_case"]
