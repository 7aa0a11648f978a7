"""Which numbers the edges of a part that is run by itself are fed with: of their range, often equal, larger."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphir.analysis.changes import differing_numbers
from graphir.analysis.diff import Row, Status
from graphir.arrays import Array
from graphir.graph import Value
from graphir.inputs.likenesses import Beside, Between, beyond, evenly, farther, in_levels, in_sizes, steep, unchanged
from graphir.inputs.roles import MOST_MET, compared_constants
from graphir.ops.elementwise import Cast
from graphir.ops.traits import DecisionTrait, Saturation
from graphir.structure.reaching import nodes_within
from graphir.types import DType
from graphir.verification.numbers.compare import Comparison

from .parts import Segment

# Of few numbers behind a product, one draw in four or so has none beyond a threshold.
DRAWS_BEYOND = 4
# A part that reads more than a residual layer with its gate costs too many runs. Beside an edge alone, what others have
# is less than a unit in its last place.
MOST_ALONE, NOTHING = 3, 2.0**-30
# Types that have no room for twice the largest number of float16, and those that have.
TOO_LARGE = 2 * 65504.0
WIDE = (DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16)
NARROW = (DType.FLOAT16, DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
# The shapes of a single boolean, as the condition of a branch is.
CONDITION = (), (1,)
HERE = "on these very inputs"
ELSEWHERE = "for numbers that these inputs did not lead to"
STEEPLY = "for numbers so large that e to the power of them overflows"


@dataclass(frozen=True)
class Way:
    """A way to draw numbers like those of an array; two `turns` of it draw others. `is_steep` says that only infinities
    on one side count as a difference, `where` what is said of it. Beside an edge that is `alone` all others have next
    to nothing. A single boolean, as a branch asks for, is the given one, or if `negated` the other."""

    draw: Callable[[np.random.Generator, Array], Array]
    turn: int = 0
    where: str = ELSEWHERE
    is_steep: bool = False
    alone: Value | None = None
    negated: bool = False

    def numbers(self, generator: np.random.Generator, array: Array) -> Array:
        """Return numbers like those of an array."""
        if array.dtype.kind == "b" and array.shape in CONDITION:
            return ~array if self.negated else array
        return self.draw(generator, array)

    def shows(self, found: Comparison) -> bool:
        """Return whether a comparison on such numbers shows a difference."""
        return math.isinf(found.relative) if self.is_steep else found.verdict.differs


def ways_for(segment: Segment, rows: Sequence[Row], free: Sequence[Value]) -> list[Way]:
    """Return the ways to draw numbers for the free edges of a part with these rows of the diff.

    Beyond the range, of any sign, where each node stands for one of the other model; where operators were exchanged,
    of the signs that numbers have, and not beyond what is bounded.
    """
    ways = [Way(evenly), Way(in_levels)]
    nodes = list(nodes_within(node for side in segment.nodes for node in side))
    real, whole = ([*held[: MOST_MET // 2], *held[-MOST_MET // 2 :]] for held in
                   (compared_constants(nodes), compared_constants(nodes, whole=True)))  # fmt: skip
    ways += [Way(Beside(real, whole))] if real or whole else []
    ways += [Way(Between(min(pair), max(pair))) for row in rows for pair in differing_numbers(row)]
    casts = [node for row in rows for node in (row.left, row.right) if node is not None and isinstance(node.op, Cast)]
    ends = [(node.inputs[0].dtype, node.outputs[0].dtype) for node in casts if node.inputs[0] is not None]
    ways += [Way(Between(-TOO_LARGE, TOO_LARGE))] if any(read in WIDE and to in NARROW for read, to in ends) else []
    # An operand that counts for next to nothing beside another, as a layer scale leaves it.
    ways += [Way(evenly, alone=edge) for edge in free] if 1 < len(free) <= MOST_ALONE else []
    cuts = any(node.op.decides >= DecisionTrait.CUTS for node in nodes)
    ways += [Way(in_sizes, turn) for turn in range(DRAWS_BEYOND if cuts else 0)]
    # Of results that have bounds, cutting off what is beyond changes nothing.
    is_bound = any(value.producer is not None and value.producer.op.saturates >= Saturation.BOUNDED for value in free)
    is_alike = len(set(map(len, segment.nodes))) == 1 and all(row.status is Status.CHANGED for row in rows)
    if is_alike:
        ways.append(Way(beyond))
    elif not is_bound:
        ways.append(Way(farther))
        threshold = max(map(abs, real), default=0.0)
        turns = range(DRAWS_BEYOND if threshold else 0)
        ways += [Way(Between(-2 * threshold, 2 * threshold), turn) for turn in turns]
    # By parts e to the power of something may overflow where one operator takes the largest off first.
    raises = [any(node.op.name == "Exp" for node in side) for side in segment.nodes]
    if not is_bound and raises[0] != raises[1]:
        ways.append(Way(steep, where=STEEPLY, is_steep=True))
    if any(value.dtype is DType.BOOL and value.shape in CONDITION for value in free):  # one branch alone may show it
        ways = [replace(way, negated=negated) for way in ways for negated in (False, True)]
    return ways


OWN = Way(unchanged, where=HERE)
