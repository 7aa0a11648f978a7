"""What is written loads in onnxruntime, the installed one and the others that graphir writes for, or it is refused.

GRAPHIR_ALL_LOADS tries every row in every dtype at every opset (some 30,000 graphs, a minute), not a part of them.
GRAPHIR_OLD_ONNXRUNTIMES names interpreters that have older onnxruntimes (and need no graphir).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import onnx
import onnxruntime
import pytest

from graphir.converters.onnx import to_model
from graphir.converters.onnx.dtypes import BY_CODE
from graphir.converters.onnx.exporting.signatures import signature
from graphir.converters.onnx.exporting.types import dtype_text, matched
from graphir.errors import UnsupportedOpError
from graphir.runtime.kernels import Release, releases
from tests.converters.onnx.load_child import HEADER
from tests.converters.onnx.loading import Sample, samples

SAMPLES = samples()
CHILD = Path(__file__).with_name("load_child.py")
# Old releases refuse such transforms, which later ones know; and before 1.27 onnxruntime's own optimisation made of a
# float64 MatMul with a Transpose a FusedMatMul, for which it has no kernel.
LATER = ("DFT(inverse=True, onesided=True)", "SymmetricEigen()")


class Written(NamedTuple):
    """A model, its opset and the kinds and texts of decisions; no bytes where the node was refused."""

    data: bytes
    opset: int
    kinds: set[str]
    texts: tuple[str, ...] = ()


def written(sample: Sample) -> Written:
    """The sample as ONNX."""
    graph = sample.graph()
    assert graph is not None
    try:
        model = to_model(graph, opset=sample.opset)
    except UnsupportedOpError:
        return Written(b"", 0, set())
    opset = model.opset_import[0].version
    kinds, texts = ({getattr(decision, name) for decision in graph.decisions} for name in ("kind", "text"))
    return Written(model.SerializeToString(), opset, kinds, tuple(texts))


@pytest.mark.one_of(8)
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_loads_or_is_refused(sample: Sample) -> None:
    model = written(sample)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if model.data and "no kernel" not in model.kinds:
        onnxruntime.InferenceSession(model.data, options, providers=["CPUExecutionProvider"])


OLD = os.environ.get("GRAPHIR_OLD_ONNXRUNTIMES", "").split()
NEEDS = re.compile(r"needs onnxruntime (\S+) or newer")


def is_for(release: tuple[int, ...], model: Written) -> bool:
    """Whether a release is to open a model: it has every kernel that no decision says is newer."""
    least = [tuple(map(int, number.split("."))) for text in model.texts for number in NEEDS.findall(text)]
    return bool(model.data) and "no kernel" not in model.kinds and release >= max(least, default=())


@pytest.mark.parametrize("python", OLD or [pytest.param("", marks=pytest.mark.skip(
    reason="GRAPHIR_OLD_ONNXRUNTIMES names no interpreters that have old onnxruntimes"))])  # fmt: skip
def test_loads_in_old_releases(python: str) -> None:
    asked = subprocess.run([python, "-c", "import onnxruntime as o; print(o.__version__)"], capture_output=True)
    number = asked.stdout.decode().strip()
    release = tuple(map(int, number.split(".")))
    found = [(sample, written(sample)) for sample in SAMPLES if repr(sample.op) not in LATER]
    tried = [(sample, one.data) for sample, one in found if is_for(release, one)]
    stream = b"".join(HEADER.pack(len(data)) + data for _, data in tried)
    result = subprocess.run([python, str(CHILD)], input=stream, capture_output=True, check=True, timeout=600)
    *refused, last = result.stdout.decode().splitlines()
    assert last == f"{len(tried)}\tmodels, onnxruntime {number}"
    assert [f"{tried[int(line.split(chr(9))[0])][0]}: {line}" for line in refused] == []


DEFAULTS = [sample for sample in SAMPLES if sample.opset is None]


@pytest.mark.parametrize("sample", DEFAULTS, ids=str)
def test_default_files_fit_every_release_of_the_table(sample: Sample) -> None:
    """The same without old onnxruntimes: each node of a default file has a kernel in every release that is to open it,
    by the table."""
    model = written(sample)
    if not model.data:
        return
    proto = onnx.load_from_string(model.data)
    types = value_types(proto)
    for release in releases():
        if is_for(tuple(map(int, release.number.split("."))), model):
            assert model.opset <= release.opset
            assert proto.ir_version <= release.ir_version
            assert [
                node.op_type for node in proto.graph.node if not has_kernel(release, node, model.opset, types)
            ] == []


def value_types(proto: Any) -> dict[str, str]:
    """The element types of the values that onnx infers, as type constraints write them."""
    inferred = onnx.shape_inference.infer_shapes(proto).graph
    infos = (*inferred.input, *inferred.output, *inferred.value_info)
    found = {info.name: info.type.tensor_type.elem_type for info in infos if info.type.HasField("tensor_type")}
    found |= {tensor.name: tensor.data_type for tensor in inferred.initializer}
    return {name: dtype_text(BY_CODE[code]) for name, code in found.items() if code in BY_CODE}


def has_kernel(release: Release, node: Any, opset: int, types: Mapping[str, str]) -> bool:
    """Whether a release has a kernel for a node."""
    if node.domain or node.op_type == "Constant":
        return True
    schema = signature(node.op_type, opset)
    assert schema is not None
    bound: dict[str, str] = {}
    for formals, names in ((schema.inputs, node.input), (schema.outputs, node.output)):
        for formal, name in matched(formals, names):
            text = types.get(name, "")
            bound[formal.name] = text
            if formal.variable:
                bound[formal.variable] = text
    halves = any(types.get(name) == "float16" for name in node.input)
    return release.runs(node.op_type, schema.since, opset, bound, halves=halves)
