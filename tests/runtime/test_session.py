"""Sessions: what they open, what they accept, what they refuse, and where the nodes run."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from graphir.converters import session
from graphir.converters.mxnet.files.params import write_params
from graphir.converters.onnx import load, save, to_model
from graphir.converters.onnx.files import writer
from graphir.converters.session import Session
from graphir.errors import FormatError, ImportFailure, ProviderError, RunError, VerificationError
from graphir.graph import Graph
from graphir.ops.elementwise import Neg, Sub
from graphir.ops.linear import MatMul
from graphir.runtime import session as module
from graphir.runtime.placement import Placement, check_running
from graphir.runtime.providers import import_onnxruntime
from graphir.safety import isolation
from tests.ops.rule import tensor
from tests.verification import models

CPU, CUDA, AZURE = "CPUExecutionProvider", "CUDAExecutionProvider", "AzureExecutionProvider"
X = np.linspace(-1, 1, 2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)


@pytest.fixture(autouse=True)
def _no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests start is no device: forks stay allowed."""
    monkeypatch.setattr(isolation, "_may_fork", True)


def as_graph(folder: Path) -> Any:
    return models.net_graph()


def as_bytes(folder: Path) -> Any:
    return to_model(models.net_graph()).SerializeToString()


def as_onnx(folder: Path) -> Any:
    return save(models.net_graph(), folder / "net.onnx")[0]


def as_onnx_text(folder: Path) -> Any:
    return str(as_onnx(folder))


def as_external_onnx(folder: Path) -> Any:
    return save(models.net_graph(), folder / "net.onnx", weights="external")[0]


@pytest.mark.parametrize("make", [as_graph, as_bytes, as_onnx, as_onnx_text, as_external_onnx])
def test_opens(make: Any, tmp_path: Path) -> None:
    session = Session(make(tmp_path), providers="cpu")
    found = session.run({"data": X})
    expected = Session(models.net_graph(), providers="cpu").run({"data": X})
    assert list(found) == ["softmax_output"]
    np.testing.assert_array_equal(found["softmax_output"], expected["softmax_output"])
    assert session.input_dtypes == {"data": np.dtype("float32")}
    assert session.outputs == ("softmax_output",)


def test_opens_a_checkpoint_folder(tmp_path: Path) -> None:
    (tmp_path / "net-symbol.json").write_text(models.NET)
    kinds = {name: "aux" if "moving" in name else "arg" for name in models.SHAPES}
    write_params(tmp_path / "net-0000.params", {f"{kinds[n]}:{n}": a for n, a in models.net_params().items()})
    session = Session(tmp_path, providers="cpu")
    sizes = [size if isinstance(size, int) else 2 for size in session.inputs["data"]]
    assert session.run({"data": np.ones(sizes, np.float32)})["softmax_output"].shape == (2, 4)


def missing(folder: Path) -> Any:
    return folder / "nothing.onnx"


def missing_prefix(folder: Path) -> Any:
    return folder / "nothing"


def page(folder: Path) -> Any:
    path = folder / "page.onnx"
    path.write_text("<html></html>")
    return path


def page_without_suffix(folder: Path) -> Any:
    path = folder / "page.bin"
    path.write_text("<html></html>")
    return path


def garbage(folder: Path) -> Any:
    return b"garbage"


def lost_data(folder: Path) -> Any:
    path = save(models.net_graph(), folder / "net.onnx", weights="external")[0]
    (folder / "net.onnx.data").unlink()
    return path


