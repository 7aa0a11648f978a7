"""`--like`: weights of MXNet's v1b ResNets by the keys of torchvision's, which are the same networks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphir
from graphir.cli import main
from graphir.converters.mxnet import mx
from graphir.converters.pytorch import weights_format
from graphir.errors import ExportFailure
from tests.converters.pytorch.running import need_torch

pytestmark = pytest.mark.live
WIDTH, CLASSES, SIZE = 8, 10, 33
BASIC, BOTTLENECK = (2, 2, 2, 2), (3, 4, 6, 3)


class Symbols:
    """A network of MXNet as GluonCV names it, with random weights."""

    def __init__(self) -> None:
        self.draw = np.random.default_rng(0)
        self.arguments: dict[str, Any] = {}
        self.states: dict[str, Any] = {}

    def conv(self, data: Any, name: str, channels: int, filters: int, kernel: int, stride: int = 1) -> Any:
        """A convolution without bias, and its normalization."""
        shape = (filters, channels, kernel, kernel)
        weight = self.draw.normal(size=shape) / np.sqrt(channels * kernel * kernel / 2)
        self.arguments[f"{name}_weight"] = weight
        sizes = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (kernel // 2, kernel // 2)}
        data = mx.sym.Convolution(data, num_filter=filters, no_bias=True, name=name, **sizes)
        norm = name.replace("conv", "batchnorm")
        for part, held in (("gamma", self.arguments), ("beta", self.arguments), ("moving_mean", self.states),
                           ("moving_var", self.states)):  # fmt: skip
            held[f"{norm}_{part}"] = self.draw.uniform(0.5, 1.5, filters)
        return mx.sym.BatchNorm(data, fix_gamma=False, eps=1e-5, name=norm)

    def block(self, data: Any, name: str, channels: int, width: int, stride: int, *, bottleneck: bool) -> Any:
        """A block of v1b: the stride is that of the convolution over 3x3."""
        shortcut, filters = data, width * (4 if bottleneck else 1)
        if bottleneck:
            path = [(width, 1, 1), (width, 3, stride), (filters, 1, 1)]
        else:
            path = [(width, 3, stride), (filters, 3, 1)]
        inner, count = data, channels
        for place, (wide, kernel, step) in enumerate(path):
            inner = self.conv(inner, f"{name}conv{place}", count, wide, kernel, step)
            count = wide
            if place < len(path) - 1:
                inner = mx.sym.Activation(inner, act_type="relu")
        if stride > 1 or channels != filters:
            shortcut = self.conv(shortcut, f"{name.replace('block', 'down')}conv0", channels, filters, 1, stride)
        return mx.sym.Activation(inner + shortcut, act_type="relu")

    def resnet(self, blocks: Sequence[int], *, bottleneck: bool) -> Any:
        """The whole network, up to its scores."""
        data = self.conv(mx.sym.Variable("data"), "conv0", 3, WIDTH, 7, 2)
        data = mx.sym.Activation(data, act_type="relu")
        data = mx.sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
        channels = WIDTH
        for stage, count in enumerate(blocks):
            width = WIDTH * 2**stage
            for place in range(count):
                stride = 2 if stage and not place else 1
                name = f"layers{stage + 1}_block{place}_"
                data = self.block(data, name, channels, width, stride, bottleneck=bottleneck)
                channels = width * (4 if bottleneck else 1)
        data = mx.sym.Pooling(data, kernel=(1, 1), global_pool=True, pool_type="avg")
        self.arguments["dense0_weight"] = self.draw.normal(size=(CLASSES, channels))
        self.arguments["dense0_bias"] = self.draw.normal(size=CLASSES)
        return mx.sym.FullyConnected(data, num_hidden=CLASSES, name="dense0")


def save_mxnet(folder: Path, blocks: Sequence[int], *, bottleneck: bool) -> Path:
    """The checkpoint of a v1b ResNet."""
    made = Symbols()
    net = made.resnet(blocks, bottleneck=bottleneck)
    arrays = [{name: mx.nd.array(array.astype("float32")) for name, array in held.items()}
              for held in (made.arguments, made.states)]  # fmt: skip
    mx.model.save_checkpoint(str(folder / "v1b"), 0, net, *arrays)
    return folder / "v1b-symbol.json"


@cache
def classes() -> tuple[Any, Any]:
    """torchvision's ResNet, with its names: the class, and its block."""
    from torch import flatten, nn

    class Block(nn.Module):
        def __init__(self, channels: int, width: int, stride: int, *, bottleneck: bool) -> None:
            super().__init__()
            filters = width * (4 if bottleneck else 1)
            path = [(width, 3, stride), (filters, 3, 1)]
            if bottleneck:
                path = [(width, 1, 1), (width, 3, stride), (filters, 1, 1)]
            self.count, count = len(path), channels
            for place, (wide, kernel, step) in enumerate(path, 1):
                conv = nn.Conv2d(count, wide, kernel, step, kernel // 2, bias=False)
                self.add_module(f"conv{place}", conv)
                self.add_module(f"bn{place}", nn.BatchNorm2d(wide))
                count = wide
            self.downsample = None
            if stride > 1 or channels != filters:
                conv = nn.Conv2d(channels, filters, 1, stride, bias=False)
                self.downsample = nn.Sequential(conv, nn.BatchNorm2d(filters))

        def forward(self, x: Any) -> Any:
            identity = x if self.downsample is None else self.downsample(x)
            for place in range(1, self.count + 1):
                x = self.get_submodule(f"bn{place}")(self.get_submodule(f"conv{place}")(x))
                x = x.relu() if place < self.count else x
            return (x + identity).relu()

    class ResNet(nn.Module):
        def __init__(self, blocks: Sequence[int], *, bottleneck: bool) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(WIDTH)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            channels = WIDTH
            for stage, count in enumerate(blocks):
                made = []
                for place in range(count):
                    stride = 2 if stage and not place else 1
                    made.append(Block(channels, WIDTH * 2**stage, stride, bottleneck=bottleneck))
                    channels = WIDTH * 2**stage * (4 if bottleneck else 1)
                self.add_module(f"layer{stage + 1}", nn.Sequential(*made))
            self.fc = nn.Linear(channels, CLASSES)

        def forward(self, x: Any) -> Any:
            x = self.maxpool(self.bn1(self.conv1(x)).relu())
            for stage in range(1, 5):
                x = self.get_submodule(f"layer{stage}")(x)
            return self.fc(flatten(x.mean((2, 3), keepdim=True), 1))

    return ResNet, Block


def other_network(folder: Path, blocks: Sequence[int], *, bottleneck: bool) -> Any:
    """torchvision's network with random weights, saved as other.safetensors and other.onnx."""
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    net = classes()[0](blocks, bottleneck=bottleneck).eval()
    with torch.no_grad():
        for tensor in net.state_dict().values():
            if tensor.is_floating_point() and tensor.dim() == 1:
                tensor.uniform_(0.5, 1.5)
    save_file(net.state_dict(), folder / "other.safetensors")
    torch.onnx.export(
        net, (torch.zeros(1, 3, SIZE, SIZE),), str(folder / "other.onnx"), dynamo=False, do_constant_folding=False,
        training=torch.onnx.TrainingMode.PRESERVE, input_names=["image"], output_names=["scores"],
        dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}},
    )  # fmt: skip
    return net


