"""What is written loads in onnxruntime, the installed one and the oldest that graphir writes for, or it is refused.

GRAPHIR_ALL_LOADS tries every row in every dtype at every opset (some 30,000 graphs, a minute), not a part of them.
GRAPHIR_ONNXRUNTIME_PYTHON names an interpreter that has onnxruntime 1.20 (and needs no graphir).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import onnxruntime
import pytest

from graphir.converters.onnx import to_model
from graphir.errors import UnsupportedOpError
from graphir.runtime.kernels import releases
from tests.converters.onnx.load_child import HEADER
from tests.converters.onnx.loading import Sample, samples
from tests.requirements import missing

SAMPLES = samples()
CHILD = Path(__file__).with_name("load_child.py")
# The oldest release refuses such transforms, which later ones know.
LATER = ("DFT(inverse=True, onesided=True)",)


class Written(NamedTuple):
    """A model, its opset and the kinds of decisions; no bytes where the node was refused."""

    data: bytes
    opset: int
    kinds: set[str]


def written(sample: Sample) -> Written:
    """The sample as ONNX."""
    graph = sample.graph()
    assert graph is not None
    try:
        model = to_model(graph, opset=sample.opset)
    except UnsupportedOpError:
        return Written(b"", 0, set())
    opset = model.opset_import[0].version
    return Written(model.SerializeToString(), opset, {decision.kind for decision in graph.decisions})


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_loads_or_is_refused(sample: Sample) -> None:
    data, _, kinds = written(sample)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if data and "no kernel" not in kinds:
        onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def old_python() -> str:
    """The interpreter with the oldest onnxruntime that graphir writes for."""
    found = os.environ.get("GRAPHIR_ONNXRUNTIME_PYTHON")
    return found or missing("old onnxruntime", "GRAPHIR_ONNXRUNTIME_PYTHON names no Python with onnxruntime 1.20")


def test_loads_in_the_oldest_release(old_python: str) -> None:
    oldest = releases()[0]
    found = [(sample, written(sample)) for sample in SAMPLES if repr(sample.op) not in LATER]
    tried = [
        (sample, one.data)
        for sample, one in found
        if one.data and one.opset <= oldest.opset and not one.kinds & {"runtime", "no kernel"}
    ]
    stream = b"".join(HEADER.pack(len(data)) + data for _, data in tried)
    result = subprocess.run([old_python, str(CHILD)], input=stream, capture_output=True, check=True, timeout=600)
    *refused, last = result.stdout.decode().splitlines()
    assert last == f"{len(tried)}\tmodels, onnxruntime {oldest.number}"
    assert [f"{tried[int(line.split(chr(9))[0])][0]}: {line}" for line in refused] == []
