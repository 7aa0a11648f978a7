"""Sessions on a device."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from graphir import bench
from graphir.converters.mxnet import mx
from graphir.converters.onnx import to_model
from graphir.converters.session import Session
from graphir.errors import ProviderError, RunError
from graphir.graph import Graph
from graphir.ops.activation import Relu, Softmax
from graphir.ops.linear import MatMul
from graphir.runtime.providers import PROVIDERS, available_providers
from graphir.safety.isolation import can_fork
from graphir.tensor import Tensor
from graphir.types import DType, TensorType, parse_shape
from tests.devices.device import FACTS, PROVIDER, ROW, need_device
from tests.verification import models

pytestmark = pytest.mark.gpu
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module", autouse=True)
def _device() -> None:
    need_device()


def network(scale: float = 1.0) -> Graph:
    """Two products with a Relu between them, and a Softmax: shaders that compile fast."""
    graph = Graph("network")
    x = graph.add_input("data", TensorType(DType.FLOAT32, parse_shape("N,3")))
    weights = np.random.default_rng(3).standard_normal((2, 4, 4)).astype(np.float32) * np.float32(scale)
    first = graph.add(MatMul(), x, graph.add_parameter("w0", Tensor.of(weights[0, :3])), output="product")
    hidden = graph.add(Relu(), first, output="hidden")
    second = graph.add(MatMul(), hidden, graph.add_parameter("w1", Tensor.of(weights[1])), output="scores")
    graph.set_outputs([graph.add(Softmax(), second, output="probabilities")])
    return graph


def on_cpu(graph: Graph) -> NDArray[np.float32]:
    found: NDArray[np.float32] = Session(graph, providers="cpu").run({"data": X})["probabilities"]
    return found


def test_the_device_runs_the_nodes() -> None:
    session = Session(network(), providers=PROVIDER)
    np.testing.assert_allclose(session.run({"data": X})["probabilities"], on_cpu(network()), rtol=1e-5)
    assert session.providers[0] == ROW.runtime_name
    placed = session.placement()
    assert placed[ROW.runtime_name] > placed.get(PROVIDERS["cpu"], 0)
    assert {"MatMul", "Softmax"} <= {node.operator for node in session.nodes() if node.provider == ROW.runtime_name}


def test_a_process_with_a_device_is_not_forked() -> None:
    Session(network(), providers=PROVIDER)
    assert not can_fork()


def test_several_sessions_keep_their_weights_apart() -> None:
    sessions = [Session(network(scale), providers=PROVIDER) for scale in (1.0, 0.5, 2.0)]
    results: dict[int, NDArray[np.float32]] = {}

    def run(number: int) -> None:
        results[number] = sessions[number].run({"data": X})["probabilities"]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, scale in enumerate((1.0, 0.5, 2.0)):
        np.testing.assert_allclose(results[number], on_cpu(network(scale)), rtol=1e-5)


def test_another_batch_on_the_same_session() -> None:
    session = Session(network(), providers=PROVIDER)
    for count in (2, 5, 1):
        data = np.resize(X, (count, 3))
        expected = Session(network(), providers="cpu").run({"data": data})["probabilities"]
        np.testing.assert_allclose(session.run({"data": data})["probabilities"], expected, rtol=1e-5)


def test_bound_outputs_stay_in_the_memory_of_the_device() -> None:
    session = Session(network(), providers=PROVIDER)
    bound = session.prepared({"data": X}, bound=True)
    assert (bound.bound, bound.device) == (True, ROW.memory)
    np.testing.assert_allclose(bound.outputs()[0], on_cpu(network()), rtol=1e-5)
    infos: list[Any] = getattr(session._session, "get_output_memory_infos", list)()  # onnxruntime has it from 1.23 on
    assert [info.name for info in infos] == [FACTS[ROW.name].memory] * len(infos)


def test_a_tensor_that_does_not_fit_is_an_error_and_the_session_lives_on() -> None:
    size = FACTS[ROW.name].too_large
    if not size:
        pytest.skip(f"what does not fit on {PROVIDER} is as large as the machine's memory")
    nodes = [helper.make_node("Add", ["x", "y"], ["z"])]
    model = models.onnx_model(nodes, {"x": (1, ["N", 1]), "y": (1, [1, "M"])}, {"z": (1, ["N", "M"])}, {})
    session = Session(model.SerializeToString(), providers=PROVIDER)
    side = int((size / 4) ** 0.5)
    with pytest.raises(RunError, match="onnxruntime failed to run the model"):
        session.run({"x": np.ones((side, 1), np.float32), "y": np.ones((1, side), np.float32)})
    found = session.run({"x": np.ones((2, 1), np.float32), "y": np.ones((1, 3), np.float32)})["z"]
    np.testing.assert_array_equal(found, np.full((2, 3), 2, np.float32))


def test_a_model_without_a_kernel_on_the_device_is_an_error() -> None:
    nodes = [helper.make_node("Det", ["x"], ["y"])]
    model = models.onnx_model(nodes, {"x": (1, [2, 2])}, {"y": (1, [])}, {})
    with pytest.raises(ProviderError, match="runs no node of the model"):
        Session(model.SerializeToString(), providers=PROVIDER).run({"x": np.eye(2, dtype=np.float32)})


def test_a_file_on_the_device(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    path.write_bytes(to_model(network()).SerializeToString())
    found = Session(path, providers=PROVIDER).run({"data": X})["probabilities"]
    np.testing.assert_allclose(found, on_cpu(network()), rtol=1e-5)


def test_bench_times_the_device() -> None:
    report = bench(network(), providers=["cpu", PROVIDER], batches=[2], seconds=0.2)
    assert [row.provider for row in report.rows] == ["cpu", PROVIDER]
    assert report.rows[1].nodes[ROW.runtime_name] > 0


@pytest.mark.skipif(ROW.name not in ("cuda", "tensorrt"), reason="an option of NVIDIA's providers")
@pytest.mark.parametrize("tf32, option", [(False, "0"), (True, "1")])
def test_tf32_is_off_unless_requested(tf32: bool, option: str) -> None:
    session = Session(network(), providers="cuda", tf32=tf32)
    assert session._session.get_provider_options()[PROVIDERS["cuda"]]["use_tf32"] == option


def test_tensorrt_runs_nodes() -> None:
    if PROVIDERS["tensorrt"] not in available_providers():
        pytest.skip("the installed onnxruntime has no TensorRT")
    session = Session(network(), providers="tensorrt")
    assert session.nodes()[0].provider == PROVIDERS["tensorrt"]


@pytest.mark.skipif(not ROW.is_gpu, reason="mx.gpu() is a GPU")
def test_mxnets_gpu_is_the_device() -> None:
    data = np.ones((2, 4), np.float32)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    results = []
    for device in (mx.gpu(0), mx.cpu()):
        executor = net.simple_bind(device, data=data.shape)
        executor.arg_dict["fc_weight"][:] = np.arange(12).reshape(3, 4)
        results.append(executor.forward(data=data)[0])
    np.testing.assert_allclose(results[0].asnumpy(), results[1].asnumpy(), rtol=1e-6)
    assert results[0].context == mx.gpu(0)
    with pytest.raises(mx.base.MXNetError):
        net.simple_bind(mx.gpu(99), data=data.shape).forward()
