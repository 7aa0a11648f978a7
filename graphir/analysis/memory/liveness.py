"""What lives when: from the step that makes a tensor to the last that reads it, and where this is most."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from .program import PLANNED, Program


@dataclass(frozen=True)
class Alive:
    """One tensor at the peak: its number in the program, its bytes, the steps that make it and read it last."""

    tensor: int
    nbytes: int
    made: int
    last: int


@dataclass(frozen=True)
class Liveness:
    """Bytes that live while each step runs, and for each tensor the first and last step of its life (-1: none).

    Tensors that share bytes because an operator works in place are counted once. What the caller holds (inputs,
    parameters, gradients that are returned) is not counted.
    """

    live: tuple[int, ...]
    lives: tuple[tuple[int, int], ...]
    owner: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The most bytes that live at one time."""
        return max(self.live, default=0)

    @property
    def peak_step(self) -> int:
        """The first step at which they do, -1 without steps."""
        return self.live.index(self.peak) if self.live else -1


def find_liveness(program: Program) -> Liveness:
    """Return the life of every tensor. Linear in steps and what they read."""
    count = len(program.steps)
    tensors = program.tensors
    last = [tensor.producer for tensor in tensors]
    for number, step in enumerate(program.steps):
        for index, read in enumerate(step.inputs):
            if index not in step.ignored:
                last[read] = number
    for output in program.outputs:
        last[output] = max(last[output], count - 1)
    owner = _owners(program, last)
    ends = list(last)
    for number, used in enumerate(owner):
        ends[used] = max(ends[used], last[number])
    change = [0] * (count + 1)
    lives: list[tuple[int, int]] = []
    for number, tensor in enumerate(tensors):
        if tensor.kind not in PLANNED:
            lives.append((-1, -1))
            continue
        lives.append((tensor.producer, last[number]))
        if owner[number] == number:
            change[tensor.producer] += tensor.nbytes
            change[ends[number] + 1] -= tensor.nbytes
    return Liveness(tuple(accumulate(change[:count])), tuple(lives), tuple(owner))


def _owners(program: Program, last: list[int]) -> list[int]:
    """For each tensor the one whose bytes it uses: itself, or an input that its step overwrites or passes on."""
    owner = list(range(len(program.tensors)))
    tensors = program.tensors
    reads = [0] * len(tensors)  # tensors that use an owner's bytes and still are to be read
    for number, step in enumerate(program.steps):
        taken: set[int] = set()
        for source, result, is_identity in step.in_place:
            if source >= len(step.inputs) or result >= len(step.outputs) or source in taken:
                continue
            read, output = step.inputs[source], step.outputs[result]
            operand, other = tensors[read], tensors[output]
            fits = operand.kind in PLANNED and other.kind in PLANNED and owner[output] == output
            if not fits or (operand.elements, operand.bits) != (other.elements, other.bits):
                continue
            is_last = last[read] == number and reads[owner[read]] <= number and step.inputs.count(read) == 1
            if is_last or is_identity:
                taken.add(source)
                owner[output] = owner[read]
        for output in step.outputs:
            reads[owner[output]] = max(reads[owner[output]], last[output])
    return owner


def alive_at(program: Program, liveness: Liveness, step: int) -> list[Alive]:
    """Return the tensors that take memory while a step runs, the largest first; of those that share bytes, the one that
    was made last.
    """
    alive: dict[int, Alive] = {}
    for number, (first, last) in enumerate(liveness.lives):
        if 0 <= first <= step <= last:
            alive[liveness.owner[number]] = Alive(number, program.tensors[number].nbytes, first, last)
    return sorted(alive.values(), key=lambda alive: (-alive.nbytes, alive.made))
