"""What others need to know of an operator besides its types: how it rounds, what it decides, how its results saturate.

An operator class states them, or the base of its family does. Verification judges by them, `passes/half` chooses dtypes
by them, and an operator that computes nothing has its `work` from them.
"""

from __future__ import annotations

import enum
from math import inf

from .work import Nothing

EXPONENTIALS = "exponentials leave the range at 11, and what is small beside their sum is lost"
LONG_SUMS = "its sum grows with the number of elements, and adds small numbers to large ones"
ROOTS = "it divides by a root of a sum of squares, which overflows or vanishes before the quotient does"
COORDINATES = "its coordinates and scales need more digits than positions have"
ANGLES = "angles and windows need more digits"
OUT_OF_RANGE = "powers and quotients of small sums leave the range"
ORDER_LOST = "numbers that round to the same have another order"


# Between which numbers results lie, whatever the operands.
ANY, POSITIVE, SHARE, SIGNED_SHARE = (-inf, inf), (0.0, inf), (0.0, 1.0), (-1.0, 1.0)


class Rounding(enum.Enum):
    """How an operator rounds real numbers.

    `is_exact` says that equal operands give equal results whatever computes them, `work` that it computes nothing and
    why. `stays_wide` says why an operator keeps float32 in a model of half precision, "" if it need not.
    """

    UNKNOWN = "nobody stated how it rounds", False, False, "what it takes is not known here"
    VIEWS = "it hands on its first operand, in another shape", True, True
    MOVES = "it moves or chooses elements and computes none", True, True
    LISTS = "it puts tensors into lists or takes them out", True, True, "lists keep their element type"
    WRITES = "it writes a constant", True, True
    SIZES = "it tells sizes, which are known beside the elements", True, True
    TEXTS = "it handles texts, and computes no numbers", True, True
    TESTS = "it tells zeros, infinities or NaN from other numbers", True
    EXACT = "it selects or compares elements, or computes what needs no rounding", True
    HOLDS = "it changes how elements are held", False, True
    DRAWS = "drawing numbers is not counted", False, True, "the numbers that it draws are float32's"
    INSIDE = "what its subgraphs compute is counted there", False, True
    ROUNDS = "to some units in the last place of the result",
    OF_ONE = "to some units in the last place of 1",
    STATES = "likewise, step after step on a state that the step before left",
    EXPONENTIAL = "likewise, by exponentials", False, False, EXPONENTIALS
    SUMS = "by adding up many terms", False, False, LONG_SUMS
    SPECTRA = "by adding up terms that are turned by angles", False, False, ANGLES
    PRODUCTS = "by adding up products of two operands",
    STATISTICS = "by dividing by statistics of elements", False, False, ROOTS
    PLACES = "by reading at places that are computed from sizes", False, False, COORDINATES
    QUANTIZES = "to integers of a scale", False, False, "scales and zero points of quantization are float32"

    def __init__(self, text: str, is_exact: bool = False, is_free: bool = False, stays_wide: str = "") -> None:
        self.is_exact, self.stays_wide = is_exact, stays_wide
        self.work = Nothing(text) if is_free else None


class Elementwise(enum.Enum):
    """Whether each element of a result comes from one of the first operand, with scalars beside it, or from one of each
    operand, which broadcast."""

    NO = "no"
    ALONE = "alone"
    BROADCAST = "broadcast"


class DecisionTrait(enum.IntEnum):
    """What an operator decides by comparing real numbers with each other or with constants; each includes those before.

    A result that is limited bends where they cross; one that steps jumps there; one that orders takes one of several
    elements, of equal ones too; one that cuts keeps some rows and drops the others.
    """

    NOTHING = 0
    LIMITS = 1
    STEPS = 2
    ORDERS = 3
    CUTS = 4


class Saturation(enum.IntEnum):
    """What an operator's results show of its operand; each includes those before.

    They are bounded; they come so close to their bounds that a wrong operand looks right; still another operand gives
    another result, up to rounding; that holds but for what is added to all elements alike.
    """

    NONE = 0
    BOUNDED = 1
    SATURATES = 2
    ONE_TO_ONE = 3
    SHIFTLESS = 4
