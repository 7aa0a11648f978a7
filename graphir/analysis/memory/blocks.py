"""Which tensors share memory: MXNet 1.9.1's static plan, one pass over the steps with a list of free blocks.

A block is one allocation, which serves several tensors one after the other. The total is the sum of the blocks' sizes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from .program import PLANNED, OperatorRun, Program


def colour_steps(program: Program, count: int) -> list[int]:
    """Return a colour below `count` for each step: the longest path of uncoloured steps takes the next colour, what is
    left the last. Cost: linear in steps, times `count`.
    """
    made_by = [tensor.producer for tensor in program.tensors]
    sources = [[made_by[tensor] for tensor in step.inputs if made_by[tensor] >= 0] for step in program.steps]
    colours = [-1] * len(program.steps)
    for colour in range(count - 1):
        path = _longest_path(sources, [int(given < 0) for given in colours])
        if not path:
            return [max(given, 0) if given >= 0 else colour for given in colours]
        for step in path:
            if colours[step] < 0:
                colours[step] = colour
    return [count - 1 if given < 0 else given for given in colours]


def _longest_path(sources: list[list[int]], score: list[int]) -> list[int]:
    """Return the steps of the path with the highest sum of scores; of equal ones that which begins last."""
    reward = [0] * len(sources)
    following = [-1] * len(sources)
    best = start = -1
    for step in range(len(sources) - 1, -1, -1):
        reward[step] += score[step]
        if reward[step] > max(best, 0):
            best, start = reward[step], step
        for source in sources[step]:
            if reward[step] > reward[source]:
                reward[source] = reward[step]
                following[source] = step
    path = []
    while start >= 0:
        path.append(start)
        start = following[start]
    return path


MATCH_RANGE = 16


@dataclass(frozen=True)
class Sharing:
    """How blocks are shared: MXNet's environment variables of the same meaning.

    `match_range` (NNVM_EXEC_MATCH_RANGE): a free block serves a request if neither is more than so many times the
    other; 0 shares nothing. `search_match_range` (NNVM_AUTO_SEARCH_MATCH_RANGE) tries 1, 2, 4, ... up to it.
    `colours` (NNVM_EXEC_NUM_TEMP): only steps of one of so many paths share. `element_bytes`: the size that every
    element is taken to have, as MXNet takes 4; None takes the dtype's.
    """

    match_range: int = MATCH_RANGE
    search_match_range: bool = False
    colours: int = 1
    element_bytes: int | None = None


@dataclass(frozen=True)
class Blocks:
    """A plan: the size of each block in bytes, and the block of each tensor (-1 for what the plan does not hold)."""

    sizes: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def total(self) -> int:
        """The bytes of all blocks."""
        return sum(self.sizes)


def plan_blocks(program: Program, sharing: Sharing | None = None) -> Blocks:
    """Return the memory blocks of a program's tensors. Cost: n log n in steps, plus the moves in a list."""
    sharing = sharing or Sharing()
    colours = colour_steps(program, sharing.colours) if sharing.colours > 1 else None
    if not sharing.search_match_range or sharing.match_range < 2:
        return _Planner(program, sharing.element_bytes, sharing.match_range, colours).run()
    best: Blocks | None = None
    reach = 1
    while reach <= sharing.match_range:
        plan = _Planner(program, sharing.element_bytes, reach, colours).run()
        if best is None or plan.total < best.total:
            best = plan
        reach *= 2
    assert best is not None
    return best


class _Planner:
    """One pass. `count` is how many readings of a block are outstanding, `free` (size, when, block) in this order."""

    def __init__(self, program: Program, element_bytes: int | None, reach: int, colours: list[int] | None) -> None:
        self.program, self.reach, self.colours = program, reach, colours
        tensors = program.tensors
        self.nbytes = [tensor.elements * element_bytes if element_bytes else tensor.nbytes for tensor in tensors]
        self.planned = [tensor.kind in PLANNED for tensor in tensors]
        self.reads = [0] * len(tensors)
        for step in program.steps:
            for index, tensor in enumerate(step.inputs):
                if index not in step.ignored:
                    self.reads[tensor] += 1
        for tensor in program.outputs:
            self.reads[tensor] += 1
        self.block = [-1] * len(tensors)
        self.sizes: list[int] = []
        self.count: list[int] = []
        self.free: list[tuple[int, int, int]] = []
        self.released: list[int] = []  # the step that released a block last
        self.clock = 0

    def run(self) -> Blocks:
        for number, step in enumerate(self.program.steps):
            self._share(step)
            self._request(number, step)
            for index, tensor in enumerate(step.inputs):
                block = self.block[tensor]
                if block >= 0 and index not in step.ignored:
                    self.count[block] -= 1
                    if self.count[block] == 0:
                        self._release(block, number)
            for tensor in step.outputs:  # what nobody reads, such as the statistics of inference
                block = self.block[tensor]
                if block >= 0 and self.count[block] == 0:
                    self._release(block, number)
        return Blocks(tuple(self.sizes), tuple(self.block))

    def _share(self, step: OperatorRun) -> None:
        """Give outputs the blocks of inputs, where the operator works in place."""
        taken: set[int] = set()
        tensors = self.program.tensors
        for source, result, is_identity in step.in_place:
            if source in taken or source >= len(step.inputs) or result >= len(step.outputs):
                continue
            read, output = step.inputs[source], step.outputs[result]
            block = self.block[read]
            if block < 0 or not self.planned[output] or self.block[output] >= 0 or not self.reads[output]:
                continue
            operand, other = tensors[read], tensors[output]
            if operand.elements != other.elements or operand.bits != other.bits:
                continue
            is_last = self.count[block] == 1 and len(step.ignored) < len(step.inputs)
            if is_last or is_identity:
                taken.add(source)
                self.block[output] = block
                self.count[block] += self.reads[output]

    def _request(self, number: int, step: OperatorRun) -> None:
        """Give the outputs that have no block one, the largest first."""
        outputs = enumerate(step.outputs)
        indices = [index for index, output in outputs if self.planned[output] and self.block[output] < 0]
        indices.sort(key=lambda index: (self.nbytes[step.outputs[index]], index), reverse=True)
        for index in indices:
            output = step.outputs[index]
            block = self._find(number, self.nbytes[output])
            self.block[output] = block
            self.count[block] = self.reads[output]

    def _find(self, number: int, size: int) -> int:
        for index in self._fitting_blocks(size) if self.reach else ():
            block = self.free[index][2]
            if self.colours and self.colours[self.released[block]] != self.colours[number]:
                continue
            del self.free[index]
            self.sizes[block] = max(self.sizes[block], size)
            return block
        self.sizes.append(size)
        self.count.append(0)
        self.released.append(-1)
        return len(self.sizes) - 1

    def _fitting_blocks(self, size: int) -> Iterator[int]:
        """Yield the free blocks that may serve a request: from the smallest that is large enough up, then from the
        largest that is too small down.
        """
        middle = bisect_left(self.free, (size, -1, -1))
        yield from range(middle, bisect_left(self.free, (size * self.reach + 1, -1, -1)))
        yield from range(middle - 1, bisect_left(self.free, (size // self.reach, -1, -1)) - 1, -1)

    def _release(self, block: int, number: int) -> None:
        self.clock += 1
        self.released[block] = number
        insort(self.free, (self.sizes[block], self.clock, block))
