"""The vector of parameters of MXNet's operator RNN: which weight and bias of which gate stands where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}
"""How names of weights tell a mode's gates apart, in the order in which their rows stand."""


@dataclass(frozen=True)
class FusedParameters:
    """The layers of an operator RNN: units of each direction, layers, mode, whether it reads from both ends."""

    num_hidden: int
    num_layers: int
    mode: str
    bidirectional: bool

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates' parts of names."""
        return GATES[self.mode]

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions' parts of names."""
        return ("l", "r") if self.bidirectional else ("l",)

    def size(self, features: int) -> int:
        """Return how many elements the vector has where the first layer reads so many features."""
        per_unit = features + self.num_hidden + 2 + self._deeper()
        return per_unit * self.num_hidden * len(self.gates) * len(self.directions)

    def features(self, size: int) -> int:
        """Return how many features the first layer reads where the vector has so many elements."""
        per_unit = size // len(self.directions) // self.num_hidden // len(self.gates)
        return per_unit - self._deeper() - self.num_hidden - 2

    def parts(self, vector: Any, features: int) -> Iterator[tuple[str, Any]]:
        """Yield the vector's parts as views, by names such as `l0_i2h_f_weight`: all weights, then all biases.

        Raises AssertionError for a vector of another size.
        """
        if vector.size != self.size(features):
            raise AssertionError(f"the vector of parameters has {vector.size} elements, expected {self.size(features)}")
        place = 0
        for name, shape in self._shapes(features):
            size = shape[0] * (shape[1] if len(shape) > 1 else 1)
            yield name, vector[place : place + size].reshape(shape)
            place += size

    def _deeper(self) -> int:
        """Return what the layers above the first add for each gate, direction and unit."""
        return (self.num_layers - 1) * (self.num_hidden * (1 + len(self.directions)) + 2)

    def _shapes(self, features: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        hidden = self.num_hidden
        for kind in ("weight", "bias"):
            for layer in range(self.num_layers):
                read = hidden * len(self.directions) if layer else features
                for direction in self.directions:
                    for group, columns in (("i2h", read), ("h2h", hidden)):
                        shape = (hidden, columns) if kind == "weight" else (hidden,)
                        for gate in self.gates:
                            yield f"{direction}{layer}_{group}{gate}_{kind}", shape