@pytest.mark.parametrize(
    "make, error, message",
    [
        (missing, ImportFailure, "nothing.onnx: no such file"),
        (missing_prefix, ImportFailure, "no such file, folder or checkpoint prefix"),
        (page, RunError, "onnxruntime refuses the model"),
        (page_without_suffix, FormatError, "not a model"),
        (garbage, RunError, "onnxruntime refuses the model"),
        (lost_data, RunError, "onnxruntime refuses the model"),
    ],
)
def test_refuses_to_open(make: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        Session(make(tmp_path), providers="cpu")


def test_graph_beyond_one_file_goes_through_external_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = Session(models.net_graph(), providers="cpu").run({"data": X})
    path = save(models.net_graph(), tmp_path / "whole.onnx")[0]
    monkeypatch.setattr(writer, "SINGLE_FILE_LIMIT", 600)
    monkeypatch.setattr(session, "FEW", 0)
    assert len(save(models.net_graph(), tmp_path / "net.onnx")) == 2
    result = Session(load(path), providers="cpu").run({"data": X})
    np.testing.assert_array_equal(result["softmax_output"], expected["softmax_output"])


def test_large_weights_in_memory_are_read_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Session(models.net_graph(), providers="cpu").run({"data": X})
    monkeypatch.setattr(session, "FEW", 1)
    monkeypatch.setattr(writer, "INLINE_BELOW", 1)
    monkeypatch.setattr(session.tempfile, "TemporaryDirectory", None)  # type: ignore[attr-defined]
    opened = Session(models.net_graph(), providers="cpu")
    gc.collect()  # the session alone keeps the weights
    result = opened.run({"data": X})
    np.testing.assert_array_equal(result["softmax_output"], expected["softmax_output"])


def test_large_weights_that_do_not_lie_in_order_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4).T
    graph = Graph("net")
    product = graph.add(MatMul(), graph.add_input("x", tensor("float32[2,4]")), graph.constant(columns))
    graph.set_outputs([product])
    monkeypatch.setattr(session, "FEW", 1)
    monkeypatch.setattr(writer, "INLINE_BELOW", 1)
    x = np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)
    (result,) = Session(graph, providers="cpu").run({"x": x}).values()
    np.testing.assert_allclose(result, x @ columns, rtol=1e-6)


@pytest.mark.parametrize(
    "feeds, message",
    [
        ({}, "the model's inputs are data; missing: data; unknown: none"),
        ({"data": X, "label": X}, "missing: none; unknown: label"),
        ({"Data": X}, "missing: data; unknown: Data"),
        ({"data": X[:, :2]}, "input data is [2, 3, 8, 8], found an array of [2, 2, 8, 8]"),
        ({"data": X.astype(complex)}, "input data takes float32, found complex128"),
    ],
)
def test_refused_feeds(feeds: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError) as raised:
        Session(models.net_graph(), providers="cpu").run(feeds)
    assert message in str(raised.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, ">f4"])
def test_feeds_of_other_dtypes(dtype: Any) -> None:
    feed = np.arange(X.size).reshape(X.shape) % 5
    session = Session(models.net_graph(), providers="cpu")
    found = session.run({"data": feed.astype(dtype)})["softmax_output"]
    np.testing.assert_array_equal(found, session.run({"data": feed.astype(np.float32)})["softmax_output"])
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    "wanted, found",
    [
        (None, ["sum", "twice"]),
        (["twice"], ["twice"]),
        (["twice", "sum"], ["twice", "sum"]),
        (["sum", "sum"], ["sum"]),
        ([], []),
    ],
)
def test_outputs_chosen(wanted: list[str] | None, found: list[str], tmp_path: Path) -> None:
    session = Session(models.affine(tmp_path), providers="cpu")
    assert list(session.run({"x": np.ones((2, 3), np.float32)}, wanted)) == found


def test_a_session_runs_as_onnxruntimes_does() -> None:
    session = Session(models.net_graph(), providers="cpu")
    ((name, expected),) = session.run({"data": X}).items()
    for outputs in (None, [name], [name, name]):
        found = session.run(outputs, {"data": X})
        assert isinstance(found, list)
        assert len(found) == len(outputs or [name])
        np.testing.assert_array_equal(found[-1], expected)
    with pytest.raises(RunError, match="no output sum; its outputs are"):
        session.run(["sum"], {"data": X})
    with pytest.raises(RunError, match="missing: data"):
        session.run(None, {})
    assert not issubclass(RunError, VerificationError)


def test_unknown_output(tmp_path: Path) -> None:
    session = Session(models.affine(tmp_path), providers="cpu")
    with pytest.raises(RunError, match="no output sums; its outputs are sum, twice"):
        session.run({"x": np.ones((2, 3), np.float32)}, ["sums"])


