"""What a function that imports or exports an operator sees of its node: one contract for every front end.

An operand is told by its slot; what asks for shapes takes a value too, for those on the way have some as well.

    inputs              the operands in order, None where one is absent; `len(node)` is the number of slots
    input(slot)         the operand. Refuses if it is absent
    optional(slot)      the operand, None if it is absent
    known(slot)         a small integer operand's elements, flat; None if it is absent or some are no known numbers
    integers(slot, x)   the same, refused where they are not known, as what `x` says
    dtype(slot)         its dtype. Refuses if it is unknown
    shape, rank, sizes  of a slot or value, known; for what is not, an importer infers first and then says NeedsShape
                        (the hint is its own), an exporter refuses
    step, steps         add an operator on the way and give its first result, all results
    emit, bind          add the operator whose results are the node's, say which value a result is
    constant, vector    a constant on the way, shared among equal ones; int64
    charge              count what the node makes, against the limits
    decide, refuse      record a choice that can change numbers; say that the node cannot be expressed

Where nodes go decides what a value is: one of the graph while importing, the target's handle (a name, an entry) while
exporting.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NoReturn, Union

from graphir.converters.kernel.refusals import Refusal
from graphir.errors import ShapeError
from graphir.graph import Value
from graphir.safety.limits import charge_elements, charge_list
from graphir.types import Dim, DType

Operand = Union[int, Value]


class NodeView(ABC):
    """The part that is the same in and out: the operands and what is known of them."""

    __slots__ = ()

    name: str

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Value | None]:
        """The operands in order."""

    @property
    @abstractmethod
    def operator(self) -> str:
        """The operator's name in messages."""

    def __len__(self) -> int:
        """Return the number of operands, absent ones too."""
        return len(self.inputs)

    def optional(self, slot: int) -> Value | None:
        """Return the operand in a slot, None if it is absent; negative slots count from the end."""
        try:
            return self.inputs[slot]
        except IndexError:
            return None

    def input(self, slot: int) -> Value:
        """Return the operand in a slot. Refuses if it is absent."""
        value = self.optional(slot)
        if value is None:
            self.refuse(f"input {slot} is missing; the node has {len(self)}")
        return value

    def known(self, slot: int) -> tuple[int, ...] | None:
        """Return the elements of a small integer operand if all are known numbers, flat; None for an absent operand
        too."""
        value = self.optional(slot)
        return None if value is None else value.integers

    def integers(self, slot: int, what: str) -> tuple[int, ...]:
        """Return the same, refused with `what` in the reason where they are not known."""
        elements = self.known(slot)
        if elements is None:
            self.refuse(f"{what} ({self.input(slot).name}) must be constant, or follow from the shapes of the inputs")
        return elements

    def integer(self, slot: int, what: str) -> int:
        """Return one known number. Refuses the node without."""
        integers = self.integers(slot, what)
        if len(integers) != 1:
            self.refuse(f"{what} ({self.input(slot).name}) has {len(integers)} elements, expected one")
        return integers[0]

    def dtype(self, slot: int = 0) -> DType:
        """Return the dtype of an operand. Refuses if it is unknown."""
        value = self.input(slot)
        dtype = value.dtype
        if dtype is None:
            self.refuse(f"the dtype of {value.name} is unknown")
        return dtype

    def shape(self, operand: Operand = 0) -> tuple[Dim, ...]:
        """Return the shape of an operand or value, its rank known."""
        value = operand if isinstance(operand, Value) else self.input(operand)
        shape = value.shape
        if shape is None:
            self.infer_now()
            shape = value.shape
        if shape is None:
            self.lacks(f"the number of axes of {value.name}")
        return shape

    def rank(self, operand: Operand = 0) -> int:
        """Return the number of axes of an operand or value."""
        return len(self.shape(operand))

    def sizes(self, operand: Operand = 0, axes: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return the sizes of an operand or value (on `axes`, or all) as numbers. Raises ShapeError for fewer axes."""
        value = self._value(operand)
        sizes = self.sizes_if_known(value, axes)
        if sizes is None:
            self.infer_now()
            sizes = self.sizes_if_known(value, axes)
        if sizes is None:
            self.lacks(f"the sizes of {value.name}, found {value.type}")
        return sizes

    def sizes_if_known(self, operand: Operand = 0, axes: Sequence[int] | None = None) -> tuple[int, ...] | None:
        """Return the same, None where one is symbolic or unknown."""
        value = self._value(operand)
        shape = value.shape
        if shape is None:
            return None
        if axes and not -len(shape) <= min(axes) <= max(axes) < len(shape):
            raise ShapeError(f"{value.name} is {value.type}, expected {max(axes) + 1} axes or more")
        chosen = shape if axes is None else [shape[axis] for axis in axes]
        numbers = tuple(dim for dim in chosen if isinstance(dim, int))
        return numbers if len(numbers) == len(chosen) else None

    def axis(self, number: int, rank: int) -> int:
        """Return an axis counted from the front. Refuses one that does not exist."""
        if not -rank <= number < rank:
            self.refuse(f"axis {number} does not exist in a tensor of rank {rank}")
        return number % rank

    @abstractmethod
    def infer_now(self) -> None:
        """Infer what is not known yet; nothing to be done for a graph that is inferred."""

    def lacks(self, what: str) -> NoReturn:
        """Say that the model does not fix what the node needs."""
        self.refuse(f"{what} must be known; state the inputs' shapes")

    def charge(self, count: int, what: str) -> None:
        """Count the elements of a table that the node makes. Raises FormatError beyond the limit."""
        charge_elements(count, f"node {self.name!r} ({self.operator}): {what}")

    def charge_vector(self, numbers: Sequence[int]) -> None:
        """Count the elements of a list. Raises FormatError beyond the limit."""
        charge_list(len(numbers), f"node {self.name!r} ({self.operator}): a list of numbers")

    def refuse(self, reason: str) -> NoReturn:
        """Say that this node cannot be expressed, and why."""
        raise Refusal(reason)

    def _value(self, operand: Operand) -> Value:
        return operand if isinstance(operand, Value) else self.input(operand)
