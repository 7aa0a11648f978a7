"""Recurrent layers written for MXNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.converters.mxnet.exporting import Row, row
from tests.typed import untyped

RANDOM = np.random.default_rng(19)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6


def normal(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Small numbers of a normal distribution."""
    return (RANDOM.standard_normal(shape) * 0.5).astype(dtype)


def layer(
    name: str,
    op: str,
    *,
    bias: bool = True,
    states: bool = False,
    lengths: tuple[int, ...] | None = None,
    peepholes: bool = False,
    given: bool = False,
    **more: Any,
) -> Row:
    """A row of a recurrent layer; `given` weights are inputs. `more`: steps, dtype, and what `row` takes."""
    steps, dtype = more.pop("steps", STEPS), more.pop("dtype", "float32")
    rows, ways = GATES[op] * HIDDEN, 2 if more.get("direction") == "bidirectional" else 1
    operands: list[Any] = [
        normal(steps, BATCH, WIDTH, dtype=dtype),
        normal(ways, rows, WIDTH, dtype=dtype),
        normal(ways, rows, HIDDEN, dtype=dtype),
        normal(ways, 2 * rows, dtype=dtype) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        normal(ways, BATCH, HIDDEN, dtype=dtype) if states else None,
    ]
    if op == "LSTM":
        operands.append(normal(ways, BATCH, HIDDEN, dtype=dtype) if states else None)
        operands.append(normal(ways, 3 * HIDDEN, dtype=dtype) if peepholes else None)
    while operands[-1] is None:
        operands.pop()
    more.setdefault("results", 3 if op == "LSTM" else 2)
    constants = () if given else (1, 2, 3, 7)
    return row(name, op, *operands, constants=constants, onednn=True, tolerance=1e-4, hidden_size=HIDDEN, **more)


FUSED = (
    *(layer(f"{op} {name}", op, **attributes, **(untyped({"linear_before_reset": 1} if op == "GRU" else {})))
      for op in GATES
      for name, attributes in (
          ("plain", {}), ("no bias", {"bias": False}), ("states", {"states": True}),
          ("reverse", {"direction": "reverse"}),
          ("bidirectional", {"direction": "bidirectional"}), ("whole only", {"results": 1}),
          ("bidirectional, states", {"direction": "bidirectional", "states": True}),
          ("given weights", {"given": True, "direction": "bidirectional"}),
          ("one step", {"steps": 1, "states": True}))),
    layer("relu", "RNN", activations=["Relu"]),
    layer("relu both ways", "RNN", activations=["Relu", "Relu"], direction="bidirectional"),
    layer("stated functions", "LSTM", activations=["Sigmoid", "Tanh", "Tanh"]),
    layer("exact", "RNN", states=True, wanted=("RNN", "expand_dims")),
)  # fmt: skip
WITH_LENGTHS = (
    *(layer(f"lengths {op} {direction}", op, lengths=(2, 5, 3), direction=direction, states=True, results=2,
            **(untyped({"linear_before_reset": 1} if op == "GRU" else {})))
      for op in GATES for direction in ("forward", "reverse", "bidirectional")),
    *(layer(f"empty sequences {op} {direction} {results}", op, lengths=(0, 5, 3), direction=direction, states=True,
            results=results, **(untyped({"linear_before_reset": 1} if op == "GRU" else {})))
      for op, results in (("RNN", 2), ("GRU", 2), ("LSTM", 2), ("LSTM", 3))
      for direction in ("forward", "reverse", "bidirectional")),
    layer("lengths and cell", "LSTM", lengths=(2, 5, 3), states=True),
    layer("lengths and cell both ways", "LSTM", lengths=(2, 5, 1), direction="bidirectional"),
    layer("lengths of a GRU", "GRU", lengths=(2, 5, 3), direction="bidirectional"),
)  # fmt: skip
UNROLLED = (
    *(layer(f"resets the state {direction}", "GRU", direction=direction, states=states)
      for direction in ("forward", "reverse", "bidirectional") for states in (False, True)),
    layer("no bias", "GRU", bias=False),
    layer("given weights", "GRU", given=True, direction="bidirectional"),
    layer("peepholes", "LSTM", peepholes=True),
    layer("peepholes both ways", "LSTM", peepholes=True, states=True, direction="bidirectional"),
    layer("coupled gates", "LSTM", input_forget=1),
    *(layer(f"clip {op}", op, clip=0.3) for op in GATES),
    *(layer(f"one step {op}", op, clip=0.4, steps=1) for op in GATES),
    layer("relu and tanh", "RNN", activations=["Relu", "Tanh"], direction="bidirectional"),
    *(layer(name, "RNN", activations=[name], **untyped(arguments)) for name, arguments in (
        ("Sigmoid", {}), ("Softsign", {}), ("Softplus", {}),
        ("Affine", {"activation_alpha": [0.5], "activation_beta": [0.1]}),
        ("LeakyRelu", {"activation_alpha": [0.2]}), ("ThresholdedRelu", {"activation_alpha": [0.3]}),
        ("ScaledTanh", {"activation_alpha": [0.7], "activation_beta": [0.6]}), ("Elu", {"activation_alpha": [0.7]}),
        ("HardSigmoid", {"activation_alpha": [0.3], "activation_beta": [0.4]}))),
    layer("functions", "LSTM", activations=["HardSigmoid", "Elu", "Softsign"], activation_alpha=[0.3, 0.9],
          activation_beta=[0.4]),
    layer("functions both ways", "GRU", activations=["HardSigmoid", "LeakyRelu", "Sigmoid", "Elu"],
          activation_alpha=[0.3, 0.1, 0.8], activation_beta=[0.4], direction="bidirectional"),
)  # fmt: skip
ROWS = (*FUSED, *WITH_LENGTHS, *UNROLLED)
BATCHES = dict.fromkeys(GATES, ("x0",))
BATCH_AXIS = 1
