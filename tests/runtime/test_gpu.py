"""Sessions on a real CUDA device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from graphir import verify
from graphir.converters.mxnet import mx
from graphir.converters.onnx import to_model
from graphir.converters.session import Session
from graphir.errors import ProviderError
from graphir.runtime.providers import PROVIDERS
from graphir.verification.verdict import Verdict
from tests.gpu import need_gpu
from tests.verification import models

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def _cuda() -> None:
    need_gpu()


def test_cuda_runs_the_nodes() -> None:
    session = Session(models.net_graph(), providers="cuda")
    assert session.providers[0] == PROVIDERS["cuda"]
    placed = session.placement()
    assert placed[PROVIDERS["cuda"]] > placed.get(PROVIDERS["cpu"], 0)


@pytest.mark.parametrize("tf32, option", [(False, "0"), (True, "1")])
def test_tf32_is_off_unless_asked_for(tf32: bool, option: str) -> None:
    session = Session(models.net_graph(), providers="cuda", tf32=tf32)
    options = session._session.get_provider_options()[PROVIDERS["cuda"]]
    assert options["use_tf32"] == option


def test_cpu_and_cuda_agree() -> None:
    report = verify(models.net_graph(), models.net_graph(), providers="cuda", per_layer=True)
    assert report.verdict.passes
    assert report.first_divergence is None
    assert "on CUDA (" in report.candidate
    assert PROVIDERS["cuda"] in {node.provider for node in report.placement}
    assert [note for note in report.notes if note.startswith("TF32 was off; with it the outputs")]


def test_tensorrt_runs_nodes() -> None:
    if PROVIDERS["tensorrt"] not in onnxruntime.get_available_providers():
        pytest.skip("the installed onnxruntime has no TensorRT")
    session = Session(models.net_graph(), providers="tensorrt")
    assert session.nodes()[0].provider == PROVIDERS["tensorrt"]
    assert verify(models.net_graph(), models.net_graph(), providers="tensorrt").verdict.passes


def test_bound_inputs_and_outputs_stay_on_the_gpu() -> None:
    session = Session(models.net_graph(), providers="cuda")
    feeds = {"data": np.ones((2, 3, 8, 8), np.float32)}
    bound = session.prepared(feeds)
    assert (bound.bound, bound.device) == (True, "cuda")
    for array, expected in zip(bound.outputs(), session.run(feeds).values(), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-7)


def test_file_on_cuda(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(to_model(models.net_graph()).SerializeToString())
    feeds = {"data": np.ones((2, 3, 8, 8), np.float32)}
    left, right = (Session(path, providers=name).run(feeds)["softmax_output"] for name in ("cpu", "cuda"))
    np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-6)
    assert verify(path, path, feeds=feeds, providers="cuda").verdict is not Verdict.BROKEN


def test_mxnets_gpu_is_cuda() -> None:
    data = np.ones((2, 4), np.float32)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    found = []
    for device in (mx.gpu(0), mx.cpu()):
        executor = net.simple_bind(device, data=data.shape)
        executor.arg_dict["fc_weight"][:] = np.arange(12).reshape(3, 4)
        found.append(executor.forward(data=data)[0])
    np.testing.assert_allclose(found[0].asnumpy(), found[1].asnumpy(), rtol=1e-6)
    assert found[0].context == mx.gpu(0)
    with pytest.raises(ProviderError):
        net.simple_bind(mx.gpu(99), data=data.shape).forward()