@pytest.mark.parametrize(
    "element, array",
    [
        (TensorProto.FLOAT16, np.array([1.5, -2], np.float16)),
        (TensorProto.DOUBLE, np.array([1.5, -2])),
        (TensorProto.INT8, np.array([1, -2], np.int8)),
        (TensorProto.UINT64, np.array([1, 2**63], np.uint64)),
        (TensorProto.BOOL, np.array([True, False])),
        (TensorProto.STRING, np.array(["a", "bc"], object)),
        (TensorProto.BFLOAT16, np.array([1.5, -2], ml_dtypes.bfloat16)),
        (TensorProto.FLOAT8E4M3FN, np.array([1.5, -2], ml_dtypes.float8_e4m3fn)),
        (TensorProto.FLOAT, np.zeros((0,), np.float32)),
    ],
)
def test_dtypes_go_through(element: int, array: Any) -> None:
    session = Session(models.identity(element, ["N"]), providers="cpu")
    found = session.run({"x": array})["y"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_model_without_inputs() -> None:
    nodes = [helper.make_node("Relu", ["w"], ["y"])]
    model = models.onnx_model(nodes, {}, {"y": (1, [2])}, {"w": np.array([-1, 1], np.float32)})
    assert Session(model.SerializeToString(), providers="cpu").run({})["y"].tolist() == [0, 1]


def test_failing_run_names_the_reason() -> None:
    nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
    model = models.onnx_model(nodes, {"a": (1, ["N"]), "b": (1, ["M"])}, {"y": (1, [None])})
    session = Session(model.SerializeToString(), providers="cpu")
    with pytest.raises(RunError, match=r"onnxruntime failed to run the model: .*broadcast"):
        session.run({"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)})


@pytest.mark.parametrize(("asked", "hint"), [
    ("cuda", "; a GPU needs onnxruntime-gpu in place of onnxruntime"),
    ("CUDA", "; a GPU needs onnxruntime-gpu in place of onnxruntime"),
    ("tensorrt", "; a GPU needs onnxruntime-gpu in place of onnxruntime"),
    ("NoSuchExecutionProvider", "$"), (["cpu", "NoSuchExecutionProvider"], "$"),
    ("webgpu", "; pip install onnxruntime-webgpu, in place of onnxruntime: they share a module$"),
])  # fmt: skip
def test_missing_provider(asked: Any, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])
    with pytest.raises(ProviderError, match="was asked for, but onnxruntime has only CPUExecutionProvider" + hint):
        Session(models.net_graph(), providers=asked)


@pytest.mark.parametrize("asked", ["auto", "cpu", CPU, ["cpu"], [], ["cpu", "CPU"], "CpuExecutionProvider"])
def test_cpu(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])
    assert Session(models.net_graph(), providers=asked).providers == (CPU,)


def without_cuda() -> bool:
    return "CUDAExecutionProvider" not in onnxruntime.get_available_providers()


@pytest.mark.skipif(not without_cuda(), reason="this onnxruntime has CUDA")
@pytest.mark.filterwarnings("ignore:Specified provider")
def test_provider_that_is_built_in_but_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    with pytest.raises(ProviderError, match="CUDAExecutionProvider was asked for but did not start"):
        Session(models.net_graph(), providers="cuda")
    assert Session(models.net_graph(), providers="auto").providers == (CPU,)


@pytest.mark.skipif(AZURE not in onnxruntime.get_available_providers(), reason="needs a provider that runs no nodes")
def test_provider_that_runs_no_node() -> None:
    with pytest.raises(ProviderError, match="AzureExecutionProvider was asked for but runs no node"):
        Session(models.net_graph(), providers=AZURE)


@pytest.mark.parametrize(
    "asked, running, placement, message",
    [
        ([CPU], [CPU], {CPU: 3}, ""),
        ([CUDA, CPU], [CUDA, CPU], {CUDA: 3}, ""),
        ([CUDA, CPU], [CUDA, CPU], {CUDA: 1, CPU: 3}, ""),
        ([CUDA, CPU], [CUDA, CPU], {}, ""),
        ([CUDA, CPU], [CUDA, CPU], None, ""),
        ([CUDA, CPU], [CPU], None, "CUDAExecutionProvider was asked for but did not start"),
        ([CUDA, CPU], [CUDA, CPU], {CPU: 3}, "runs no node of the model (3 on CPUExecutionProvider)"),
        ([CUDA, AZURE, CPU], [CPU], None, "CUDAExecutionProvider, AzureExecutionProvider was asked for"),
    ],
)
def test_check_running(asked: list[str], running: list[str], placement: dict[str, int] | None, message: str) -> None:
    if not message:
        check_running(asked, running, placement)
        return
    with pytest.raises(ProviderError) as raised:
        check_running(asked, running, placement)
    assert message in str(raised.value)


def test_a_provider_that_raises_is_no_fault_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(source: Any, options: Any, providers: Any, **rest: Any) -> Any:
        if providers != [CPU]:
            raise RuntimeError("no kernel image")
        return real(source, options, providers=providers)

    real = onnxruntime.InferenceSession
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", start)
    with pytest.raises(ProviderError, match="CUDAExecutionProvider was asked for but did not start: no kernel image"):
        Session(as_bytes(Path()), providers="cuda")
    with pytest.raises(RunError, match="onnxruntime refuses the model"):
        Session(b"garbage", providers="cuda")


def test_placement_counts_the_nodes() -> None:
    session = Session(models.net_graph(), providers="cpu", optimize=False)
    assert session.placement() == {CPU: 8}
    assert sum(Session(models.net_graph(), providers="cpu").placement().values()) <= 8


class Unrecorded:
    """An onnxruntime of before it told which node runs where."""

    InferenceSession = object
    SessionOptions = onnxruntime.SessionOptions


def test_placement_from_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Placement", lambda runtime, options, **_: Placement(Unrecorded, options))
    session = Session(models.net_graph(), providers="cpu", optimize=False)
    session.run({"data": X})
    assert session.placement() == {CPU: 8}
    assert session.placement() == {CPU: 8}
    with pytest.raises(ProviderError, match="only after a run"):
        Session(models.net_graph(), providers="cpu").placement()


def test_a_session_is_called_by_position_and_by_name() -> None:
    graph = Graph("two")
    left, right = (graph.add_input(name, tensor("float32[2]")) for name in ("a", "b"))
    graph.set_outputs([graph.add(Sub(), left, right, output="d")])
    session = Session(graph, providers="cpu")
    np.testing.assert_array_equal(session([5, 3], [1, 2]), [4, 1])
    np.testing.assert_array_equal(session([5, 3], b=np.array([1, 2], np.float32)), [4, 1])
    with pytest.raises(RunError, match="has 2 inputs"):
        session([1, 2], [1, 2], [1, 2])
    with pytest.raises(RunError, match="a: given by position and by name"):
        session([1, 2], a=[1, 2])
    with pytest.raises(RunError, match="missing: b"):
        session([1, 2])
    assert repr(session).startswith("Session(a [2], b [2] -> d; CPUExecutionProvider")
    graph.set_outputs([graph["d"], graph.add(Neg(), graph["d"])])
    both = Session(graph, providers="cpu")([5, 3], [1, 2])
    assert [list(array) for array in both] == [[4, 1], [-4, -1]]


def test_a_session_that_was_let_go_starts_anew() -> None:
    session = Session(models.net_graph(), providers="cpu")
    expected, nodes = session.run({"data": X}), session.nodes()
    session.release()
    assert session._started is None
    assert session.nodes() == nodes
    assert session.outputs == tuple(expected)
    assert session._started is None
    found = session.run({"data": X})
    assert session._started is not None
    np.testing.assert_array_equal(found["softmax_output"], expected["softmax_output"])


def test_an_old_onnxruntime_is_named_with_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "__version__", "1.9.3")
    with pytest.raises(ProviderError, match=r"found onnxruntime 1\.9\.3, expected 1\.20 or newer"):
        import_onnxruntime()
