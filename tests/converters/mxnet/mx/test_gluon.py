"""`mx.gluon`: what blocks compose, compute, save and export, beside live MXNet's."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx
from graphir.errors import FormatError
from tests.equivalence.live import LivePair

# A layer and the shape of its data, "ids" for integers [2, 6]; one a line.
LAYERS = """
nn.Dense(3) | (2, 4)
nn.Dense(3, activation='relu', use_bias=False, flatten=False) | (2, 5, 4)
nn.Conv1D(3, 2) | (2, 4, 9)
nn.Conv2D(4, (3, 2), strides=2, padding=1, dilation=2, groups=2, activation='tanh') | (2, 4, 9, 9)
nn.Conv3D(4, 3, use_bias=False) | (1, 2, 5, 6, 7)
nn.Conv1DTranspose(3, 2) | (2, 4, 9)
nn.Conv2DTranspose(4, 3, strides=2, padding=1, output_padding=1, in_channels=2, groups=2) | (2, 2, 5, 5)
nn.BatchNorm() | (2, 3, 4, 4)
nn.BatchNorm(axis=2, scale=False, epsilon=1e-3) | (2, 3, 4)
nn.BatchNorm(axis=3, momentum=.8, center=False, use_global_stats=True, in_channels=5) | (2, 3, 4, 5)
nn.LayerNorm() | (2, 3, 4)
nn.BatchNormReLU() | (2, 3, 4, 4)
nn.GroupNorm(2) | (2, 4, 3, 3)
nn.InstanceNorm() | (2, 3, 4, 4)
nn.InstanceNorm(axis=2) | (2, 3, 4, 4)
nn.MaxPool1D() | (2, 3, 9)
nn.MaxPool2D((3, 2), 2, 1, ceil_mode=True) | (2, 3, 8, 9)
nn.MaxPool3D() | (1, 2, 5, 6, 7)
nn.AvgPool1D() | (2, 3, 9)
nn.AvgPool2D(3, strides=2, padding=1, count_include_pad=False) | (2, 3, 8, 8)
nn.AvgPool3D() | (1, 2, 5, 6, 7)
nn.GlobalMaxPool1D() | (2, 3, 5)
nn.GlobalMaxPool2D() | (2, 3, 5, 4)
nn.GlobalMaxPool3D() | (2, 3, 5, 4, 3)
nn.GlobalAvgPool1D() | (2, 3, 5)
nn.GlobalAvgPool2D() | (2, 3, 5, 4)
nn.GlobalAvgPool3D() | (2, 3, 5, 4, 3)
nn.ReflectionPad2D(2) | (2, 3, 5, 5)
nn.Activation('softsign') | (2, 3)
nn.LeakyReLU(.2) | (2, 3)
nn.PReLU() | (2, 3, 4)
nn.ELU() | (2, 3)
nn.SELU() | (2, 3)
nn.GELU() | (2, 3)
nn.Swish() | (2, 3)
nn.Swish(2) | (2, 3)
nn.Dropout(.3) | (2, 3)
nn.Dropout(0) | (2, 3)
nn.Dropout(.3, axes=(1,)) | (2, 3)
nn.Flatten() | (2, 3, 4)
nn.Embedding(5, 3) | ids
nn.HybridLambda('relu') | (2, 3)
nn.HybridLambda(lambda F, x: F.relu(x) + 1) | (2, 3)
rnn.RNN(3) | (5, 2, 4)
rnn.RNN(3, activation='tanh', num_layers=2) | (5, 2, 4)
rnn.LSTM(3, input_size=4) | (5, 2, 4)
rnn.LSTM(3, 2, bidirectional=True, layout='NTC', dropout=.5) | (2, 5, 4)
rnn.GRU(3) | (5, 2, 4)
rnn.GRU(3, bidirectional=True) | (5, 2, 4)
sequential() | (2, 3, 8, 8)
recurrent() | ids
Cells() | (2, 5, 4)
Branches() | (2, 3)
""".strip().splitlines()

# These compose, but MXNet's own CPU build computes none of them.
COMPOSED_ONLY = """
nn.Conv3DTranspose(4, 3)
nn.Conv2D(4, 3, layout='NHWC')
nn.GlobalAvgPool2D(layout='NHWC')
nn.BatchNorm(in_channels=5, prefix='own_')
""".strip().splitlines()


def names_for(frame: Any) -> dict[str, Any]:
    """What the rows may name: MXNet's modules, and networks made of several layers."""
    nn, rnn = frame.gluon.nn, frame.gluon.rnn

    def sequential() -> Any:
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D())
            net.add(nn.Flatten(), nn.Dropout(0.5), nn.Dense(5))
        return net

    def recurrent() -> Any:
        net = nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(nn.Embedding(5, 4), rnn.GRU(3, layout="NTC"), nn.Dense(2))
        return net

    class Cells(frame.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.cell = rnn.LSTMCell(3)
                self.out = nn.Dense(2)
                self.scale = self.params.get("scale", shape=(1,), init="ones")

        def hybrid_forward(self, F: Any, x: Any, scale: Any) -> Any:
            outputs, states = self.cell.unroll(5, x, layout="NTC", merge_outputs=False)
            return self.out(F.broadcast_mul(outputs[-1] + states[1], scale)), F.relu(outputs[0])

    class Branches(frame.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.left = nn.Dense(4, in_units=3)
                self.right = nn.Dense(4, in_units=3, params=self.left.params)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.concat(self.left(x), self.right(-x), dim=1)

    return {"nn": nn, "rnn": rnn, "sequential": sequential, "recurrent": recurrent, "Cells": Cells,
            "Branches": Branches, "gluon": frame.gluon}  # fmt: skip


def data_for(text: str) -> Any:
    draw = np.random.default_rng(4)
    return draw.integers(0, 5, (2, 6)).astype("float32") if text == "ids" else draw.normal(size=eval(text)).astype("f4")


def filled(block: Any, frame: Any) -> None:
    """Give every parameter of a block that has been called values that its name tells."""
    for name, held in block.collect_params().items():
        draw = np.random.default_rng(len(name))
        held.set_data(frame.nd.array(draw.uniform(0.1, 1, held.shape)))


def flat(found: Any) -> list[np.ndarray[Any, Any]]:
    return [held.asnumpy() for held in (found if isinstance(found, list | tuple) else [found])]


def exported(row: str, folder: Path) -> tuple[Any, list[np.ndarray[Any, Any]], Any]:
    """A layer's block, called, hybridized and exported as `m`; its outputs and data."""
    made, shape = row.split(" | ")
    with mx.name.NameManager():
        block = eval(made, names_for(mx))
    block.initialize()
    data = mx.nd.array(data_for(shape))
    block(data)
    filled(block, mx)
    eager = flat(block(data))
    block.hybridize()
    whole = flat(block(data))
    for one, other in zip(eager, whole, strict=True):  # sums of up to 54 numbers of about 1
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    names = block.export(str(folder / "m"), 7)
    assert [Path(name).name for name in names] == ["m-symbol.json", "m-0007.params"]
    return block, whole, data


@pytest.mark.live
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", LAYERS)
def test_layers_are_live_mxnets(row: str, mxnet: ModuleType, live_pair: LivePair, tmp_path: Path) -> None:
    """The same symbol; and MXNet computes the same with the files that were exported."""
    block, found, data = exported(row, tmp_path)
    with mxnet.name.NameManager():
        theirs = eval(row.split(" | ")[0], names_for(mxnet))
        composed = theirs(mxnet.sym.var("data"))
    with mx.name.NameManager():
        plain = eval(row.split(" | ")[0], names_for(mx))
        ours, shown = plain(mx.sym.var("data")), repr(plain)
    assert shown == repr(theirs)
    pair = [
        frame.sym.Group(list(one)) if isinstance(one, list | tuple) else one
        for frame, one in ((mx, ours), (mxnet, composed))
    ]
    assert pair[0].tojson() == pair[1].tojson()
    written = mxnet.nd.load(str(tmp_path / "m-0007.params"))
    arrays = {name[4:]: held.asnumpy() for name, held in (written.items() if isinstance(written, dict) else ())}
    symbol = mx.sym.load(str(tmp_path / "m-symbol.json"))
    inputs = [name for name in symbol.list_inputs() if name not in arrays]
    arrays[inputs[0]] = data.asnumpy()
    for place, name in enumerate(inputs[1:]):
        arrays[name] = np.zeros(block.state_info(2)[place]["shape"], "float32")
    expected = live_pair.run(symbol.tojson(), arrays)
    for one, other in zip(found, expected.values(), strict=False):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.live
@pytest.mark.parametrize("made", COMPOSED_ONLY)
def test_layers_compose_as_live_mxnets(made: str, mxnet: ModuleType) -> None:
    texts = []
    for frame in (mx, mxnet):
        with frame.name.NameManager():
            texts.append(eval(made, names_for(frame))(frame.sym.var("data")).tojson())
    assert texts[0] == texts[1]


LAYER_CLASSES = [
    pytest.param(room, name, id=f"{room}.{name}")
    for room in ("nn", "rnn")
    for name, kind in sorted(vars(getattr(mx.gluon, room)).items())
    if isinstance(kind, type) and issubclass(kind, mx.gluon.Block) and name not in ("Block", "HybridBlock")
]


def signature_of(kind: Any) -> list[tuple[str, str]]:
    """Names and defaults in order; `prefix` and `params`, which every layer takes, left out."""
    listed = inspect.signature(kind).parameters.values()
    plain = (str, int, float, tuple, type(None))
    return [
        (row.name, str(row.default) if isinstance(row.default, plain) else "an initializer")
        for row in listed
        if row.kind == row.POSITIONAL_OR_KEYWORD and row.name not in ("prefix", "params")
    ]


@pytest.mark.live
@pytest.mark.parametrize(("room", "name"), LAYER_CLASSES)
def test_layers_take_what_live_mxnets_take(room: str, name: str, mxnet: ModuleType) -> None:
    ours, theirs = (signature_of(getattr(getattr(frame.gluon, room), name)) for frame in (mx, mxnet))
    assert ours == theirs


def test_arguments_that_a_layer_does_not_take_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Conv2D: missing a required argument: 'kernel_size'"):
        mx.gluon.nn.Conv2D(3)
    with pytest.raises(TypeError, match=r"Dense: got an unexpected keyword argument 'unit'"):
        mx.gluon.nn.Dense(3, unit=3)


# What is unrolled, and how: composed from `data`, with the cell as `c`.
UNROLLED = """
rnn.RNNCell(3, input_size=4) | c.unroll(2, d, layout='NTC', merge_outputs=True)
rnn.RNNCell(3, activation='relu') | c.unroll(2, [d, d], merge_outputs=None)
rnn.LSTMCell(3) | c.unroll(2, d, layout='TNC', merge_outputs=False)
rnn.LSTMCell(3) | c(d, c.begin_state(func=sym.var))
rnn.LSTMCell(3) | c.unroll(2, d, layout='NTC', merge_outputs=True, valid_length=sym.var('len'))
rnn.GRUCell(3) | c.unroll(3, d, layout='NTC', merge_outputs=True)
rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(3)) | c.unroll(2, d, layout='NTC', merge_outputs=True)
rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3)) | c.unroll(2, d, merge_outputs=False)
rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3)) | c.unroll(2, d, merge_outputs=True, valid_length=sym.var('len'))
rnn.ZoneoutCell(rnn.RNNCell(3), .1, .2) | c.unroll(2, d, merge_outputs=True)
rnn.ResidualCell(rnn.GRUCell(4)) | c.unroll(2, d, merge_outputs=True)
rnn.ResidualCell(rnn.GRUCell(4)) | c.unroll(2, d, merge_outputs=False)
stack(rnn.SequentialRNNCell()) | c.unroll(2, d, layout='NTC', merge_outputs=True)
stack(rnn.HybridSequentialRNNCell()) | c.unroll(2, d, layout='TNC', merge_outputs=False)
stack(rnn.HybridSequentialRNNCell()) | c(d, c.begin_state(func=sym.var))
rnn.LSTM(3) | c(d, [sym.var('h'), sym.var('c')])
""".strip().splitlines()


def stacked(frame: Any) -> Any:
    rnn = frame.gluon.rnn

    def stack(cells: Any) -> Any:
        with cells.name_scope():
            cells.add(rnn.LSTMCell(3))
            cells.add(rnn.DropoutCell(0.5))
            cells.add(rnn.ResidualCell(rnn.GRUCell(3)))
        return cells

    return stack


@pytest.mark.live
@pytest.mark.parametrize("row", UNROLLED)
def test_cells_unroll_as_live_mxnets(row: str, mxnet: ModuleType) -> None:
    texts = []
    for frame in (mx, mxnet):
        with frame.name.NameManager():
            made, how = row.split(" | ")
            cell = eval(made, names_for(frame) | {"stack": stacked(frame)})
            found = eval(how, {"c": cell, "d": frame.sym.var("data"), "sym": frame.sym})
            parts: list[Any] = []
            for held in found:
                parts += held if isinstance(held, list | tuple) else [held]
            texts.append((frame.sym.Group(parts).tojson(), repr(cell), cell.state_info(2)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("row", ["rnn.LSTMCell(3)", "rnn.GRUCell(3)", "rnn.RNNCell(3)"])
def test_cells_compute_what_layers_do(row: str) -> None:
    """A cell step by step, unrolled as a symbol, and the layer of its kind with the same weights."""
    kind = row.removeprefix("rnn.").removesuffix("Cell(3)")
    layer = getattr(mx.gluon.rnn, kind)(3, layout="NTC", **({"activation": "tanh"} if kind == "RNN" else {}))
    cell = eval(row, names_for(mx))
    data = mx.nd.array(data_for("(2, 5, 4)"))
    for block in (layer, cell):
        block.initialize()
    expected = layer(data)
    cell.unroll(5, data, layout="NTC", merge_outputs=True)
    for name, held in cell._reg_params.items():
        held.set_data(getattr(layer, f"l0_{name}").data())
    outputs, states = cell.unroll(5, data, layout="NTC", merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[0].asnumpy(), expected.asnumpy()[:, -1], rtol=1e-5, atol=1e-6)


CHECKPOINTS = ["gluoncv-cifar-resnet20-v1", "gluoncv-cifar-resnet20-v2", "mtcnn-det2-rnet", "toy-lenet-miraclewkf"]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_symbol_blocks_give_mxnets_outputs(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "models" / "mxnet" / name
    golden = np.load(folder / "golden.npz")
    feeds = {key.split(":")[-1]: mx.nd.array(golden[key]) for key in golden if "input:" in key}
    block = mx.gluon.SymbolBlock.imports(
        folder / "model-symbol.json", list(feeds), folder / "model-0000.params", ignore_extra=True
    )
    found = flat(block(*feeds.values()))
    wanted = [golden[key] for key in golden if key.startswith("output:")]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    block.export(str(tmp_path / "again"))
    again = mx.gluon.SymbolBlock.imports(tmp_path / "again-symbol.json", list(feeds), tmp_path / "again-0000.params")
    for one, other in zip(flat(again(*feeds.values())), found, strict=True):
        np.testing.assert_array_equal(one, other)
    composed = block(*(mx.sym.var(f"my_{key}") for key in feeds))
    listed = composed.list_arguments() if isinstance(composed, mx.sym.Symbol) else composed[0].list_arguments()
    assert f"my_{next(iter(feeds))}" in listed


def test_parameters_are_saved_and_loaded(tmp_path: Path) -> None:
    first, second = (names_for(mx)["sequential"]() for _ in range(2))
    data = mx.nd.array(data_for("(2, 3, 8, 8)"))
    for net in (first, second):
        net.initialize(mx.init.Xavier())
        net(data)
    filled(first, mx)
    first.save_parameters(str(tmp_path / "p"))
    assert sorted(mx.nd.load(tmp_path / "p"))[:2] == ["0.bias", "0.weight"]
    second.load_parameters(str(tmp_path / "p"))
    np.testing.assert_array_equal(first(data).asnumpy(), second(data).asnumpy())
    fresh = names_for(mx)["sequential"]()
    fresh.load_parameters(str(tmp_path / "p"), ctx=mx.cpu())
    np.testing.assert_array_equal(first(data).asnumpy(), fresh(data).asnumpy())
    first.collect_params().save(str(tmp_path / "q"), strip_prefix=first.prefix)
    second.collect_params().load(str(tmp_path / "q"), restore_prefix=second.prefix)
    np.testing.assert_array_equal(first(data).asnumpy(), second(data).asnumpy())


def test_weights_that_are_written_are_seen() -> None:
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    net.hybridize()
    data = mx.nd.ones((1, 3))
    for scale in (1, 2, 3, 4):
        net.weight.set_data(mx.nd.ones((2, 3)) * scale)
        assert net(data).asnumpy().tolist() == [[3.0 * scale] * 2]
    net.weight.data()[0] = 0
    assert net(data).asnumpy().tolist() == [[0, 12]]
    assert net(mx.nd.ones((2, 3))).shape == (2, 2)


def test_blocks_that_are_not_hybrid_and_hooks() -> None:
    nn = mx.gluon.nn

    class Own(nn.Block):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.fc = nn.Dense(2)
                self.more = nn.Sequential()
                self.more.add(nn.Lambda("relu"), nn.Lambda(lambda x: x * 2))

        def forward(self, x: Any) -> Any:
            return self.more(self.fc(x)) + float(x.shape[0])

    net = Own()
    net.initialize(mx.init.One())
    seen: list[str] = []
    net.fc.register_forward_hook(lambda block, args, found: seen.append(block.name))
    assert net(mx.nd.ones((2, 3))).asnumpy().tolist() == [[8, 8], [8, 8]]
    assert seen == [net.fc.name]
    assert [name.removeprefix(net.prefix) for name in net.collect_params()] == ["dense0_weight", "dense0_bias"]
    assert list(net.collect_params(".*weight")) == [f"{net.prefix}dense0_weight"]


@pytest.mark.parametrize(
    ("expression", "error", "text"),
    [
        ("nn.Dense(2)(mx.nd.ones((1, 2)))", RuntimeError, "has no values"),
        ("ready(nn.Dense(2)).weight.data()", mx.MXNetError, "deferred"),
        ("nn.Dense(2).export('x')", RuntimeError, "hybridize"),
        ("nn.HybridSequential().add(nn.Lambda('relu'))", ValueError, "HybridBlock"),
        ("nn.LeakyReLU(-1)", AssertionError, "expected 0 or more"),
        ("nn.Conv2D(2, (1, 2, 3))", AssertionError, "kernel_size"),
        ("nn.Conv2D(2, 1, layout='NCW')", AssertionError, "layout"),
        ("nn.Dense(2)(5)", ValueError, "NDArray or a Symbol"),
        ("nn.Lambda('nosuch')", AssertionError, "nosuch"),
        ("mx.gluon.Trainer({})", mx.TrainingError, "does not train|do not train|not train"),
        ("mx.gluon.nosuch", AttributeError, "nosuch"),
        ("mx.gluon.SymbolBlock.imports('nosuch.json', ['data'])", FormatError, "nosuch"),
        ("ready(nn.Dense(2, in_units=3)).weight.set_data(mx.nd.ones((2, 2)))", AssertionError, "does not fit"),
        ("ready(nn.Dense(2, in_units=3)).weight.grad()", mx.TrainingError, "grad"),
        ("mx.gluon.Parameter('a', shape=(0,)).initialize()", ValueError, "invalid shape"),
        ("rnn.LSTM(3, layout='CNT')", AssertionError, "layout"),
        ("rnn.BidirectionalCell(rnn.RNNCell(2), rnn.RNNCell(2))(1, 2)", NotImplementedError, "unroll"),
    ],
)
def test_refused_with_mxnets_kind(expression: str, error: type[Exception], text: str) -> None:
    def ready(block: Any) -> Any:
        block.initialize()
        return block

    with pytest.raises(error, match=text):
        eval(expression, names_for(mx) | {"mx": mx, "ready": ready})


@pytest.mark.parametrize(
    ("saved", "error", "text"),
    [
        ({"0.weight": (2, 3)}, AssertionError, "has no Parameter '0.bias'"),
        ({"0.weight": (2, 3), "0.bias": (2,), "1.weight": (1,)}, ValueError, "has '1.weight', which this"),
        ({"0.weight": (2, 4), "0.bias": (2,)}, AssertionError, "has the shape"),
        ({"other_weight": (2, 3)}, AssertionError, "has no "),
    ],
)
def test_files_that_do_not_fit(
    saved: dict[str, tuple[int, ...]], error: type[Exception], text: str, tmp_path: Path
) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, in_units=3))
    mx.nd.save(tmp_path / "p", {name: mx.nd.ones(shape) for name, shape in saved.items()})
    with pytest.raises(error, match=text):
        net.load_parameters(str(tmp_path / "p"))


@pytest.mark.live
@pytest.mark.parametrize(
    "call",
    [
        "utils.split_data(nd.array(rows), 3, even_split=False)",
        "utils.split_data(nd.array(rows), 2, batch_axis=1)",
        "utils.split_and_load(nd.array(rows), [cpu(0)])",
        "utils.split_and_load(rows, [cpu(0), cpu(1)], batch_axis=1)",
    ],
)
def test_parts_of_batches_are_live_mxnets(call: str, mxnet: ModuleType) -> None:
    rows = np.arange(20).reshape(5, 4)
    found = []
    for frame in (mx, mxnet):
        parts = eval(call, {"utils": frame.gluon.utils, "nd": frame.nd, "cpu": frame.cpu, "rows": rows})
        found.append([(part.asnumpy().tolist(), str(part.context)) for part in parts])
    assert found[0] == found[1]
    with pytest.raises(ValueError, match="evenly"):
        mx.gluon.utils.split_data(mx.nd.array(rows), 3)
