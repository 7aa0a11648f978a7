"""Recurrent networks of the symbol-API era: cells unrolled by hand and by `mx.rnn`, and the fused operator.

Builders take the `mx` module first and return a Symbol. The cells of `mx.rnn` make their begin states themselves, as
`_zeros` of shape (0, hidden): a zero that MXNet resolves backwards from the batch.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

Symbol = Any


def lstm_by_hand(mx: ModuleType, steps: int = 4, hidden: int = 8, vocabulary: int = 20, layers: int = 2) -> Symbol:
    """Zaremba et al. 2014 as MXNet's first examples wrote it: states are inputs, gates come from SliceChannel.

    The sequence is split with squeeze_axis, the states after the last step are outputs behind BlockGrad.
    """
    sym = mx.sym
    weights = [
        {name: sym.Variable(f"l{layer}_{name}") for name in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")}
        for layer in range(layers)
    ]
    states = [(sym.Variable(f"l{layer}_init_c"), sym.Variable(f"l{layer}_init_h")) for layer in range(layers)]
    embedded = sym.Embedding(
        sym.Variable("data"), sym.Variable("embed_weight"), input_dim=vocabulary, output_dim=hidden, name="embed"
    )
    words = sym.SliceChannel(embedded, num_outputs=steps, squeeze_axis=1)
    outputs = []
    for step in range(steps):
        net = words[step]
        for layer, weight in enumerate(weights):
            cell, state = states[layer]
            name = f"t{step}_l{layer}"
            i2h = sym.FullyConnected(
                net, weight["i2h_weight"], weight["i2h_bias"], num_hidden=4 * hidden, name=f"{name}_i2h"
            )
            h2h = sym.FullyConnected(
                state, weight["h2h_weight"], weight["h2h_bias"], num_hidden=4 * hidden, name=f"{name}_h2h"
            )
            gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}_slice")
            enter = sym.Activation(gates[0], act_type="sigmoid")
            change = sym.Activation(gates[1], act_type="tanh")
            forget = sym.Activation(gates[2], act_type="sigmoid")
            leave = sym.Activation(gates[3], act_type="sigmoid")
            cell = (forget * cell) + (enter * change)
            net = leave * sym.Activation(cell, act_type="tanh")
            states[layer] = (cell, net)
        outputs.append(net)
    net = sym.FullyConnected(sym.Concat(*outputs, dim=0), num_hidden=vocabulary, name="pred")
    label = sym.Reshape(sym.transpose(sym.Variable("softmax_label")), shape=(-1,))
    kept = []
    for layer, (cell, state) in enumerate(states):
        kept += [sym.BlockGrad(cell, name=f"l{layer}_last_c"), sym.BlockGrad(state, name=f"l{layer}_last_h")]
    return sym.Group([sym.SoftmaxOutput(net, label, name="softmax"), *kept])


def language_model(mx: ModuleType, cell: Any, steps: int, hidden: int, vocabulary: int, fused: bool = False) -> Symbol:
    """Embedding, a cell unrolled over (batch, time, channel), a classifier for each word."""
    sym = mx.sym
    embed = sym.Embedding(sym.Variable("data"), input_dim=vocabulary, output_dim=hidden, name="embed")
    if not fused:
        cell.reset()
    outputs, _ = cell.unroll(steps, inputs=embed, merge_outputs=True)
    net = sym.Reshape(outputs, shape=(-3, -2))
    net = sym.FullyConnected(net, num_hidden=vocabulary, name="pred")
    label = sym.Reshape(sym.Variable("softmax_label"), shape=(-1,))
    return sym.SoftmaxOutput(net, label, name="softmax")


def stacked(mx: ModuleType, kind: str, steps: int = 5, hidden: int = 8, vocabulary: int = 20) -> Symbol:
    """Two cells of one kind (`lstm`, `gru`, `rnn`), the second residual, with dropout between."""
    make = {"lstm": mx.rnn.LSTMCell, "gru": mx.rnn.GRUCell, "rnn": mx.rnn.RNNCell}[kind]
    stack = mx.rnn.SequentialRNNCell()
    stack.add(make(num_hidden=hidden, prefix=f"{kind}_l0_"))
    stack.add(mx.rnn.DropoutCell(0.2, prefix=f"{kind}_dropout_"))
    stack.add(mx.rnn.ResidualCell(make(num_hidden=hidden, prefix=f"{kind}_l1_")))
    return language_model(mx, stack, steps, hidden, vocabulary)


def bidirectional(mx: ModuleType, steps: int = 5, hidden: int = 8, vocabulary: int = 20) -> Symbol:
    left, right = (mx.rnn.LSTMCell(num_hidden=hidden, prefix=f"{side}_") for side in ("l", "r"))
    return language_model(mx, mx.rnn.BidirectionalCell(left, right), steps, hidden, vocabulary)


def fused(
    mx: ModuleType,
    mode: str,
    layers: int = 2,
    two_ways: bool = False,
    steps: int = 5,
    hidden: int = 8,
    vocabulary: int = 20,
) -> Symbol:
    """The RNN operator, all layers in one vector of parameters; `mode` is lstm, gru, rnn_tanh or rnn_relu."""
    cell = mx.rnn.FusedRNNCell(hidden, num_layers=layers, mode=mode, bidirectional=two_ways, prefix=f"{mode}_")
    return language_model(mx, cell, steps, hidden, vocabulary, fused=True)


def fused_with_states(mx: ModuleType, steps: int = 5, hidden: int = 8, inputs: int = 6) -> Symbol:
    """The RNN operator called directly, time first, its states inputs and outputs."""
    sym = mx.sym
    names = ("data", "parameters", "state", "state_cell")
    net = sym.RNN(
        *(sym.Variable(name) for name in names),
        state_size=hidden,
        num_layers=1,
        mode="lstm",
        state_outputs=True,
        p=0.2,
        name="lstm",
    )
    last = sym.SequenceLast(net[0], name="last")
    reversed_ = sym.SequenceReverse(net[0], name="reversed")
    return sym.Group([last, reversed_, net[1], net[2]])


def crnn(mx: ModuleType, hidden: int = 8, classes: int = 11) -> Symbol:
    """Shi et al. 2015: columns of a convolutional map become time steps of a two-way LSTM."""
    sym = mx.sym
    net = sym.Variable("data")
    for index, (filters, stride) in enumerate(((8, (2, 2)), (16, (2, 2)), (16, (2, 1))), start=1):
        net = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{index}")
        net = sym.Activation(sym.BatchNorm(net, name=f"bn{index}"), act_type="relu")
        net = sym.Pooling(net, pool_type="max", kernel=stride, stride=stride)
    columns = sym.split(net, num_outputs=8, axis=3, squeeze_axis=True)
    cells = mx.rnn.BidirectionalCell(*(mx.rnn.LSTMCell(num_hidden=hidden, prefix=f"{side}_") for side in ("l", "r")))
    outputs, _ = cells.unroll(8, inputs=[sym.Flatten(column) for column in columns], merge_outputs=False)
    scores = [sym.FullyConnected(output, num_hidden=classes, name=f"fc{i}") for i, output in enumerate(outputs)]
    steps = [sym.expand_dims(score, axis=0) for score in scores]
    return sym.softmax(sym.concat(*steps, dim=0), axis=2, name="prob")
