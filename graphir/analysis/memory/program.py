"""A run of a network as memory sees it: steps in their order, and the tensors that they read and make."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class TensorKind(StrEnum):
    """What a tensor is. Only activations and gradients take memory while the network runs."""

    INPUT = "input"
    PARAMETER = "parameter"
    ACTIVATION = "activation"
    GRADIENT = "gradient"
    RETURNED = "returned gradient"


class Phase(StrEnum):
    """What a step belongs to."""

    FORWARD = "forward"
    RECOMPUTED = "recomputed"
    BACKWARD = "backward"


PLANNED = frozenset((TensorKind.ACTIVATION, TensorKind.GRADIENT))


@dataclass(slots=True)
class Held:
    """One tensor: its elements, the width of each in bits, and the step that makes it (-1 for what is there before)."""

    name: str
    elements: int
    bits: int
    kind: TensorKind
    producer: int = -1
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @property
    def nbytes(self) -> int:
        """The bytes that it takes, the last one whole.

        >>> Held("mask", 3, 4, TensorKind.ACTIVATION).nbytes
        2
        """
        return (self.elements * self.bits + 7) // 8


@dataclass(slots=True)
class OperatorRun:
    """One application of an operator: the tensors that it reads and makes, by their numbers.

    `in_place` are pairs (position of an input, position of an output) that may share their bytes, the third entry True
    where the result is the input's own bytes, such as a reshape's. `ignored` are positions of inputs whose elements are
    not read. `work` is what computing it costs: multiply-accumulates and elements made.
    """

    name: str
    operator: str
    inputs: list[int]
    outputs: list[int]
    phase: Phase = Phase.FORWARD
    in_place: tuple[tuple[int, int, bool], ...] = ()
    ignored: tuple[int, ...] = ()
    work: int = 0


@dataclass(slots=True)
class Program:
    """Steps in the order of execution. `outputs` are the tensors that the caller gets, as often as it gets them."""

    tensors: list[Held] = field(default_factory=list)
    steps: list[OperatorRun] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def bytes_of(self, kind: TensorKind) -> int:
        """Return the bytes of all tensors of a kind."""
        return sum(tensor.nbytes for tensor in self.tensors if tensor.kind == kind)

    def work(self, phase: Phase) -> int:
        """Return the work of all steps of a phase."""
        return sum(step.work for step in self.steps if step.phase is phase)

    @property
    def nodes(self) -> int:
        """Steps and what is there before them."""
        return len(self.steps) + sum(1 for tensor in self.tensors if tensor.producer < 0)
