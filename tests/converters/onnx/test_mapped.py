"""Weights that onnxruntime takes from where they lie in an .onnx file."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from graphir.converters.onnx.files.mapped import SIZES, mapped_model
from graphir.converters.session import Session, lean_session
from graphir.errors import RunError, VerificationError
from graphir.verification.running.candidate import OnnxCandidate
from tests.building import make_model

COUNT = 2048
X = np.linspace(-1, 1, COUNT, dtype=np.float32)


def weight(dtype: Any = np.float32) -> NDArray[Any]:
    return np.arange(COUNT).astype(dtype)


def model_of(weights: list[Any], nodes: list[Any] | None = None) -> onnx.ModelProto:
    """x + w, with w in float32 whatever it is stored as; or other nodes."""
    nodes = nodes or [helper.make_node("Cast", ["w"], ["f"], to=1), helper.make_node("Add", ["x", "f"], ["y"])]
    model = make_model(nodes, {"x": [COUNT]}, {"y": [COUNT]}, ir_version=9)
    model.graph.initializer.extend(weights)
    return model


def saved(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", ["model.onnx", "a b.onnx", "gewicht-\u00e9\u4e2d.onnx", "a:b.onnx", "noend"])
@pytest.mark.parametrize("pad", range(4))
def test_one_copy_wherever_it_lies(name: str, pad: int, tmp_path: Path) -> None:
    """Whatever the file is called, and on whatever byte the weights begin."""
    model = model_of([numpy_helper.from_array(weight(), "w")])
    model.producer_name = "p" * pad
    path = saved(model, tmp_path / name)
    found = mapped_model(path)
    assert found is not None
    assert len(found.message) < 1000
    with OnnxCandidate(path) as candidate:
        assert candidate._mapped is not None
        np.testing.assert_array_equal(candidate.run({"x": X})["y"], X + weight())
        np.testing.assert_array_equal(candidate.run({"x": X}, ["f"])["f"], weight())
        np.testing.assert_array_equal(candidate.twin.run({"x": X})["y"], X + weight())
    gc.collect()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("code", SIZES)
def test_every_type(code: int, tmp_path: Path) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(code)
    path = saved(model_of([numpy_helper.from_array(weight(dtype), "w")]), tmp_path / "m.onnx")
    found = mapped_model(path)
    assert found is not None
    session = lean_session(found.message, providers="cpu", external=found.weights)
    np.testing.assert_array_equal(session.run({"x": X})["y"], X + weight(dtype).astype(np.float32))


def test_through_a_link(tmp_path: Path) -> None:
    """A cache whose folder of names links into a folder of contents."""
    (tmp_path / "contents").mkdir()
    (tmp_path / "names").mkdir()
    saved(model_of([numpy_helper.from_array(weight(), "w")]), tmp_path / "contents" / "abc")
    link = tmp_path / "names" / "m.onnx"
    link.symlink_to(Path("..") / "contents" / "abc")
    with OnnxCandidate(link) as candidate:
        assert candidate._mapped is not None
        np.testing.assert_array_equal(candidate.run({"x": X}, ["f"])["f"], weight())


@pytest.mark.parametrize("linked", [("m.onnx", "w.bin"), ("m.onnx",), ()])
@pytest.mark.parametrize("is_inside", [False, True])
def test_weights_in_a_second_file(linked: tuple[str, ...], is_inside: bool, tmp_path: Path) -> None:
    """With links and without; the contents have other names."""
    (tmp_path / "contents").mkdir()
    (tmp_path / "names").mkdir()
    nodes = [helper.make_node("Add", ["x", "v"], ["f"]), helper.make_node("Add", ["w", "f"], ["y"])]
    inner = weight() if is_inside else np.ones(1, np.float32)
    model = model_of([numpy_helper.from_array(inner, "w"), numpy_helper.from_array(weight(), "v")], nodes)
    tensor = model.graph.initializer[1]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    for name, content in (("m.onnx", model.SerializeToString()), ("w.bin", weight().tobytes())):
        place = tmp_path / ("contents/of-" if name in linked else "names") / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
        if name in linked:
            (tmp_path / "names" / name).symlink_to(place)
    with OnnxCandidate(tmp_path / "names" / "m.onnx") as candidate:
        np.testing.assert_array_equal(candidate.run({"x": X})["y"], X + weight() + inner)
        np.testing.assert_array_equal(candidate.twin.run({"x": X})["y"], X + weight() + inner)


SQUARE = np.arange(64.0 * 64).reshape(64, 64) % 100
TURNED: dict[str, tuple[list[onnx.NodeProto], NDArray[Any]]] = {
    "itself": ([helper.make_node("Add", ["turned", "w"], ["sum"])], SQUARE.astype(np.float32)),
    "dequantized": (
        [
            helper.make_node("DequantizeLinear", ["w", "scale"], ["f"]),
            helper.make_node("Add", ["turned", "f"], ["sum"]),
        ],
        SQUARE.astype(np.int8),
    ),
    "in a function": ([helper.make_node("Plus", ["turned", "w"], ["sum"], domain="own")], SQUARE.astype(np.float32)),
}


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name", TURNED)
def test_weights_whose_axes_onnxruntime_turns(name: str, optimize: bool, tmp_path: Path) -> None:
    """It pushes Transpose through Add and turns the weight, which keeps its name."""
    middle, array = TURNED[name]
    first = helper.make_node("Transpose", ["x"], ["turned"], perm=[1, 0])
    last = helper.make_node("Transpose", ["sum"], ["y"], perm=[1, 0])
    model = make_model([first, *middle, last], {"x": [64, 64]}, {"y": [64, 64]}, ir_version=9)
    weights = {"w": array, "scale": np.array(1, np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in weights.items())
    plus = helper.make_node("Add", ["a", "b"], ["c"])
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(
        helper.make_function("own", "Plus", ["a", "b"], ["c"], [plus], [helper.make_opsetid("", 17)])
    )
    saved(model, tmp_path / "m.onnx")
    x = (2 * SQUARE).astype(np.float32)
    with OnnxCandidate(tmp_path / "m.onnx", optimize=optimize) as candidate:
        assert candidate._mapped is not None
        np.testing.assert_array_equal(candidate.run({"x": x})["y"], x + array.T)


def test_where_nothing_is_turned_all_weights_are_shared(tmp_path: Path) -> None:
    model = model_of([numpy_helper.from_array(weight(), "w")])
    mapped = mapped_model(saved(model, tmp_path / "m.onnx"))
    assert mapped is not None
    assert mapped.weights._turned == frozenset()


def shortened() -> Any:
    """A weight with fewer bytes than its shape takes."""
    tensor = numpy_helper.from_array(weight(), "w")
    tensor.raw_data = tensor.raw_data[:-4]
    return tensor


def elsewhere() -> Any:
    """A weight in another file."""
    tensor = TensorProto(name="w", data_type=1, dims=[COUNT], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="other.bin")
    return tensor


def disguised() -> Any:
    """One whose entry looks like what graphir takes out of a message, with a number that there is not."""
    tensor = numpy_helper.from_array(weight(), "w")
    tensor.external_data.add(key="graphir.region", value="99")
    return tensor


NOT_MAPPED = {
    "small weights": model_of([numpy_helper.from_array(np.ones((), np.float32), "w")]),
    "in other files": model_of([elsewhere()]),
    "too short": model_of([shortened()]),
    "disguised": model_of([disguised()]),
    "of an attribute": model_of(
        [],
        [
            helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weight(), "v")),
            helper.make_node("Add", ["x", "w"], ["y"]),
        ],
    ),
}


@pytest.mark.parametrize("model", NOT_MAPPED.values(), ids=NOT_MAPPED)
def test_what_stays_as_it_is(model: onnx.ModelProto, tmp_path: Path) -> None:
    assert mapped_model(saved(model, tmp_path / "m.onnx")) is None


@pytest.mark.parametrize("content", [b"", b"<html>" * 1000, b"\x3a\xff\xff\x01abc", b"\x08\x07\x3a\x02\x0a\x7f"])
def test_no_model(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    assert mapped_model(tmp_path / "m.onnx") is None


def test_tensors_inside_nodes_keep_their_elements(tmp_path: Path) -> None:
    """Beside a weight that is mapped, one of an attribute and one of a graph inside a node."""

    def branch(name: str, factor: float) -> Any:
        inner = numpy_helper.from_array(weight() * np.float32(factor), f"w_{name}")
        node = helper.make_node("Identity", [inner.name], [name])
        return helper.make_graph(
            [node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [COUNT])], [inner]
        )

    nodes = [
        helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(weight(), "v")),
        helper.make_node("If", ["true"], ["i"], then_branch=branch("then", 2), else_branch=branch("other", 3)),
        helper.make_node("Sum", ["x", "w", "c", "i"], ["y"]),
    ]
    weights = [numpy_helper.from_array(weight(), "w"), numpy_helper.from_array(np.array(True), "true")]
    path = saved(model_of(weights, nodes), tmp_path / "m.onnx")
    with OnnxCandidate(path) as candidate:
        assert candidate._mapped is not None
        np.testing.assert_array_equal(candidate.run({"x": X * 0})["y"], weight() * 4)


def test_what_is_wrong_is_said_of_the_file(tmp_path: Path) -> None:
    model = model_of([numpy_helper.from_array(weight(), "w")], [helper.make_node("NoSuch", ["x", "w"], ["y"])])
    path = saved(model, tmp_path / "m.onnx")
    with pytest.raises(VerificationError) as mapped, OnnxCandidate(path) as candidate:
        candidate.run({"x": X})
    with pytest.raises(RunError) as plain:
        Session(path, providers="cpu")
    assert str(mapped.value) == str(plain.value)


def test_the_session_under_test_computes_what_the_file_does(tmp_path: Path) -> None:
    """A copy under another name, its weights inside, and the file itself in onnxruntime."""
    path = saved(model_of([numpy_helper.from_array(weight(), "w")]), tmp_path / "m.onnx")
    shutil.copy(path, tmp_path / "copy.onnx")
    wanted = Session(tmp_path / "copy.onnx", providers="cpu").run({"x": X})["y"]
    with OnnxCandidate(path) as candidate:
        np.testing.assert_array_equal(candidate.run({"x": X})["y"], wanted)