def same_as_source(net: Any, source: Path, weights: Path) -> None:
    """The weights load strictly, and the network computes what MXNet's does."""
    import torch
    from safetensors.torch import load_file

    net.load_state_dict(load_file(weights), strict=True)
    image = np.random.default_rng(1).normal(size=(3, 3, SIZE, SIZE)).astype(np.float32)
    graph = graphir.load(source, shapes={"data": ("N", 3, SIZE, SIZE)})
    (expected,) = graphir.Session(graph).run({"data": image}).values()
    with torch.no_grad():
        found = net(torch.from_numpy(image)).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * np.abs(expected).max())


SHAPE = ["-i", f"data:N,3,{SIZE},{SIZE}"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("blocks, bottleneck", [(BASIC, False), (BOTTLENECK, True)], ids=["resnet18", "resnet50"])
def test_v1b_has_the_keys_of_torchvision(
    blocks: Sequence[int], bottleneck: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By graph both, proven by a run of the other network; by order the one without bottlenecks. In the other one a
    projection and the convolution beside it have the same shape."""
    need_torch()
    source = save_mxnet(tmp_path, blocks, bottleneck=bottleneck)
    net = other_network(tmp_path, blocks, bottleneck=bottleneck)
    like, graph = ["--like", str(tmp_path / "other.safetensors")], ["--like-graph", str(tmp_path / "other.onnx")]
    weights, names = tmp_path / "weights.safetensors", tmp_path / "names.json"
    command = ["convert", str(source), str(weights), *SHAPE, *like]
    assert main([*command, *graph, "--verify", "--names", str(names)]) == 0
    assert "verified: equal within rounding" in capsys.readouterr().out
    same_as_source(net, source, weights)
    rows = {row["key"]: row["source"] for row in json.loads(names.read_text())}
    assert rows["layer2.0.downsample.0.weight"] == "layers2_down0_conv0_weight"
    assert rows["bn1.running_mean"] == "batchnorm0_moving_mean"
    weights.unlink()
    if bottleneck:
        assert main(command) == 1
        error = capsys.readouterr().err
        assert "layers that nothing tells apart: give --like-graph" in error
        assert "    layer1.0.downsample.0: weight [32, 8, 1, 1]\n" in error
        assert not weights.exists()
    else:
        assert main(command) == 0
        same_as_source(net, source, weights)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_swapped_weights_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two layers of one shape whose weights change places: the file loads strictly, and computes something else."""
    need_torch()
    source = save_mxnet(tmp_path, BASIC, bottleneck=False)
    other_network(tmp_path, BASIC, bottleneck=False)

    def swapped(*arguments: Any) -> dict[str, weights_format.Renamed]:
        result = rename(*arguments)
        first, second = "layer1.0.conv1.weight", "layer1.0.conv2.weight"
        result[first], result[second] = result[second], result[first]
        return result

    rename = weights_format.rename
    monkeypatch.setattr(weights_format, "rename", swapped)
    like = ["--like", str(tmp_path / "other.safetensors"), "--like-graph", str(tmp_path / "other.onnx")]
    assert main(["convert", str(source), str(tmp_path / "weights.safetensors"), *SHAPE, *like, "--verify"]) == 4
    assert "BROKEN" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_another_architecture_is_refused_with_all_that_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_torch()
    source = save_mxnet(tmp_path, BASIC, bottleneck=False)
    other_network(tmp_path, (2, 3, 2, 2), bottleneck=False)
    like = ["--like", str(tmp_path / "other.safetensors")]
    for words in ([], ["--like-graph", str(tmp_path / "other.onnx")]):
        assert main(["convert", str(source), str(tmp_path / "w.safetensors"), *SHAPE, *like, *words]) == 1
        error = capsys.readouterr().err
        assert "the networks do not match, and nothing was written" in error
        assert "  layers of the model without a partner:\n    layers2_" in error
        assert "conv1: weight [16, 16, 3, 3]" in error
        assert not (tmp_path / "w.safetensors").exists()


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digits = Path(__file__).parents[3] / "models" / "digits"
    target = tmp_path / "weights.safetensors"
    assert main(["convert", str(digits), str(target)]) == 1
    assert "weights alone have the keys of another file: name it by --like" in capsys.readouterr().err
    assert main(["convert", str(digits), str(tmp_path / "net.py"), "--like", str(target)]) == 2
    with pytest.raises(ExportFailure, match="like is for PyTorch weights targets"):
        graphir.convert(digits, tmp_path / "net.py", like=target)


def test_weights_alone_are_not_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own module's weights as the file: each layer finds itself. What they compute needs a graph."""
    need_torch()
    digits = Path(__file__).parents[3] / "models" / "digits"
    assert main(["convert", str(digits), str(tmp_path / "net.py")]) == 0
    command = ["convert", str(digits), str(tmp_path / "w.safetensors"), "--like", str(tmp_path / "net.safetensors")]
    assert main(command) == 0
    assert (tmp_path / "w.safetensors").read_bytes() == (tmp_path / "net.safetensors").read_bytes()
    assert main([*command, "--verify"]) == 1
    assert "weights alone compute nothing" in capsys.readouterr().err
