"""Files of others: what they state is compared with what they hold, and what is missing is named."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from tests.converters.mxnet.mx.scripts.test_scripts import write_files

MAGIC = struct.pack("<I", 0xCED7230A)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    write_files(path)
    return path


def test_mnist_is_read_from_local_files(folder: Path) -> None:
    digits = mx.gluon.data.vision.MNIST(str(folder / "mnist"), train=False)
    assert (len(digits), digits[2][0].shape, [int(digits[row][1]) for row in range(3)]) == (3, (28, 28, 1), [4, 7, 1])
    with pytest.raises(mx.MXNetError, match=r"train-labels-idx1-ubyte.gz is not there, and nothing is downloaded"):
        mx.gluon.data.vision.MNIST(str(folder / "mnist"))


def test_cifar_is_read_from_local_files(tmp_path: Path) -> None:
    rows = np.arange(2 * 3073, dtype=np.uint32).astype(np.uint8).reshape(2, 3073)
    (tmp_path / "test_batch.bin").write_bytes(rows.tobytes())
    pictures = mx.gluon.data.vision.CIFAR10(str(tmp_path), train=False)
    assert pictures[1][0].asnumpy()[0, 0].tolist() == [rows[1, 1], rows[1, 1 + 1024], rows[1, 1 + 2048]]
    (tmp_path / "test.bin").write_bytes(bytes(3073))
    with pytest.raises(mx.MXNetError, match="hold 3073 bytes, expected rows of 3074"):
        mx.gluon.data.vision.CIFAR100(str(tmp_path), train=False)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (MAGIC + struct.pack("<I", (1 << 29) - 1) + b"abc", "states 536870911 bytes"),
        (MAGIC, "does not begin with the mark"),
        (b"abcdefgh", "does not begin with the mark"),
        (MAGIC + struct.pack("<I", 2 << 29 | 4) + b"abcd", "begins in the middle"),
        (MAGIC + struct.pack("<I", 1 << 29 | 4) + b"abcd", "has no end"),
    ],
)
def test_a_record_that_lies_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(content)
    with pytest.raises(mx.MXNetError, match=problem):
        mx.recordio.MXRecordIO(tmp_path / "a.rec", "r").read()


@pytest.mark.parametrize("content", [b"", b"short", struct.pack("<IfQQ", 1 << 30, 0, 0, 0) + b"abcd"])
def test_a_header_that_lies_is_refused(content: bytes) -> None:
    with pytest.raises(mx.MXNetError, match="a record"):
        mx.recordio.unpack(content)


def test_images_are_packed_and_unpacked(folder: Path) -> None:
    pixels = mx.image.imread(folder / "smooth.png").asnumpy()
    record = mx.recordio.pack_img((0, 3.0, 7, 0), pixels[..., ::-1], quality=9, img_fmt=".png")
    header, again = mx.recordio.unpack_img(record)
    assert (header.label, header.id) == (3.0, 7)
    np.testing.assert_array_equal(again[..., ::-1], pixels)
    with pytest.raises(mx.MXNetError, match=r"\.jpg or \.png"):
        mx.recordio.pack_img((0, 3.0, 7, 0), pixels, img_fmt=".gif")


def test_an_image_that_ends_too_early_is_refused(folder: Path) -> None:
    content = (folder / "smooth.png").read_bytes()
    for cut in (content[:300], content[:8], b"GIF89a"):
        with pytest.raises(mx.MXNetError, match="Decoding failed"):
            mx.image.imdecode(cut)


def test_weights_are_read_from_a_file_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vision: Any = mx.gluon.model_zoo.vision
    with pytest.raises(mx.MXNetError, match=r"nothing is downloaded: put them into .*squeezenet1\.1\.params"):
        vision.squeezenet1_1(pretrained=True, root=str(tmp_path))
    net = vision.squeezenet1_1(classes=2)
    net.initialize()
    net(mx.nd.zeros((1, 3, 224, 224)))
    net.save_parameters(str(tmp_path / "squeezenet1.1-33ba0f93.params"))
    again = vision.get_model("squeezenet1.1", classes=2, pretrained=True, root=str(tmp_path))
    first = next(iter(net.collect_params().values())).data().asnumpy()
    np.testing.assert_array_equal(next(iter(again.collect_params().values())).data().asnumpy(), first)


def test_an_array_operator_takes_no_symbol() -> None:
    mx.operator.register("nothing")(mx.operator.CustomOpProp)
    with pytest.raises(mx.MXNetError, match="of arrays"):
        mx.operator.Custom(mx.sym.var("data"), op_type="nothing")
    with pytest.raises(mx.MXNetError, match="Cannot find custom operator 'other'"):
        mx.nd.Custom(mx.nd.ones(1), op_type="other")


@pytest.mark.parametrize(
    "options", [{"max_rotate_angle": 10}, {"random_h": 3}, {"mean_img": "mean.bin"}, {"min_random_scale": 0.5}]
)
def test_random_changes_of_record_images_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(mx.TrainingError, match=next(iter(options))):
        mx.io.ImageRecordIter(path_imgrec="none.rec", data_shape=(3, 4, 4), batch_size=1, **options)


@pytest.mark.parametrize("flat", [False, True])
def test_mnist_iter_gives_full_batches(tmp_path: Path, flat: bool) -> None:
    pixels = np.arange(5 * 6, dtype=np.uint8).reshape(5, 2, 3)
    (tmp_path / "images").write_bytes(struct.pack(">4I", 0x803, 5, 2, 3) + pixels.tobytes())
    (tmp_path / "labels").write_bytes(gzip.compress(struct.pack(">2I", 0x801, 5) + bytes((4, 3, 2, 1, 0))))
    files = {"image": tmp_path / "images", "label": tmp_path / "labels"}
    batches = list(mx.io.MNISTIter(**files, batch_size=2, flat=flat, shuffle=False))
    assert [batch.label[0].asnumpy().tolist() for batch in batches] == [[4, 3], [2, 1]]
    data = np.concatenate([batch.data[0].asnumpy() for batch in batches])
    assert (data == (pixels[:4].reshape(4, 6) if flat else pixels[:4, None]) / np.float32(256)).all()
    shuffled = [batch.label[0].asnumpy() for batch in mx.io.MNISTIter(**files, batch_size=5, seed=3)]
    assert sorted(shuffled[0]) == [0, 1, 2, 3, 4]
    assert list(shuffled[0]) != [4, 3, 2, 1, 0]


def test_operators_in_python_with_states_are_refused_in_symbols() -> None:
    class Stateful(mx.operator.CustomOpProp):  # type: ignore[misc]
        def list_auxiliary_states(self) -> list[str]:
            return ["state"]

    mx.operator.register("stateful")(Stateful)
    with pytest.raises(mx.TrainingError, match="auxiliary states"):
        mx.sym.Custom(mx.sym.Variable("data"), op_type="stateful")


@pytest.mark.parametrize("shape", [(4, 4, 1), (2, 4, 4, 3)])
def test_colors_are_changed_in_images_of_three_channels_alone(shape: tuple[int, ...]) -> None:
    with pytest.raises(mx.MXNetError, match=r"images \(H, W, 3\), got"):
        mx.gluon.data.vision.transforms.RandomSaturation(0.5)(mx.nd.ones(shape))
