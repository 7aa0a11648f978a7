"""Modules that are written for training: what stays, one step as live MXNet takes it, and another head trained."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.cli import main
from graphir.converters.mxnet import mx
from tests.converters.pytorch.running import imported, need_torch, run_keras

pytestmark = pytest.mark.live
DIGITS = Path(__file__).parents[3] / "models" / "digits"
RATE, BATCH = 0.1, 32


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """digits, written for training, as a Python module."""
    need_torch()
    path = tmp_path_factory.mktemp("training") / "digits_net.py"
    assert main(["convert", str(DIGITS), str(path), "--training", "--verify"]) == 0
    return imported(path)


def samples() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    with np.load(DIGITS / "digits-test.npz") as held:
        return held["data"], held["label"]


def test_what_training_needs_stays(digits: Any) -> None:
    text = Path(digits.__file__).read_text(encoding="ascii")
    assert "        self.drop = nn.Dropout(0.3)\n" in text
    assert "        self.bn1.weight.requires_grad = False\n" in text
    assert "fc2_output holds scores: train with nn.CrossEntropyLoss, which computes the softmax itself\n" in text
    assert "softmax(" not in text
    net = digits.load()
    assert net.training
    assert [name for name, weight in net.named_parameters() if not weight.requires_grad] == ["bn1.weight"]
    assert (net.bn1.weight == 1).all()
    assert (net.bn1.momentum, net.bn2.momentum) == (0.1, 0.1)


def mxnet_step(mxnet: ModuleType, data: Any, label: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Gradients, and what parameters and statistics are after a step of SGD with Dropout off, in live MXNet."""
    text = (DIGITS / "digits-symbol.json").read_text().replace('"p": "0.3"', '"p": "0"')
    _, arguments, states = mxnet.model.load_checkpoint(str(DIGITS / "digits"), 20)
    shapes = {"data": data.shape, "softmax_label": label.shape}
    executor = mxnet.sym.load_json(text).simple_bind(mxnet.cpu(), grad_req="write", **shapes)
    executor.copy_params_from(arguments, states)
    executor.arg_dict["data"][:] = data
    executor.arg_dict["softmax_label"][:] = label
    executor.forward(is_train=True)
    executor.backward()
    gradients = {name: executor.grad_dict[name].asnumpy() / len(label) for name in arguments}
    after = {name: arguments[name].asnumpy() - RATE * gradients[name] for name in arguments}
    return gradients, after | {name: state.asnumpy() for name, state in executor.aux_dict.items()}


def torch_step(net: Any, data: Any, label: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of a module, by the names of MXNet."""
    import torch

    net.drop.p = 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    torch.autograd.backward(torch.nn.functional.cross_entropy(net(torch.from_numpy(data)), torch.from_numpy(label)))
    optimizer.step()
    names = {"running_mean": "moving_mean", "running_var": "moving_var"}
    norms = {"weight": "gamma", "bias": "beta"}

    def by_mxnet(key: str) -> str:
        layer, name = key.split(".")
        return f"{layer}_{(norms | names).get(name, name) if layer.startswith('bn') else name}"

    gradients = {by_mxnet(key): weight.grad.numpy() for key, weight in net.named_parameters() if weight.requires_grad}
    return gradients, {by_mxnet(key): tensor.numpy() for key, tensor in net.state_dict().items()}


def test_a_step_of_sgd_is_that_of_live_mxnet(digits: Any, mxnet: ModuleType) -> None:
    """Gradients, parameters and running means. torch's running variance takes the unbiased one of the batch, n / (n -
    1) times MXNet's."""
    data, label = (array[:BATCH] for array in samples())
    before, net = {key: tensor.numpy().copy() for key, tensor in digits.load().state_dict().items()}, digits.load()
    gradients, after = mxnet_step(mxnet, data, label)
    found, state = torch_step(net, data, label)
    assert set(found) == set(gradients) - {"bn1_gamma"}
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, gradients[name], rtol=0, atol=2e-6 * max(1, abs(gradient).max()))
        np.testing.assert_allclose(state[name], after[name], rtol=0, atol=1e-6)
    for layer, count in (("bn1", BATCH * 64), ("bn2", BATCH * 16)):
        name = f"{layer}_moving_mean"
        np.testing.assert_allclose(state[name], after[name], rtol=0, atol=1e-6)
        name = f"{layer}_moving_var"
        batch_share = after[name] - 0.9 * before[f"{layer}.running_var"]
        np.testing.assert_allclose(state[name] - after[name], batch_share / (count - 1), rtol=0, atol=3e-7)


