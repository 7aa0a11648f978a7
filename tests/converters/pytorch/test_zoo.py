"""A network of each family of gluon's model zoo as a module: live MXNet's numbers, several batches from one file."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import graphir
from tests.converters.pytorch.running import need_torch, run_session, to_numpy, to_torch, written_class
from tests.converters.pytorch.test_networks import readable
from tests.models import zoo

pytestmark = pytest.mark.live
# The side of the picture: odd where the network takes any size.
FAMILIES = {
    "alexnet": 131, "densenet121": 227, "inceptionv3": 299, "mobilenet0.25": 97, "mobilenetv2_0.25": 97,
    "resnet18_v1": 97, "resnet18_v2": 97, "squeezenet1.1": 227, "vgg11_bn": 97,
}  # fmt: skip


@pytest.mark.one_of(8)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_module_gives_what_mxnet_gives(mxnet: ModuleType, name: str, tmp_path: Path) -> None:
    need_torch()
    import torch

    zoo.capture_zoo(name, tmp_path, side := FAMILIES[name])
    graph = graphir.load(tmp_path / name / "model-symbol.json", shapes={"data": ("N", 3, side, side)})
    net, text = written_class(graph)
    golden = np.load(tmp_path / name / "golden.npz")
    data = golden["input:data"]
    (expected,) = (golden[key] for key in golden.files if key.startswith("output:"))
    with torch.no_grad():
        results = to_numpy(net(to_torch(data)))
        batch = np.concatenate([data, -data, data / 2])
        several = to_numpy(net(to_torch(batch)))
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(results, expected, rtol=0, atol=3e-5 * scale)
    np.testing.assert_allclose(several, run_session(graph, {"data": batch})[0], rtol=0, atol=3e-5 * scale)
    readable(text, tmp_path)
