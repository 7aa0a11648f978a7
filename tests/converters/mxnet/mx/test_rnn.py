"""`mx.rnn`: cells that compose symbols, against live MXNet 1.9.1 where it is there, and against themselves."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphir.converters.mxnet import mx

Builder = Callable[[Any], Any]


def stacked(m: Any) -> Any:
    stack = m.rnn.SequentialRNNCell()
    stack.add(m.rnn.LSTMCell(4, prefix="a_"))
    stack.add(m.rnn.DropoutCell(0.3))
    stack.add(m.rnn.ResidualCell(m.rnn.GRUCell(4, prefix="b_")))
    stack.add(m.rnn.ZoneoutCell(m.rnn.RNNCell(4, prefix="c_"), 0.2, 0.1))
    return stack


def both_ways(m: Any) -> Any:
    stack = m.rnn.SequentialRNNCell()
    stack.add(m.rnn.BidirectionalCell(m.rnn.LSTMCell(3, prefix="l_"), m.rnn.GRUCell(3, prefix="r_")))
    stack.add(m.rnn.RNNCell(2))
    return stack


def fused_both_ways(m: Any) -> Any:
    cells = (m.rnn.FusedRNNCell(3, mode="gru", prefix=f"{side}_") for side in "lr")
    return m.rnn.BidirectionalCell(*cells, output_prefix="out_")


def mixed_both_ways(m: Any) -> Any:
    return m.rnn.BidirectionalCell(m.rnn.FusedRNNCell(3, mode="gru", prefix="l_"), m.rnn.GRUCell(3, prefix="r_"))


def shared(m: Any) -> Any:
    params = m.rnn.RNNParams("shared_")
    stack = m.rnn.SequentialRNNCell()
    stack.add(m.rnn.LSTMCell(8, prefix="x_", params=params))
    stack.add(m.rnn.LSTMCell(8, prefix="y_", params=params))
    return stack


CELLS: dict[str, Builder] = {
    "rnn": lambda m: m.rnn.RNNCell(4),
    "rnn-relu": lambda m: m.rnn.RNNCell(4, "relu", "p_"),
    "rnn-callable": lambda m: m.rnn.RNNCell(4, m.sym.sin),
    "lstm": lambda m: m.rnn.LSTMCell(4),
    "lstm-forget": lambda m: m.rnn.LSTMCell(4, prefix="p_", forget_bias=2.0),
    "gru": lambda m: m.rnn.GRUCell(num_hidden=4),
    "stacked": stacked,
    "both-ways": both_ways,
    "fused-both-ways": fused_both_ways,
    "mixed-both-ways": mixed_both_ways,
    "shared": shared,
    "zoneout": lambda m: m.rnn.ZoneoutCell(m.rnn.LSTMCell(4), zoneout_outputs=0.5),
    "residual": lambda m: m.rnn.ResidualCell(m.rnn.GRUCell(8)),
    "fused": lambda m: m.rnn.FusedRNNCell(4),
    "fused-states": lambda m: m.rnn.FusedRNNCell(4, 2, "lstm", True, 0.1, get_next_state=True, prefix="f_"),
    "fused-gru-states": lambda m: m.rnn.FusedRNNCell(4, mode="gru", get_next_state=True),
    "fused-relu": lambda m: m.rnn.FusedRNNCell(4, 2, mode="rnn_relu"),
    "unfused": lambda m: m.rnn.FusedRNNCell(4, 2, "lstm", True, 0.1).unfuse(),
    "unfused-gru": lambda m: m.rnn.FusedRNNCell(4, 2, "gru", dropout=0.1).unfuse(),
    "residual-fused": lambda m: m.rnn.ResidualCell(m.rnn.FusedRNNCell(8, mode="rnn_tanh")),
}
CONVOLVED: dict[str, Builder] = {
    "conv-rnn": lambda m: m.rnn.ConvRNNCell((1, 2, 6, 6), 3),
    "conv-lstm": lambda m: m.rnn.ConvLSTMCell((1, 2, 6, 6), 3, h2h_kernel=(5, 3), h2h_dilate=(1, 2)),
    "conv-gru": lambda m: m.rnn.ConvGRUCell((1, 2, 6, 6), 3, activation="tanh", i2h_stride=(2, 2), prefix="g_"),
}


def flat(states: Any) -> list[Any]:
    return [one for state in states for one in flat(state)] if isinstance(states, list) else [states]


def unrolled(m: Any, build: Builder, merge: bool | None, layout: str = "NTC") -> Any:
    """The outputs and states of three steps as one symbol, in a count of names of its own."""
    with m.name.NameManager():
        cell = build(m)
        outputs, states = cell.unroll(3, m.sym.Variable("data"), layout=layout, merge_outputs=merge)
        return m.sym.Group([*(outputs if isinstance(outputs, list) else [outputs]), *flat(states)])


@pytest.mark.live
@pytest.mark.parametrize("merge", [None, True, False])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.filterwarnings("ignore:NTC layout detected")
def test_unrolled_cells_are_mxnets(mxnet: ModuleType, name: str, layout: str, merge: bool | None) -> None:
    ours, theirs = (unrolled(m, CELLS[name], merge, layout) for m in (mx, mxnet))
    assert ours.tojson() == theirs.tojson()
    assert ours.infer_shape(data=(3, 3, 8)) == theirs.infer_shape(data=(3, 3, 8))


@pytest.mark.live
@pytest.mark.parametrize("name", CONVOLVED)
def test_convolved_cells_are_mxnets(mxnet: ModuleType, name: str) -> None:
    def stepped(m: Any) -> Any:
        with m.name.NameManager():
            steps = [m.sym.Variable(f"x{place}") for place in range(2)]
            outputs, states = CONVOLVED[name](m).unroll(2, steps)
            return m.sym.Group([*outputs, *states])

    ours, theirs = stepped(mx), stepped(mxnet)
    assert ours.tojson() == theirs.tojson()
    shapes = {"x0": (2, 2, 6, 6), "x1": (2, 2, 6, 6)}
    assert ours.infer_shape(**shapes) == theirs.infer_shape(**shapes)


@pytest.mark.live
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "unfused-gru"])
def test_steps_from_given_states_are_mxnets(mxnet: ModuleType, name: str) -> None:
    def stepped(m: Any) -> str:
        with m.name.NameManager():
            cell = CELLS[name](m)
            states = cell.begin_state(func=m.sym.Variable)
            for place in range(2):
                output, states = cell(m.sym.Variable(f"x{place}"), states)
            return str(m.sym.Group([output, *states]).tojson())

    assert stepped(mx) == stepped(mxnet)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_operator_and_its_cells_compute_the_same(mode: str, bidirectional: bool) -> None:
    fused = mx.rnn.FusedRNNCell(3, 2, mode, bidirectional, prefix="net_")
    stack = fused.unfuse()
    data = mx.sym.Variable("data")
    whole = fused.unroll(4, data, merge_outputs=True)[0]
    steps = stack.unroll(4, data, merge_outputs=True)[0]
    shape = dict(zip(whole.list_arguments(), whole.infer_shape(data=(2, 4, 5))[0], strict=True))["net_parameters"]
    drawn = np.random.default_rng(3)
    vector = mx.nd.array(drawn.uniform(-0.5, 0.5, shape))
    unpacked = fused.unpack_weights({"net_parameters": vector, "other": 1})
    assert unpacked["net_l0_i2h" + fused._gate_names[-1] + "_weight"].shape == (3, 5)
    packed = stack.pack_weights(unpacked)
    assert set(packed) == {*steps.list_arguments(), "other"} - {"data"}
    again = fused.pack_weights(stack.unpack_weights(packed))
    assert again["other"] == 1
    assert (again["net_parameters"].asnumpy() == vector.asnumpy()).all()
    x = mx.nd.array(drawn.normal(size=(2, 4, 5)))
    read = {name: packed[name] for name in steps.list_arguments() if name != "data"}
    expected = whole.eval(mx.cpu(), data=x, net_parameters=vector)[0].asnumpy()
    np.testing.assert_allclose(steps.eval(mx.cpu(), data=x, **read)[0].asnumpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.live
@pytest.mark.parametrize("name", ["stacked", "both-ways", "residual", "zoneout", "lstm"])
def test_unrolled_cells_compute_what_mxnet_computes(mxnet: ModuleType, name: str) -> None:
    ours, theirs = (unrolled(m, CELLS[name], None) for m in (mx, mxnet))
    drawn = np.random.default_rng(5)
    shapes = dict(zip(ours.list_arguments(), ours.infer_shape(data=(3, 3, 8))[0], strict=True))
    arrays = {key: np.float32(drawn.uniform(-0.5, 0.5, shape)) for key, shape in shapes.items()}

    def computed(m: Any, symbol: Any) -> list[Any]:
        found = symbol.eval(m.cpu(), **{key: m.nd.array(array) for key, array in arrays.items()})
        return [array.asnumpy() for array in found]

    for one, other in zip(computed(mx, ours), computed(mxnet, theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.live
@pytest.mark.parametrize("init", [None, "constant"])
def test_parameters_of_the_operator_are_initialized_gate_by_gate(mxnet: ModuleType, init: str | None) -> None:
    def filled(m: Any) -> tuple[str, Any]:
        own = None if init is None else m.init.Constant(3.0)
        fused = m.init.FusedRNN(own, 3, 2, "lstm", True, 5.0)
        vector = m.nd.zeros((2 * 4 * 3 * (4 + 3 + 2) + 2 * 4 * 3 * (3 + 6 + 2),))
        fused._init_weight(m.init.InitDesc("p", global_init=m.init.One()), vector)
        return fused.dumps(), vector.asnumpy()

    (ours, vector), (theirs, expected) = filled(mx), filled(mxnet)
    assert ours == theirs
    assert (vector == expected).all()
    again = mx.init.create(ours)
    assert again.dumps() == ours


def test_a_module_initializes_the_operators_parameters() -> None:
    outputs, _ = mx.rnn.FusedRNNCell(3, prefix="f_").unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    module = mx.mod.Module(outputs, label_names=None)
    module.bind([("data", (2, 2, 4))], for_training=False)
    module.init_params(mx.init.One())
    vector = module.get_params()[0]["f_parameters"].asnumpy()
    assert (vector[: -2 * 4 * 3] == 1).all()
    assert (vector[-2 * 4 * 3 :].reshape(2, 4, 3) == np.array([0, 1, 0, 0])[None, :, None]).all()


def test_checkpoints_hold_a_gates_arrays_by_name(tmp_path: Path) -> None:
    cell = mx.rnn.LSTMCell(2)
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    shapes = dict(zip(outputs.list_arguments(), outputs.infer_shape(data=(1, 2, 3))[0], strict=True))
    weights = {
        name: mx.nd.array(np.random.default_rng(1).normal(size=shapes[name]))
        for name in outputs.list_arguments()
        if name != "data"
    }
    prefix = str(tmp_path / "net")
    mx.rnn.do_rnn_checkpoint(cell, prefix, 2)(0, outputs, weights, {})
    assert not list(tmp_path.iterdir())
    mx.rnn.do_rnn_checkpoint([cell], prefix, 2)(1, outputs, weights, {})
    stored = mx.nd.load(f"{prefix}-0002.params")
    assert stored["arg:lstm_h2h_f_weight"].shape == (2, 2)
    assert (stored["arg:lstm_i2h_o_bias"].asnumpy() == weights["lstm_i2h_bias"].asnumpy()[6:]).all()
    symbol, arguments, states = mx.rnn.load_rnn_checkpoint(cell, prefix, 2)
    assert symbol.tojson() == outputs.tojson()
    assert not states
    assert {name: array.asnumpy().tolist() for name, array in arguments.items()} == {
        name: array.asnumpy().tolist() for name, array in weights.items()
    }


SENTENCES = [text.split() for text in ("a b c", "b c d e", "a c", "d e f", "a b", "c d e f g", "f g a", "b a")]


@pytest.mark.live
@pytest.mark.parametrize("layout", ["NT", "TN"])
@pytest.mark.parametrize("buckets", [None, [3, 5]])
def test_batches_of_sentences_are_mxnets(
    mxnet: ModuleType, layout: str, buckets: list[int] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(m: Any) -> Any:
        coded, vocab = m.rnn.encode_sentences(SENTENCES, invalid_label=0, start_label=0)
        random.seed(3)
        np.random.seed(3)
        rows = m.rnn.BucketSentenceIter(coded, 2, buckets=buckets and list(buckets), invalid_label=0, layout=layout)
        found = [
            (batch.bucket_key, batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist())
            for _ in range(2)
            for batch in (rows.reset(), *rows)
            if batch
        ]
        return vocab, found, rows.default_bucket_key, rows.buckets, [tuple(held) for held in rows.provide_data]

    ours = read(mx)
    said = capsys.readouterr().out
    assert ours == read(mxnet)
    left_out = re.findall(r"\d+", capsys.readouterr().out)
    assert re.findall(r"\d+", said)[:1] == left_out != []


def test_words_of_a_vocabulary() -> None:
    vocab = {"a": 1, "b": 2}
    with pytest.raises(AssertionError, match="'c' is not in the vocabulary"):
        mx.rnn.encode_sentences([["a", "c"]], vocab)
    coded, _ = mx.rnn.encode_sentences([["a", "c", "d"]], vocab, start_label=3, unknown_token="<unk>")
    assert coded == [[1, 3, 3]]
    assert vocab == {"a": 1, "b": 2, "<unk>": 3}
    coded, grown = mx.rnn.encode_sentences([["a", "b", "a"]], unknown_token="<unk>")
    assert coded == [[0, 1, 0]]
    assert grown == {"\n": -1, "a": 0, "b": 1}


def test_a_network_of_cells_in_buckets_predicts() -> None:
    stack = stacked(mx)

    def made(length: int) -> Any:
        stack.reset()
        words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=8, output_dim=4, name="embed")
        outputs, _ = stack.unroll(length, words, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 4)), num_hidden=8, name="pred")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    coded, _ = mx.rnn.encode_sentences(SENTENCES, invalid_label=0, start_label=1)
    rows = mx.rnn.BucketSentenceIter(coded, 2, buckets=[3, 5], invalid_label=0)
    module = mx.mod.BucketingModule(made, default_bucket_key=rows.default_bucket_key)
    module.bind(rows.provide_data, rows.provide_label, for_training=False)
    module.init_params(mx.init.Xavier())
    for batch in rows:
        module.forward(batch, is_train=False)
        assert module.get_outputs()[0].shape == (2 * batch.bucket_key, 8)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: mx.rnn.LSTMCell(2).unroll(2, None), AssertionError, "needs inputs"),
        (lambda: mx.rnn.LSTMCell(2).unroll(3, [mx.sym.var("a")]), AssertionError, "has 1 steps, 3 are"),
        (
            lambda: mx.rnn.LSTMCell(2).unroll(2, mx.sym.Group([mx.sym.var("a"), mx.sym.var("b")])),
            AssertionError,
            "not a group",
        ),
        (lambda: mx.rnn.FusedRNNCell(2)(mx.sym.var("a"), []), NotImplementedError, "cannot be stepped"),
        (lambda: both_ways(mx)(mx.sym.var("a"), [None] * 4), AssertionError, "cannot be stepped"),
        (lambda: mx.rnn.ZoneoutCell(both_ways(mx)), AssertionError, "cannot be stepped"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(2)), AssertionError, "cannot be stepped"),
        (lambda: mx.rnn.ConvRNNCell((1, 2, 6, 6), 3, h2h_kernel=(2, 2)), AssertionError, "odd sizes"),
        (lambda: mx.rnn.ZoneoutCell(mx.rnn.RNNCell(2)).base_cell.begin_state(), AssertionError, "the modifier"),
        (lambda: mx.rnn.BucketSentenceIter([[1, 2]], 1, layout="XY"), ValueError, "expected NT"),
        (lambda: mx.rnn.BucketSentenceIter([[1, 2]], 5), ValueError, "no sentence fits"),
    ],
)
def test_refusals(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