def test_momentum_that_is_read_the_wrong_way_round_is_found(digits: Any, mxnet: ModuleType, tmp_path: Path) -> None:
    text = Path(digits.__file__).read_text(encoding="ascii")
    wrong = text.replace("nn.BatchNorm2d(32, eps=0.001)", "nn.BatchNorm2d(32, eps=0.001, momentum=0.9)")
    assert wrong != text
    (tmp_path / "wrong.py").write_text(wrong, encoding="ascii")
    data, label = (array[:BATCH] for array in samples())
    _, after = mxnet_step(mxnet, data, label)
    _, state = torch_step(imported(tmp_path / "wrong.py").load(digits.WEIGHTS), data, label)
    assert np.abs(state["bn2_moving_mean"] - after["bn2_moving_mean"]).max() > 1e-2


def test_a_reader_trains_another_head(digits: Any) -> None:
    """Three lines: five classes instead of ten, and everything before them as it is."""
    import torch

    torch.manual_seed(0)
    data, label = map(torch.from_numpy, samples())
    label = label % 5
    net = digits.load()
    net.requires_grad_(False)
    net.fc2 = torch.nn.Linear(48, 5)
    optimizer = torch.optim.Adam(net.fc2.parameters(), lr=0.02)
    for step in range(50):
        part = slice(step % 5 * 60, step % 5 * 60 + 60)
        optimizer.zero_grad()
        torch.autograd.backward(torch.nn.functional.cross_entropy(net(data[part]), label[part]))
        optimizer.step()
    with torch.no_grad():
        correct = (net.eval()(data[300:]).argmax(1) == label[300:]).float().mean().item()
    assert correct > 0.95


NOISE = """
import keras, numpy as np
from keras import layers
keras.utils.set_random_seed(0)
noises = [layers.GaussianNoise(0.7), layers.GaussianDropout(0.3), layers.AlphaDropout(0.2), layers.Dropout(0.4)]
data = np.random.default_rng(0).normal(1, 1, (400, 500)).astype(np.float32)
results = {}
for layer in noises:
    name = type(layer).__name__
    source = keras.Input((500,))
    keras.Model(source, layer(source)).save(f"{name}.keras")
    results[name] = np.array(layer(data, training=True))
np.savez("noise.npz", data=data, **results)
"""
NOISES = {
    "GaussianNoise": "GaussianNoise(0.7)",
    "GaussianDropout": "GaussianDropout(0.3)",
    "AlphaDropout": "nn.AlphaDropout(0.2)",
    "Dropout": "nn.Dropout(0.4)",
}


def test_noise_is_that_of_keras(tmp_path: Path) -> None:
    """What was added or multiplied has the mean, deviation and lowest numbers of live Keras; nothing in eval mode."""
    need_torch()
    import torch

    run_keras(NOISE, tmp_path)
    torch.manual_seed(0)
    with np.load(tmp_path / "noise.npz") as arrays:
        data, expected = torch.from_numpy(arrays["data"]), {name: arrays[name] for name in NOISES}
    for name, constructor in NOISES.items():
        path = tmp_path / f"{name.lower()}_net.py"
        assert main(["convert", str(tmp_path / f"{name}.keras"), str(path), "--training"]) == 0
        text = path.read_text()
        assert f" = {constructor}\n" in text
        assert ("class GaussianNoise" in text) == (name == "GaussianNoise")
        net = imported(path).load()
        result = net(data).numpy()
        assert torch.equal(net.eval()(data), data)
        for values in (np.mean, np.std, lambda array: np.quantile(array, (0.1, 0.3, 0.9))):
            np.testing.assert_allclose(values(result), values(expected[name]), atol=0.02, err_msg=name)


