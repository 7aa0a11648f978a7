"""`mx.mod`, `mx.io`, `mx.metric`, `mx.init` and `mx.model.FeedForward`, beside live MXNet's."""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.errors import FormatError

Batch = namedtuple("Batch", ["data"])


def network(frame: Any = mx) -> Any:
    data = frame.sym.Variable("data")
    return frame.sym.SoftmaxOutput(frame.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax")


def module(frame: Any = mx, **kwargs: Any) -> Any:
    made = frame.mod.Module(network(frame), **kwargs)
    made.bind(data_shapes=[("data", (2, 4))], label_shapes=[("softmax_label", (2,))], for_training=False)
    weight = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    made.set_params({"fc_weight": frame.nd.array(weight), "fc_bias": frame.nd.ones((3,))}, {})
    return made


VALUES = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
LABELS = np.array([0, 1, 2, 0, 1], "float32")


def shown(value: Any) -> Any:
    """Arrays, and what holds them, as numbers in lists."""
    if hasattr(value, "asnumpy"):
        return value.asnumpy().astype("float64").tolist()
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value, "float64").tolist()
    if isinstance(value, list | tuple):
        return [shown(held) for held in value]
    if isinstance(value, dict):
        return {key: shown(held) for key, held in value.items()}
    return value


def is_close(found: Any, wanted: Any) -> bool:
    """Whether two shown values are the same, numbers within float32's rounding."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(is_close(found[key], wanted[key]) for key in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(is_close(one, other) for one, other in zip(found, wanted, strict=True))
    is_number = isinstance(found, float) and isinstance(wanted, float)
    return found == pytest.approx(wanted, rel=1e-5, abs=1e-7) if is_number else bool(found == wanted)


MODULES = """
m.predict(X(V, batch_size=2))
m.predict(X(V, batch_size=2), num_batch=1)
m.predict(X(V, batch_size=2), merge_batches=False)
m.predict(X(V, batch_size=2), always_output_list=True)
m.predict(V[:2])
m.score(X(V, L, batch_size=2), 'acc')
m.score(X(V, L, batch_size=2), ['acc', 'ce', frame.metric.TopKAccuracy(2)])
m.score(X(V, L, batch_size=2), frame.metric.Perplexity(0), num_batch=2)
[(i, [o.asnumpy() for o in out], b.pad) for out, i, b in m.iter_predict(X(V, batch_size=2))]
m.get_params()
m.output_shapes
m.output_names
m.data_names + m.label_names
[tuple(d) for d in m.data_shapes + m.label_shapes]
(m.binded, m.for_training, m.params_initialized)
m.forward(B([nd.ones((2, 4))], [nd.ones((2,))])) or m.get_outputs()
m.forward(B([nd.ones((4, 4))], [nd.ones((4,))])) or m.get_outputs()
m.bind([('data', (1, 1))])
m.set_params({'fc_weight': nd.ones((3, 4)), 'fc_bias': nd.ones(3), 'zz': nd.ones(1)}, {})
m.init_params(frame.init.One(), force_init=True) or m.get_params()
f.predict(V)
f.predict(X(V, batch_size=2), num_batch=2)
f.predict(X(V, L, batch_size=2), return_data=True)
f.score(X(V, L, batch_size=2))
""".strip().splitlines()


def names_for(frame: Any) -> dict[str, Any]:
    weight = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    params = {"fc_weight": frame.nd.array(weight), "fc_bias": frame.nd.ones((3,))}
    feed = frame.model.FeedForward(network(frame), arg_params=params, aux_params={}, numpy_batch_size=2)
    held = {"m": module(frame), "f": feed, "V": VALUES, "L": LABELS, "nd": frame.nd, "frame": frame, "np": np}
    return held | {"X": frame.io.NDArrayIter, "B": frame.io.DataBatch}


@pytest.mark.live
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", MODULES)
def test_modules_answer_as_live_mxnet(expression: str, mxnet: ModuleType) -> None:
    ours, theirs = (shown(eval(expression, names_for(frame))) for frame in (mx, mxnet))
    assert is_close(ours, theirs)


def epochs(frame: Any, count: int, size: int, handle: str, shuffle: bool) -> list[Any]:
    np.random.seed(7)
    rows = np.arange(count * 2).reshape(count, 2)
    made = frame.io.NDArrayIter(rows, rows[:, 0], size, shuffle, handle)
    found = []
    for _ in range(3):
        found.append([(shown(batch.data), shown(batch.label), batch.pad, batch.index) for batch in made])
        made.reset()
    made.hard_reset()
    return [*found, [shown(batch.data) for batch in made], [tuple(held) for held in made.provide_data]]


@pytest.mark.live
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize(("count", "size"), [(5, 2), (6, 3), (7, 4)])
def test_batches_are_live_mxnets(count: int, size: int, handle: str, shuffle: bool, mxnet: ModuleType) -> None:
    assert epochs(mx, count, size, handle, shuffle) == epochs(mxnet, count, size, handle, shuffle)


METRICS = """
'acc' L P
'ce' L P
'nll_loss' L P
'loss' L P
['acc','ce'] L P
M.TopKAccuracy(2) L P3
M.Perplexity(None) L P
M.Perplexity(0) L P
M.Accuracy(axis=1,name='z') L P
'acc' L L
'mse' R Q
'mae' R Q
'rmse' R Q
'mse' R R
M.np(lambda label,pred:3.0) L P
M.CustomMetric(lambda label,pred:(float(pred.sum()),2)) L P
""".strip().splitlines()


@pytest.mark.live
@pytest.mark.parametrize("row", METRICS)
def test_metrics_are_live_mxnets(row: str, mxnet: ModuleType) -> None:
    metric, label, prediction = row.rsplit(maxsplit=2)
    found = []
    for frame in (mx, mxnet):
        arrays = {
            "P": [[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]],
            "P3": [[0.3, 0.7, 0], [0.6, 0.4, 0], [0.2, 0.1, 0.8]],
            "L": [0, 0, 1],
            "R": [1, 2, 3],
            "Q": [[1], [2], [5]],
        }
        held = {name: [frame.nd.array(values)] for name, values in arrays.items()}
        made = frame.metric.create(eval(metric, {"M": frame.metric}))
        before = made.get_name_value()
        made.update(held[label], held[prediction])
        made.update(held[label], held[prediction])
        found.append((str(before), dict(made.get_name_value())))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-6)


INITIALIZERS = """
One() fc_weight (2,2)
One() fc_bias (2,)
Zero() bn_gamma (2,)
Constant(3) x_beta (2,)
Constant(3) any_weight (2,3)
Xavier() a_bias (2,)
Bilinear() b_weight (1,1,4,4)
Bilinear() b_weight (2,1,3,5)
LSTMBias(2.0) x_weight (8,)
Mixed(['.*bias','.*'],[Zero(),One()]) x_weight (2,)
""".strip().splitlines()


@pytest.mark.live
@pytest.mark.parametrize("row", INITIALIZERS)
def test_initializers_are_live_mxnets(row: str, mxnet: ModuleType) -> None:
    made, name, shape = row.rsplit(maxsplit=2)
    found = []
    for frame in (mx, mxnet):
        array = frame.nd.full(eval(shape), 9)
        eval(made, vars(frame.init) if frame is mxnet else dict(vars(frame.init)))(frame.init.InitDesc(name), array)
        found.append(shown(array))
    assert found[0] == found[1]


DUMPED = ["Xavier()", "Constant(3)", "Uniform()", "Normal(0.1)", "MSRAPrelu()", "Zero()", "LSTMBias()", "Orthogonal()"]


@pytest.mark.live
@pytest.mark.parametrize("made", DUMPED)
def test_initializers_texts_are_live_mxnets(made: str, mxnet: ModuleType) -> None:
    assert eval(made, dict(vars(mx.init))).dumps() == eval(made, dict(vars(mxnet.init))).dumps()


@pytest.mark.parametrize(
    ("made", "spread"),
    [
        ("Xavier()", np.sqrt(3 / 250 / 3)),
        ("Xavier('gaussian', 'in', 2)", np.sqrt(2 / 300)),
        ("MSRAPrelu()", np.sqrt(2 / (1 + 0.25**2) / 250)),
        ("Uniform(0.3)", 0.3 / np.sqrt(3)),
        ("Normal(0.2)", 0.2),
        ("Orthogonal(1.0)", np.sqrt(1 / 300)),
    ],
)
def test_random_initializers_are_spread_as_said_and_repeatable(made: str, spread: float) -> None:
    arrays = []
    for _ in range(2):
        mx.random.seed(3)
        array = mx.nd.zeros((200, 300))
        eval(made, dict(vars(mx.init)))("a_weight", array)
        arrays.append(array.asnumpy())
    np.testing.assert_array_equal(*arrays)
    assert abs(arrays[0].mean()) < 0.01 * max(spread, 0.1) * 5
    np.testing.assert_allclose(arrays[0].std(), spread, rtol=0.02)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("M(net, data_names=['x'])", ValueError),
        ("M(net).bind([('x', (2, 4))])", ValueError),
        ("M(net).forward(B([nd.ones((2, 4))]))", AssertionError),
        ("M(net).get_params()", AssertionError),
        ("M(net).init_params()", AssertionError),
        ("m.set_params({}, {})", RuntimeError),
        ("m.set_params({'zz': nd.ones(1)}, {}, allow_missing=True)", ValueError),
        ("m.set_params({'fc_weight': nd.ones((3, 3)), 'fc_bias': nd.ones(3)}, {})", mx.MXNetError),
        ("m.forward(B([nd.ones((2, 5))]))", mx.MXNetError),
        ("m.forward([nd.ones((2, 4))])", AttributeError),
        ("m.predict(5)", ValueError),
        ("M(net, context=['cpu'])", TypeError),
        ("mx.metric.create('nosuch')", AssertionError),
        ("mx.metric.TopKAccuracy(1)", AssertionError),
        ("mx.metric.create('acc').update([nd.ones(2)], [nd.ones((1, 2))])", ValueError),
        ("mx.init.create('nosuch')", AssertionError),
        ("mx.init.One()('fc_moving_mean', nd.ones(1))", ValueError),
        ("mx.init.Xavier()('a_weight', nd.ones(1))", ValueError),
        ("mx.io.NDArrayIter(5)", TypeError),
        ("mx.io.NDArrayIter([])", AssertionError),
        ("mx.io.DataBatch(nd.ones(1))", AssertionError),
        ("mx.model.FeedForward(net).predict(np.ones((2, 4)))", AssertionError),
    ],
)
def test_refused_with_mxnets_kind(expression: str, error: type[Exception]) -> None:
    held = {"M": mx.mod.Module, "net": network(), "m": module(), "nd": mx.nd, "mx": mx, "np": np, "B": mx.io.DataBatch}
    with pytest.raises(error) as found:
        eval(expression, held)
    assert str(found.value)


TRAINING = """
m.fit(None)
m.backward()
m.update()
m.forward_backward(None)
m.init_optimizer()
m.get_input_grads()
mx.optimizer.SGD()
mx.kv.create('local')
mx.autograd.record()
mx.autograd.backward([])
mx.autograd.pause(train_mode=True)
mx.gluon.Trainer({}, 'sgd')
mx.callback.do_checkpoint('x')
mx.lr_scheduler.FactorScheduler(1)
mx.model.FeedForward(net).fit(None)
mx.model.FeedForward.create(net)
mx.mod.Module.load('x', 0, load_optimizer_states=True)
""".strip().splitlines()


@pytest.mark.parametrize("expression", TRAINING)
def test_training_is_one_error_that_names_what_to_do(expression: str) -> None:
    with pytest.raises(mx.TrainingError, match=r"is not here.*mx\.onnx\.export_model"):
        eval(expression, {"m": module(), "mx": mx, "net": network()})
    assert issubclass(mx.TrainingError, NotImplementedError)
    assert (mx.autograd.is_training(), mx.autograd.is_recording()) == (False, False)
    with mx.autograd.predict_mode(), mx.autograd.pause():
        assert not hasattr(mx.autograd, "nothing")
    assert issubclass(type("Own", (mx.optimizer.SGD,), {}), mx.optimizer.SGD)
    assert not hasattr(mx.optimizer, "Nothing")


@pytest.mark.parametrize("name", ["ImageDetRecordIter", "ImageRecordInt8Iter"])
def test_other_iterators_of_files_name_the_one_of_records(name: str) -> None:
    with pytest.raises(mx.TrainingError, match=rf"mx\.io\.{name} is not here: mx.io.ImageRecordIter reads"):
        getattr(mx.io, name)
    assert not hasattr(mx.io, name)


def test_a_name_that_mxnet_does_not_have_names_those_that_are_here() -> None:
    with pytest.raises(AttributeError, match=r"mx\.io\.Nothing is not here; there are DataBatch.*NDArrayIter"):
        _ = mx.io.Nothing


def test_checkpoints_come_back(tmp_path: Path) -> None:
    made = module()
    prefix = str(tmp_path / "m")
    made.save_checkpoint(prefix, 3)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m-0003.params", "m-symbol.json"]
    loaded = mx.mod.Module.load(prefix, 3)
    assert shown(loaded.get_params()) == shown(made.get_params())
    loaded.bind([("data", (2, 4))], for_training=False)
    batch = Batch([mx.nd.array(VALUES[:2])])
    loaded.forward(batch)
    made.forward(batch)
    assert shown(loaded.get_outputs()) == shown(made.get_outputs())
    again = mx.model.FeedForward.load(prefix, 3)
    assert shown(again.predict(VALUES[:2])) == shown(loaded.get_outputs()[0])
    again.save(prefix, 4)
    made.load_params(f"{prefix}-0004.params")
    with pytest.raises(FormatError):
        made.load_params(f"{prefix}-0009.params")


def test_a_network_that_was_cut_off_takes_the_parameters_of_the_whole() -> None:
    whole = module()
    cut = whole.symbol.get_internals()["fc_output"]
    made = mx.mod.Module(cut, label_names=None)
    made.bind([("data", (2, 4))], for_training=False)
    arguments, states = whole.get_params()
    made.set_params({**arguments, "other_weight": mx.nd.ones((1,))}, states)
    found = made.predict(VALUES[:2])
    weight = arguments["fc_weight"].asnumpy()
    np.testing.assert_allclose(found.asnumpy(), VALUES[:2] @ weight.T + 1, rtol=1e-5, atol=1e-6)


def test_buckets_share_parameters() -> None:
    def sym_gen(length: int) -> Any:
        data = mx.sym.Variable("data")
        summed = mx.sym.sum(data, axis=1)
        return mx.sym.FullyConnected(summed, num_hidden=2, name="fc"), ("data",), ()

    made = mx.mod.BucketingModule(sym_gen, default_bucket_key=4)
    made.bind([("data", (1, 4, 3))], for_training=False)
    made.init_params(mx.init.One())
    for length in (4, 2, 4, 3):
        made.forward(mx.io.DataBatch([mx.nd.ones((1, length, 3))], bucket_key=length))
        assert shown(made.get_outputs()[0]) == [[3.0 * length] * 2]
    made.set_params({"fc_weight": mx.nd.zeros((2, 3)), "fc_bias": mx.nd.ones((2,))}, {})
    made.forward(mx.io.DataBatch([mx.nd.ones((1, 2, 3))], bucket_key=2))
    assert shown(made.get_outputs()[0]) == [[1, 1]]
    with pytest.raises(mx.TrainingError):
        made.fit(None)


def test_modules_behind_each_other() -> None:
    made = mx.mod.SequentialModule()
    for name in ("a", "b"):
        symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name=name)
        made.add(mx.mod.Module(symbol, label_names=None), auto_wiring=True)
    made.bind([("data", (1, 3))], for_training=False)
    made.init_params(mx.init.One())
    made.forward(mx.io.DataBatch([mx.nd.ones((1, 3))]))
    assert shown(made.get_outputs()) == [[[6, 6]]]
    assert sorted(made.get_params()[0]) == ["a_bias", "a_weight", "b_bias", "b_weight"]
    with pytest.raises(AssertionError, match="there is no option"):
        made.add(made, take_label=True)


def test_digits_are_told_apart_as_mxnet_did() -> None:
    """The checkpoint of the repository on its test pictures, by a Module and by a block: MXNet's accuracy."""
    folder = Path(__file__).resolve().parents[4] / "models" / "digits"
    facts = json.loads((folder / "accuracy.json").read_text())
    held = np.load(folder / "digits-test.npz")
    rows = mx.io.NDArrayIter(held["data"], held["label"], batch_size=32)
    made = mx.mod.Module.load(str(folder / "digits"), 20)
    made.bind(rows.provide_data, rows.provide_label, for_training=False)
    found = made.predict(rows).asnumpy().argmax(1)
    assert (found == held["label"]).mean() == pytest.approx(facts["accuracy"])
    block = mx.gluon.SymbolBlock.imports(
        folder / "gluon" / "digits-symbol.json", "data", folder / "gluon" / "digits-0000.params"
    )
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array(held["label"])], [block(mx.nd.array(held["data"]))])
    assert metric.get()[1] == pytest.approx(facts["gluon_accuracy"])
