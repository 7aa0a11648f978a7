"""Each script prints under the facade what it prints under live MXNet."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from graphir.converters.mxnet.mx import recordio
from tests.converters.mxnet.mx.scripts import rows, rows_of_files

pytestmark = pytest.mark.live
SCRIPTS = rows.SCRIPTS | rows_of_files.SCRIPTS
ROOT = Path(__file__).resolve().parents[5]
DRIVER = Path(__file__).with_name("driver.py")


def smooth(height: int, width: int, seed: int) -> Any:
    """An image whose colors change slowly, with some noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    waves = [np.sin(rows / (5 + seed + 2 * band) + band) * np.cos(columns / (7 + band)) for band in range(3)]
    return np.clip(127 + 90 * np.stack(waves, -1) + rng.normal(0, 9, (height, width, 3)), 0, 255).astype(np.uint8)


def write_files(folder: Path) -> None:
    """A checkpoint, images, records, and a part of MNIST."""
    for name in ("digits-symbol.json", "digits-0020.params"):
        shutil.copy(ROOT / "models" / "digits" / name, folder)
    with np.load(ROOT / "models" / "digits" / "digits-test.npz") as arrays:
        data = next(array for array in arrays.values() if array.ndim == 4)
    np.save(folder / "rows.npy", data[:10])
    image = Image.fromarray(smooth(32, 48, 0))
    image.save(folder / "smooth.png")
    image.save(folder / "smooth.jpg", quality=90)
    image.convert("L").save(folder / "gray.png")
    image.quantize(16).save(folder / "palette.png")
    Image.fromarray(np.dstack([smooth(20, 30, 1), smooth(20, 30, 2)[..., :1]])).save(folder / "alpha.png")
    writer = recordio.MXIndexedRecordIO(folder / "train.idx", folder / "train.rec", "w")
    for number, kind in enumerate("abba"):
        place = folder / "folder" / kind / f"{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(smooth(20 + number, 30, number)).save(place)
        writer.write_idx(number, recordio.pack((0, float(kind == "b"), number, 0), place.read_bytes()))
    writer.close()
    (folder / "mnist").mkdir()
    digits = smooth(28, 28, 5).transpose(2, 0, 1)
    for name, head, body in (
        ("t10k-images-idx3-ubyte.gz", struct.pack(">4I", 2051, 3, 28, 28), digits.tobytes()),
        ("t10k-labels-idx1-ubyte.gz", struct.pack(">2I", 2049, 3), bytes((4, 7, 1))),
    ):
        (folder / "mnist" / name).write_bytes(gzip.compress(head + body))




@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory, mxnet: object) -> dict[str, dict[str, str]]:
    """What each script prints, under live MXNet and under the facade."""
    texts = {}
    for which in ("", "facade"):
        folder = tmp_path_factory.mktemp(which or "live")
        write_files(folder)
        (folder / "scripts.json").write_text(json.dumps(SCRIPTS))
        command = [sys.executable, str(DRIVER), "scripts.json", "out.json", *([which] if which else [])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        subprocess.run(command, cwd=folder, check=True, env=environment, timeout=600)
        texts[which or "live"] = json.loads((folder / "out.json").read_text())
    return texts


@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_it_prints_under_live_mxnet(name: str, printed: dict[str, dict[str, str]]) -> None:
    live, facade = printed["live"][name], printed["facade"][name]
    assert "Traceback" not in live, live
    assert live.strip(), "a script that prints nothing shows nothing"
    assert facade == live