KERAS = """
import sys
import keras, numpy as np
from keras import layers
keras.utils.set_random_seed(0)
image = keras.Input((9, 11, 3))
x = layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False)(image)
x = layers.BatchNormalization(momentum=0.8, name="bn1")(x)
x = layers.SpatialDropout2D(0.0, name="channels")(layers.GaussianNoise(0.0, name="noise")(layers.ReLU()(x)))
x = layers.BatchNormalization(scale=False, center=False, name="bn2")(layers.DepthwiseConv2D(3, name="depthwise")(x))
x = layers.Dropout(0.25, name="drop")(layers.GlobalAveragePooling2D()(x))
model = keras.Model(image, layers.Dense(7, activation="softmax", name="scores")(x))
draw = np.random.default_rng(0)
for weight in model.weights:
    weight.assign(draw.uniform(0.5, 1.5, weight.shape))
model.save("net.keras")
model.get_layer("drop").rate = 0.0
data = draw.normal(size=(4, 9, 11, 3)).astype(np.float32)
scores = np.array(model(data, training=True))
means = {name: np.array(model.get_layer(name).moving_mean) for name in ("bn1", "bn2")}
np.savez("expected.npz", data=data, scores=scores, **means)
"""


def test_batch_normalization_and_dropout_of_keras_stay(tmp_path: Path) -> None:
    """Inference folds the one and drops the other. In training mode the module gives what Keras gives."""
    need_torch()
    import torch

    run_keras(KERAS, tmp_path)
    path = tmp_path / "keras_net.py"
    assert main(["convert", str(tmp_path / "net.keras"), str(path), "--training", "--verify"]) == 0
    module = imported(path)
    text = path.read_text()
    assert "nn.BatchNorm2d(8, eps=0.001, momentum=0.2)" in text
    assert "momentum=0.01" in text
    assert "nn.Dropout(0.25)" in text
    assert "will miss" not in text
    assert "GaussianNoise" not in text  # with a standard deviation of 0 it is nothing
    net = module.load()
    frozen = [name for name, weight in net.named_parameters() if not weight.requires_grad]
    assert frozen == ["bn2.weight", "bn2.bias"]
    for layer in net.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    with np.load(tmp_path / "expected.npz") as expected, torch.no_grad():
        found = torch.softmax(net(torch.from_numpy(expected["data"])), 1).numpy()
        np.testing.assert_allclose(found, expected["scores"], rtol=0, atol=1e-5)
        for name in ("bn1", "bn2"):
            mean = net.get_submodule(name).running_mean.numpy()
            np.testing.assert_allclose(mean, expected[name], rtol=0, atol=1e-5)


def test_momentum_and_dropout_of_onnx(tmp_path: Path) -> None:
    need_torch()
    from onnx import TensorProto, helper

    names = ("gamma", "beta", "mean", "variance")
    nodes = [
        helper.make_node("BatchNormalization", ["x", *names], ["y"], momentum=0.8),
        helper.make_node("Dropout", ["y", "ratio"], ["z"]),
    ]
    held = [helper.make_tensor(name, TensorProto.FLOAT, [3], [1, 2, 3]) for name in names]
    held.append(helper.make_tensor("ratio", TensorProto.FLOAT, [], [0.4]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 5, 7]) for name in "xz"]
    model = helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:], held))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    assert main(["convert", str(tmp_path / "net.onnx"), str(tmp_path / "onnx_net.py"), "--training", "--verify"]) == 0
    text = (tmp_path / "onnx_net.py").read_text()
    assert "nn.BatchNorm2d(3, momentum=0.2)" in text
    assert "nn.Dropout(0.4)" in text
    assert main(["convert", str(tmp_path / "net.onnx"), str(tmp_path / "x.onnx"), "--training"]) == 2


