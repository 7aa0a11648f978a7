"""Cases of the fused RNN operator; MXNet's CPU build runs it with oneDNN on.

That build reads neither sequence_length nor the clipping of the cell state: it answers as if they were not there. The
reference follows the documentation (which is what GPU builds do), so no case compares them.
"""

from __future__ import annotations

from tests.equivalence.case import Case, Input, case, data, param, values

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
LENGTH, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6


def count(mode: str, layers: int, directions: int) -> int:
    """The number of parameters."""
    rows = GATES[mode] * HIDDEN
    widths = [WIDTH] + [HIDDEN * directions] * (layers - 1)
    return sum(directions * rows * (width + HIDDEN + 2) for width in widths)


def recurrent(
    variant: str, mode: str, layers: int = 1, directions: int = 1, parameters: int = 0, **attrs: object
) -> Case:
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
    stated: dict[str, object] = {"state_size": HIDDEN, "num_layers": layers, "mode": mode}
    if directions == 2:
        stated["bidirectional"] = True
    written = {name: str(value) for name, value in (stated | attrs).items()}
    return Case("RNN", written, inputs, variant, onednn=True)


def projected(variant: str, layers: int, directions: int, size: int = 2) -> Case:
    """An LSTM whose recurrent state is projected to `size`; MXNet runs it without oneDNN."""
    states, width, parameters = layers * directions, WIDTH, 0
    for _ in range(layers):
        parameters += directions * (4 * HIDDEN * (width + size + 2) + size * HIDDEN)
        width = size * directions
    return case(
        "RNN",
        variant,
        data(LENGTH, BATCH, WIDTH),
        param("parameters", parameters, kind="scale:0.4"),
        data(states, BATCH, size, name="state"),
        data(states, BATCH, HIDDEN, name="state_cell"),
        state_size=HIDDEN,
        num_layers=layers,
        mode="lstm",
        projection_size=size,
        bidirectional=directions == 2,
        state_outputs=True,
    )


CASES: tuple[Case, ...] = (
    *(recurrent(mode, mode) for mode in GATES),
    *(recurrent(f"{mode}_states", mode, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_two_layers", mode, layers=2, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_bidirectional", mode, directions=2, state_outputs=True) for mode in GATES),
    *(recurrent(f"{mode}_two_layers_bidirectional", mode, layers=2, directions=2) for mode in GATES),
    *(recurrent(f"{mode}_clip", mode, lstm_state_clip_min=0, lstm_state_clip_max=1) for mode in ("gru", "rnn_tanh")),
    recurrent("gru_three_layers", "gru", layers=3),
    projected("lstm_projected", 1, 1),
    projected("lstm_projected_two_layers", 2, 1),
    projected("lstm_projected_bidirectional", 1, 2),
    recurrent("lstm_dropout", "lstm", layers=2, p=0.5),
)

REFUSED: tuple[Case, ...] = (recurrent("parameters", "lstm", parameters=100),)
