"""Cases of the fused RNN operator; MXNet's CPU build runs it with oneDNN on."""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, param, values

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
LENGTH, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6


def count(mode: str, layers: int, directions: int) -> int:
    """The number of parameters."""
    rows = GATES[mode] * HIDDEN
    widths = [WIDTH] + [HIDDEN * directions] * (layers - 1)
    return sum(directions * rows * (width + HIDDEN + 2) for width in widths)


def recurrent(variant: str, mode: str, layers: int = 1, directions: int = 1, parameters: int = 0, **attrs: object) -> Case:
    """A case of RNN with parameters, states and all attributes in place."""
    state = (layers * directions, BATCH, HIDDEN)
    inputs: tuple[Input, ...] = (
        data(LENGTH, BATCH, WIDTH),
        param("parameters", parameters or count(mode, layers, directions), kind="scale:0.4"),
        data(*state, name="state"),
    )
    if mode == "lstm":
        inputs = (*inputs, data(*state, name="state_cell"))
    if attrs.get("use_sequence_length"):
        inputs = (*inputs, values(2, 5, 1, name="sequence_length", dtype="int32"))
    if directions == 2:
        attrs = {"bidirectional": True} | attrs
    sizes = {"state_size": HIDDEN, "num_layers": layers, "mode": mode}
    return case("RNN", variant, *inputs, onednn=True, **sizes, **attrs)


CASES: tuple[Case, ...] = (
    *(recurrent(mode, mode) for mode in GATES),
    *(recurrent(f"{mode}_states", mode, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_two_layers", mode, layers=2, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_bidirectional", mode, directions=2, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_two_layers_bidirectional", mode, layers=2, directions=2) for mode in GATES),
    recurrent("gru_three_layers", "gru", layers=3),
    recurrent("lstm_dropout", "lstm", layers=2, p=0.5),
)

REFUSED: tuple[Case, ...] = (recurrent("parameters", "lstm", parameters=100),)