@pytest.mark.parametrize("fixed", [False, True])
def test_global_statistics_of_mxnet_stay(mxnet: ModuleType, fixed: bool, tmp_path: Path) -> None:
    """Training with use_global_stats neither uses nor changes the statistics: gradients are those of live MXNet."""
    need_torch()
    import torch

    symbol = mxnet.sym.BatchNorm(mxnet.sym.Variable("data"), use_global_stats=True, fix_gamma=fixed, name="norm")
    symbol.save(str(tmp_path / "net-symbol.json"))
    draw = np.random.default_rng(0)
    names = ("arg:norm_gamma", "arg:norm_beta", "aux:norm_moving_mean", "aux:norm_moving_var")
    weights = {name: mxnet.nd.array(draw.uniform(0.5, 1.5, 16)) for name in names}
    mxnet.nd.save(str(tmp_path / "net-0000.params"), weights)
    path = tmp_path / f"global_statistics_{fixed}.py"
    command = ["convert", str(tmp_path / "net-symbol.json"), str(path), "--training", "--verify"]
    assert main([*command, "-i", "data:N,16,5,7"]) == 0
    assert "miss" not in path.read_text()
    net = imported(path).load()
    trained = {name for name, weight in net.named_parameters() if weight.requires_grad}
    assert trained == ({"norm_beta"} if fixed else {"norm_beta", "norm_gamma"})
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}

    data = draw.normal(size=(4, 16, 5, 7)).astype(np.float32)
    executor = symbol.simple_bind(mxnet.cpu(), data=data.shape)
    arguments = {name.partition(":")[2]: array for name, array in weights.items()}
    executor.copy_params_from(arguments, arguments, allow_extra_params=True)
    expected = executor.forward(is_train=True, data=mxnet.nd.array(data))[0]
    executor.backward(mxnet.nd.array(data))
    result = net(torch.from_numpy(data))
    torch.autograd.backward(result, torch.from_numpy(data))
    np.testing.assert_allclose(result.detach().numpy(), expected.asnumpy(), rtol=0, atol=1e-5)
    for name in trained:
        gradient = net.get_parameter(name).grad.numpy()
        np.testing.assert_allclose(gradient, executor.grad_dict[name].asnumpy(), rtol=0, atol=1e-4)
    assert all((tensor == before[name]).all() for name, tensor in net.state_dict().items())


DATA = mx.sym.Variable("data")


def two_norms(folder: Path, **first: bool) -> str:
    """The module of two batch normalizations with the name `norm`, of which the first one has these attributes."""
    other = {name: mx.sym.Variable(f"other_{name}") for name in ("gamma", "beta", "moving_mean", "moving_var")}
    activation = mx.sym.Activation(mx.sym.BatchNorm(DATA, name="norm", **first), act_type="relu")
    mx.sym.BatchNorm(activation, name="norm", fix_gamma=False, **other).save(str(folder / "net-symbol.json"))
    draw, prefixes = np.random.default_rng(0), {"arg": ("gamma", "beta"), "aux": ("moving_mean", "moving_var")}
    weights = {
        f"{kind}:{layer}_{name}": mx.nd.array(draw.uniform(0.5, 1.5, 3).astype(np.float32))
        for kind, names in prefixes.items() for name in names for layer in ("norm", "other")
    }  # fmt: skip
    mx.nd.save(str(folder / "net-0000.params"), weights)
    command = ["convert", str(folder / "net-symbol.json"), str(folder / "net.py"), "--training"]
    assert main([*command, "-i", "data:N,3,5,7"]) == 0
    return (folder / "net.py").read_text()


