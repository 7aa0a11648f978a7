"""`bind`, `simple_bind` and `eval`: what live MXNet answered, on real checkpoints and networks made here."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.errors import GraphirError


def checkpoints() -> list[str]:
    return [
        "gluoncv-cifar-resnet20-v1",
        "gluoncv-cifar-resnet20-v2",
        "go-test-linear",
        "mtcnn-det1-pnet",
        "mtcnn-det2-rnet",
        "mtcnn-det3-onet",
        "toy-lenet-miraclewkf",
        "xdl-blaze-dnn",
    ]


@pytest.mark.parametrize("name", checkpoints())
def test_checkpoints_give_mxnets_outputs(name: str, shared: Path) -> None:
    folder = shared / "models" / "mxnet" / name
    golden = np.load(folder / "golden.npz")
    feeds = {key.split(":")[-1]: golden[key] for key in golden if "input:" in key}
    symbol, arguments, states = mx.model.load_checkpoint(str(folder / "model"), 0)
    shapes = {key: held.shape for key, held in (arguments | feeds).items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **shapes)
    executor.copy_params_from(arguments, states, allow_extra_params=True)
    outputs = executor.forward(**feeds)
    bound = symbol.bind(mx.cpu(), executor.arg_dict, aux_states=executor.aux_dict)
    again = bound.forward()
    for slot, (output, other) in enumerate(zip(outputs, again, strict=True)):
        wanted = next(golden[key] for key in golden if key.startswith(f"output:{slot}:"))
        assert output.shape == wanted.shape
        np.testing.assert_allclose(output.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(other.asnumpy(), output.asnumpy())


def network() -> Any:
    data = mx.sym.Variable("data")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax")


def test_what_is_written_is_seen() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    held = mx.nd.ones((2, 3))
    executor = (a + b).bind(mx.cpu(), {"a": held, "b": mx.nd.ones((2, 3))})
    first = executor.outputs[0]
    executor.forward()
    assert first.asnumpy().tolist() == [[2] * 3] * 2
    held[0][1] = 5
    executor.arg_dict["b"][:] = 2
    executor.forward()
    assert first.asnumpy().tolist() == [[3, 7, 3], [3, 3, 3]]
    executor.forward(a=np.zeros((2, 3)))
    assert held.asnumpy().sum() == 0
    assert first.asnumpy().tolist() == [[2] * 3] * 2


def test_weights_that_are_written_again_and_again_are_seen() -> None:
    executor = network().simple_bind(mx.cpu(), data=(2, 4))
    executor.arg_dict["data"][:] = 1
    for scale in range(5):
        executor.arg_dict["fc_weight"][:] = np.array([[0], [1], [2]]) * scale
        executor.forward()
        logits = 4.0 * scale * np.arange(3)
        wanted = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        np.testing.assert_allclose(executor.outputs[0].asnumpy()[0], wanted, rtol=1e-5, atol=1e-7)


def test_monitor_sees_every_value() -> None:
    symbol = mx.sym.FullyConnected(mx.sym.relu(mx.sym.Variable("a"), name="r"), num_hidden=2, name="fc")
    executor = symbol.simple_bind(mx.cpu(), a=(1, 2))
    seen: list[Any] = []
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    executor.forward()
    assert seen == [("r_output", (1, 2)), ("fc_output", (1, 2))]
    seen.clear()
    executor.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    executor.forward()
    inputs = ["fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias"]
    assert seen == ["a", "r_data", "r_output", *inputs, "fc_output"] or seen[2:] == ["r_output", *inputs, "fc_output"]


@pytest.mark.live
@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        ("float32", {"start": 0}),
        ("float32", {"start": 1.3, "step": 0.7, "repeat": 3}),
        ("float64", {"start": -2.5, "step": -1.3}),
        ("int32", {"start": 4, "step": 3, "repeat": 2}),
    ],
)
def test_a_range_is_as_long_as_its_users_read(mxnet: ModuleType, dtype: str, options: dict[str, Any]) -> None:
    def found(frame: Any) -> Any:
        endless = frame.sym.arange(stop=None, infer_range=True, dtype=dtype, **options)
        network = frame.sym.elemwise_add(endless, frame.sym.var("x", dtype=dtype))
        return network.bind(frame.cpu(), {"x": frame.nd.ones((7,), dtype=dtype)}).forward()[0].asnumpy()

    ours, live = found(mx), found(mxnet)
    assert (ours.dtype, ours.shape) == (live.dtype, live.shape)
    np.testing.assert_allclose(ours, live, rtol=1e-6)


@pytest.mark.live
def test_monitor_sees_a_variable_at_each_of_its_users(mxnet: ModuleType) -> None:
    def seen(frame: Any) -> list[str]:
        data = frame.sym.Variable("a")
        twice = frame.sym.broadcast_add(data, data, name="t")
        executor = frame.sym.concat(data, twice, data, name="c").simple_bind(frame.cpu(), a=(1, 2))
        names: list[str] = []
        executor.set_monitor_callback(
            lambda name, array: names.append(name if isinstance(name, str) else name.decode()), monitor_all=True
        )
        executor.forward()
        frame.nd.waitall()
        return names

    assert seen(mx) == seen(mxnet)


def bound() -> Any:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return (a + b).bind(mx.cpu(), {"a": mx.nd.ones((2, 3)), "b": mx.nd.ones((2, 3))})


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("ex.forward(zz=x)", TypeError),
        ("ex.forward(a=o((3, 3)))", ValueError),
        ("ex.forward(a=5)", ValueError),
        ("ex.copy_params_from({'q': x})", ValueError),
        ("ex.copy_params_from({}, {'z': x})", ValueError),
        ("ex.copy_params_from({'a': o((3, 3))})", mx.MXNetError),
        ("ex.reshape(a=(4, 3), b=(4, 3))", mx.MXNetError),
        ("ex.reshape(a=(1, 3))", mx.MXNetError),
        ("ex.backward()", NotImplementedError),
        ("S.bind(mx.cpu(), {'a': x, 'b': np.ones((2, 3))})", TypeError),
        ("S.bind(mx.cpu(), 5)", TypeError),
        ("S.bind(5, {'a': x, 'b': x})", TypeError),
        ("S.bind(mx.cpu(), [x, x], args_grad=[x])", ValueError),
        ("S.bind(mx.cpu(), [x, x], grad_req='foo')", ValueError),
        ("S.bind(mx.cpu(), [x, x], aux_states=[x])", ValueError),
        ("S.bind(mx.cpu(), [x, x.astype('float16')])", mx.MXNetError),
        ("S.simple_bind(mx.cpu(), a=(2, 3), b=(3,))", RuntimeError),
        ("S.simple_bind(mx.cpu(), a=(2, 3), grad_req=['null'])", RuntimeError),
        ("B.bind(mx.cpu(), {'d': o((2, 3)), 'bn_gamma': o(3), 'bn_beta': o(3)})", ValueError),
        ("B.simple_bind(mx.cpu(), d=(2, 3)).forward(is_train=True)", mx.TrainingError),
    ],
)
def test_refused_with_mxnets_kind(expression: str, error: type[Exception]) -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    names = {"mx": mx, "np": np, "o": mx.nd.ones, "x": mx.nd.ones((2, 3)), "S": a + b, "ex": bound()}
    names["B"] = mx.sym.BatchNorm(mx.sym.Variable("d"), name="bn")
    with pytest.raises(error) as found:
        eval(expression, names)
    assert str(found.value)


def test_shared_and_reshaped() -> None:
    executor = bound()
    smaller = executor.reshape(a=(1, 3), b=(1, 3))
    executor.arg_dict["a"][:] = 4
    assert smaller.forward()[0].asnumpy().tolist() == [[5, 5, 5]]
    larger = executor.reshape(a=(3, 3), b=(3, 3), allow_up_sizing=True)
    assert larger.forward(a=np.ones((3, 3)))[0].shape == (3, 3)


def test_training_forward_where_it_is_the_same() -> None:
    executor = network().simple_bind(mx.cpu(), data=(2, 4))
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), 1 / 3, rtol=1e-6)


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    if mx.num_gpus():
        pytest.skip("there is a GPU")
    with pytest.raises(mx.MXNetError, match=r"gpu\(0\) was asked for, but there are 0 GPUs"):
        network().simple_bind(mx.gpu(0), data=(2, 4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_dtypes(dtype: str) -> None:
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    held = mx.nd.array([[1, 2], [3, 4]], dtype=dtype)
    found = (a * b + a).eval(a=held, b=held)[0]
    assert found.dtype is held.dtype
    assert found.asnumpy().astype("float32").tolist() == [[2, 6], [12, 20]]


@pytest.mark.live
def test_live_mxnet_gives_the_same(mxnet: ModuleType) -> None:
    values = np.random.default_rng(5).normal(size=(2, 3, 8, 8)).astype("float32")
    found = []
    for frame in (mx, mxnet):
        data = frame.sym.Variable("data")
        net = frame.sym.Convolution(data, num_filter=4, kernel=(3, 3), name="c")
        net = frame.sym.Activation(frame.sym.BatchNorm(net, name="b", fix_gamma=False), act_type="relu")
        net = frame.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", pooling_convention="full")
        executor = net.simple_bind(frame.cpu(), data=values.shape)
        for place, held in enumerate([*executor.arg_arrays[1:], *executor.aux_arrays]):
            held[:] = np.random.default_rng(place).uniform(0.5, 1, held.shape)
        found.append(executor.forward(data=frame.nd.array(values))[0].asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)


def test_networks_draw_other_numbers_each_time_and_seeds_repeat_them() -> None:
    symbol = mx.sym.random.uniform(shape=(2, 3)) + mx.sym.Variable("a")
    held = mx.nd.zeros((2, 3))
    drawn = []
    for _ in range(2):
        mx.random.seed(5)
        executor = symbol.bind(mx.cpu(), {"a": held})
        drawn += [executor.forward()[0].asnumpy() for _ in range(2)]
        drawn.append(symbol.eval(a=held)[0].asnumpy())
    for one, other in zip(drawn[:3], drawn[3:], strict=True):
        np.testing.assert_array_equal(one, other)
    assert len({held.tobytes() for held in drawn[:3]}) == 3
    assert mx.nd.random_uniform(shape=(3,)).asnumpy().tolist() != mx.nd.uniform(shape=(3,)).asnumpy().tolist()


def test_what_cannot_be_converted_is_named() -> None:
    symbol = mx.sym.Custom(mx.sym.Variable("a"), op_type="mine", name="own")
    with pytest.raises(GraphirError, match="own"):
        symbol.simple_bind(mx.cpu(), a=(2, 3)).forward()