def test_of_two_layers_of_one_name_that_with_the_fixed_gamma_keeps_it(tmp_path: Path) -> None:
    text = two_norms(tmp_path)
    assert [line.strip() for line in text.splitlines() if "requires_grad" in line] == [
        "self.norm.weight.requires_grad = False"
    ]


def test_of_two_layers_of_one_name_that_with_global_statistics_keeps_them(tmp_path: Path) -> None:
    text = two_norms(tmp_path, fix_gamma=False, use_global_stats=True)
    assert text.count("F.batch_norm(") == 1
    assert text.count("nn.BatchNorm2d(3") == 1


@pytest.mark.parametrize(("axes", "same"), [((2, 3), (2, 3)), ((1,), (1,)), ((0, -1), (0, 3))])
def test_masks_of_mxnet_are_the_same_along_axes(tmp_path: Path, axes: tuple[int, ...], same: tuple[int, ...]) -> None:
    need_torch()
    import torch

    path = tmp_path / "net-symbol.json"
    mx.sym.Dropout(DATA, p=0.4, axes=axes, name="drop").save(str(path))
    assert main(["convert", str(path), str(tmp_path / "mask_net.py"), "--training", "--input", "data:N,8,9,10"]) == 0
    check_mask(imported(tmp_path / "mask_net.py").load(), torch.ones(6, 8, 9, 10), 0.4, same)


LAYERS = {
    "SpatialDropout1D": ("layers.SpatialDropout1D(0.25)", (9, 10), (1,)),
    "SpatialDropout2D": ("layers.SpatialDropout2D(0.25)", (8, 9, 10), (1, 2)),
    "channels first": ("layers.SpatialDropout2D(0.25, data_format='channels_first')", (8, 9, 10), (2, 3)),
    "noise_shape": ("layers.Dropout(0.25, noise_shape=(None, 1, 10))", (9, 10), (1,)),
}

def test_a_dropout_of_mode_always_drops_in_training_only(tmp_path: Path) -> None:
    need_torch()
    import torch

    path, target = tmp_path / "net-symbol.json", tmp_path / "always_net.py"
    mx.sym.Dropout(DATA, p=0.4, mode="always", name="drop").save(str(path))
    assert main(["convert", str(path), str(target), "--training", "--input", "data:N,8,9,10"]) == 0
    assert "MXNet drops at random at inference too, this graph in training only" in target.read_text()
    check_mask(imported(target).load(), torch.ones(6, 8, 9, 10), 0.4, ())


KERAS_MASKS = """
import keras
from keras import layers
for place, (text, shape) in enumerate({models!r}):
    image = keras.Input(shape)
    keras.Model(image, eval(text)(image)).save(f"mask{{place}}.keras")
"""


def test_masks_of_keras_are_the_same_along_axes(tmp_path: Path) -> None:
    need_torch()
    import torch

    run_keras(KERAS_MASKS.format(models=[row[:2] for row in LAYERS.values()]), tmp_path)
    for place, (_, shape, same) in enumerate(LAYERS.values()):
        path = tmp_path / f"keras_mask{place}.py"
        assert main(["convert", str(tmp_path / f"mask{place}.keras"), str(path), "--training"]) == 0
        check_mask(imported(path).load(), torch.ones(6, *shape), 0.25, same)


def check_mask(net: Any, ones: Any, rate: float, same: tuple[int, ...]) -> None:
    """Ones behind a Dropout differ between elements that the axes tell apart, and are the same along the others."""
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        kept = net(ones)
        assert torch.equal(net.eval()(ones), ones)
    torch.testing.assert_close(kept.unique(), torch.tensor([0, 1 / (1 - rate)]))
    for axis in range(ones.dim()):
        is_same = bool((kept == kept.narrow(axis, 0, 1)).all())
        assert is_same == (axis in same), axis
