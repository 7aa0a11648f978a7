"""What an operator is: a frozen dataclass of attributes with named inputs and outputs and one inference rule."""

from __future__ import annotations

import dataclasses
import enum
import sys
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

from graphir.errors import GraphError, OperatorError, ShapeError
from graphir.structure.record import annotated_fields, with_later_fields
from graphir.types import (
    UNKNOWN,
    Dim,
    DType,
    Shape,
    TensorType,
    Type,
    format_shape,
    unify_dim,
    unify_dtype,
)

from .attributes import UNFIT, AttributeKind, kinds_of, taken
from .traits import ANY, ORDER_LOST, DecisionTrait, Elementwise, Rounding, Saturation
from .work import Work

Element = Dim | float


class Known(NamedTuple):
    """A small tensor of which elements are known, in C order: numbers, symbolic sizes, or `UNKNOWN` for the others.

    Shapes travel through a graph as such tensors; inference follows them through Shape, Gather, Concat and the like.
    Only tensors of floating dtypes have elements of type float; their whole numbers are of type int all the same.
    """

    shape: tuple[int, ...]
    elements: tuple[Element, ...]

    @staticmethod
    def vector(elements: Iterable[Element]) -> Known:
        """Return a rank-1 tensor."""
        items = tuple(elements)
        return Known((len(items),), items)

    @staticmethod
    def scalar(element: Element) -> Known:
        """Return a rank-0 tensor."""
        return Known((), (element,))

    def integers(self) -> tuple[int, ...] | None:
        """Return the elements if all of them are plain integers."""
        if all(type(element) is int for element in self.elements):
            return self.elements  # type: ignore[return-value]
        return None

    def dims(self) -> tuple[Dim, ...]:
        """Return the elements as sizes: what is neither an integer nor a symbolic size is unknown."""
        return tuple([UNKNOWN if isinstance(element, float) else element for element in self.elements])


Operand = TensorType | None
Values = tuple[Known | None, ...]


class Operator:
    """Base of all operators.

    A subclass is decorated with `@operator`; its fields are its attributes. `inputs` names the operands: `"B?"` may be
    absent, `"X*"` stands for one or more. `outputs` names the results; an operator with a number of results that
    depends on its attributes overrides `output_count`. `reads` holds the slots whose elements the rule wants (the
    `shape` of Reshape); they come in `values`. `takes` holds the dtypes that each operand may have; None, or
    no entry, stands for all. `may_leave_gaps` says that any operand may be absent. `counts` says that results have
    sizes that only a run can tell (see `counts`). `rounding`, `decides`, `orderings`, `saturates`, `bounds`,
    `elementwise` and `nonexpansive` are its traits (see `traits`); where `work`, `stays_wide` or `nonexpansive` are not
    stated they follow from these. `nonexpansive` says that results are off by no more than elements of the first
    operand are, as what is moved, limited or averaged is.
    `orderings` are the results that hold indices by which the first operand was ordered along `axis`; `axis` is one of
    the first operand's axes or, with `axis_in_result`, of the first result's.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("Y",)
    takes: ClassVar[tuple[frozenset[DType] | None, ...]] = ()
    reads: ClassVar[frozenset[int]] = frozenset()
    domain: ClassVar[str] = ""
    least_inputs: ClassVar[int] = 0
    most_inputs: ClassVar[int | None] = 0
    may_leave_gaps: ClassVar[bool] = False
    field_names: ClassVar[tuple[str, ...]] = ()
    field_defaults: ClassVar[dict[str, Any]] = {}
    has_backward: ClassVar[bool] = False
    backward_reads: ClassVar[bool] = False
    propagates: ClassVar[bool] = False
    knows_itself: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    checks_attributes: ClassVar[bool] = False
    work: ClassVar[Work | None] = None
    rounding: ClassVar[Rounding] = Rounding.UNKNOWN
    decides: ClassVar[DecisionTrait] = DecisionTrait.NOTHING
    orderings: ClassVar[frozenset[int]] = frozenset()
    axis_in_result: ClassVar[bool] = False
    saturates: ClassVar[Saturation] = Saturation.NONE
    bounds: ClassVar[tuple[float, float]] = ANY
    elementwise: ClassVar[Elementwise] = Elementwise.NO
    stays_wide: ClassVar[str | None] = None
    nonexpansive: ClassVar[bool | None] = None
    _kinds: ClassVar[dict[str, AttributeKind]] = {}

    # Methods that a dataclass would generate, written once: generating them for every class costs 30 ms of start-up.

    def __init__(self, *values: Any, **named: Any) -> None:
        """Raises OperatorError for attributes that the operator does not have, and for what they cannot be."""
        state = self.__dict__
        state.update(self.field_defaults)
        if values:
            named = self._by_name(values, named)
        if named:
            kinds = self._kinds or self._find_kinds()
            for name, value in named.items():
                kind = kinds.get(name)
                if kind is None:
                    stated = ", ".join(kinds) or "none"
                    raise OperatorError(f"{self.name} has no attribute {name!r}; it has {stated}")
                if type(value) not in kind.exact:
                    result = kind.take(value)
                    value = taken(self.name, name, kind, value) if result is UNFIT else result
                state[name] = value
        if len(state) != len(self.field_names):
            missing = [name for name in self.field_names if name not in state]
            raise OperatorError(f"{self.name} needs {', '.join(missing)}")
        if self.checks_attributes:
            self.check_attributes()

    def _by_name(self, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return all attributes that are given, by name."""
        names = self.field_names
        if len(values) > len(names):
            raise OperatorError(f"{self.name} has {len(names)} attributes, found {len(values)} values")
        fields = dict(zip(names, values, strict=False))
        if not named:
            return fields
        twice = [name for name in named if name in fields]
        if twice:
            raise OperatorError(f"{self.name}: the attribute {twice[0]} is given twice, by its place and by its name")
        return fields | named

    @classmethod
    def _find_kinds(cls) -> dict[str, AttributeKind]:
        cls._kinds = kinds_of(cls, cls.field_names)
        return cls._kinds

    def check_attributes(self) -> None:
        """Raise OperatorError unless the attributes, each of its kind, fit the operator and each other."""

    def demand(self, holds: bool, attribute: str, expected: str) -> None:
        """For `check_attributes`: raise OperatorError, naming the attribute with what it is, unless `holds`."""
        if not holds:
            shown = _show(getattr(self, attribute))
            raise OperatorError(f"{self.name}: the attribute {attribute} is {shown}, expected {expected}")

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name}: operators are values; use dataclasses.replace")

    def __replace__(self, /, **changes: Any) -> Operator:
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name}: operators are values")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        if mine == theirs:
            return True
        return [mine[name] for name in self.field_names] == [theirs[name] for name in self.field_names]

    def __hash__(self) -> int:
        stored: int | None = self.__dict__.get("_hash")
        if stored is None:
            stored = hash((type(self).__name__, *(getattr(self, name) for name in self.field_names)))
            object.__setattr__(self, "_hash", stored)
        return stored

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.attributes().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, name) for name in self.field_names)

    @property
    def name(self) -> str:
        """The operator's name: the class's."""
        return type(self).__name__

    @property
    def shown_name(self) -> str:
        """What people call the operator: its name, or what its source calls one that graphir does not know."""
        return self.name

    @property
    def is_exact(self) -> bool:
        """Whether equal operands give equal results, whatever computes them."""
        return self.rounding.is_exact

    @property
    def output_count(self) -> int:
        """How many results the operator has."""
        return len(self.outputs)

    @abstractmethod
    def infer(self, *operands: Any, **values: Any) -> Type | tuple[Type, ...]:
        """Return the types of the results, given the operands' types (None: an absent optional operand).

        Operators that state `reads` get `values`, the known elements of every operand by slot, as a keyword argument.
        Raises ShapeError for operands that the operator does not take.
        """

    def check_dtypes(self, operands: tuple[Type | None, ...]) -> None:
        """Raise ShapeError unless each operand is a tensor of one of the dtypes that its slot takes, where it says."""
        takes = self.takes
        behind = takes[-1] if len(takes) == len(self.inputs) else None
        for slot, operand in enumerate(operands):
            allowed = takes[slot] if slot < len(takes) else behind
            if allowed is None or operand is None:
                continue
            if not isinstance(operand, TensorType):
                raise ShapeError(f"{self._slot_name(slot)} is {operand}, expected a tensor")
            if operand.dtype is not None and operand.dtype not in allowed:
                shown = ", ".join(sorted(str(dtype) for dtype in allowed))
                raise ShapeError(f"{self._slot_name(slot)} is {operand.dtype}, expected one of {shown}")

    def _slot_name(self, slot: int) -> str:
        return self.inputs[min(slot, len(self.inputs) - 1)].rstrip("*?")

    def infer_inputs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
        """Return what the operands' types must be, given all types; None or an unknown type where nothing more is
        known.

        A rule that wants the operands' known elements too takes them, by slot, as the keyword argument `values`, which
        is empty by default. Raises ShapeError on a contradiction.
        """
        return operands

    def propagate(self, operands: tuple[Operand, ...], values: Values) -> tuple[Known | None, ...]:
        """Return the known elements of the results.

        Only called where an operand's elements are known, unless `knows_itself` says that types alone tell some.
        """
        return (None,) * self.output_count

    def macs(self, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> Dim:
        """Multiply-accumulate operations of one run; what else it computes are the steps of `work`."""
        return 0

    def attributes(self) -> dict[str, Any]:
        """Return the attributes that differ from their defaults, in the order of the fields."""
        attributes = {}
        for name in self.field_names:
            value = getattr(self, name)
            if name not in self.field_defaults or value != self.field_defaults[name]:
                attributes[name] = value
        return attributes

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={_show(value)}" for key, value in self.attributes().items())
        return f"{self.name}({shown})" if shown else self.name


def _show(value: object) -> str:
    return str(value.value) if isinstance(value, enum.Enum) else str(value)


O = TypeVar("O", bound=type[Operator])  # noqa: E741  one letter, as type variables have


@dataclass_transform(frozen_default=True)
def family(cls: O) -> O:
    """Make a class the base of operators: the attributes that it annotates are those of all of them."""
    cls.field_names = tuple(dict.fromkeys((*cls.field_names, *annotated_fields(cls))))
    return with_later_fields(cls)


@dataclass_transform(frozen_default=True)
def operator(cls: O) -> O:
    """Make a class of attributes an operator: frozen, compared by value, with a hash that is computed once."""
    if not (cls.__doc__ or sys.flags.optimize > 1):  # python -OO drops them
        raise GraphError(f"operator {cls.__name__} has no docstring")
    if cls.infer is Operator.infer:
        raise GraphError(f"operator {cls.__name__} states no inference rule")
    family(cls)
    cls.field_defaults = {name: getattr(cls, name) for name in cls.field_names if hasattr(cls, name)}
    cls.work = cls.work or cls.rounding.work
    if cls.nonexpansive is None:
        cls.nonexpansive = cls.rounding in (Rounding.VIEWS, Rounding.MOVES)
    if cls.stays_wide is None:
        cls.stays_wide = cls.rounding.stays_wide or (ORDER_LOST if cls.decides >= DecisionTrait.ORDERS else "")
    variadic = any(name.rstrip("?").endswith("*") for name in cls.inputs)
    cls.least_inputs = sum(not name.endswith("?") for name in cls.inputs)
    cls.most_inputs = None if variadic else len(cls.inputs)
    cls._kinds = {}
    cls.checks_attributes = cls.check_attributes is not Operator.check_attributes
    cls.has_backward = cls.infer_inputs is not Operator.infer_inputs
    cls.backward_reads = "values" in cls.infer_inputs.__code__.co_varnames
    cls.propagates = cls.propagate is not Operator.propagate
    return cls


def same_dtype(*operands: Operand) -> DType | None:
    """Return the dtype that all operands share. Raises ShapeError if two differ."""
    dtype: DType | None = None
    for operand in operands:
        if operand is not None:
            dtype = unify_dtype(dtype, operand.dtype)
    return dtype


def expect_number(operand: Operand, what: str) -> None:
    """Raise ShapeError for what is neither a scalar nor, as some write it, a vector of one element."""
    shape = None if operand is None else operand.shape
    if shape and (len(shape) > 1 or (isinstance(shape[0], int) and shape[0] != 1)):
        raise ShapeError(f"{what} has the shape {format_shape(shape)}, expected a scalar")


def same_rank(operand: TensorType, rank: int, what: str) -> Shape | None:
    """Return the operand's shape, checked to have `rank` axes. Raises ShapeError."""
    if operand.shape is not None and len(operand.shape) != rank:
        raise ShapeError(f"{what} has the shape {format_shape(operand.shape)}, expected {rank} axes")
    return operand.shape


def normalize_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front. Raises ShapeError if there is none."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} does not exist in a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def like_result(op: Operator, operands: tuple[Operand, ...], results: tuple[TensorType, ...]) -> tuple[Operand, ...]:
    """Return the operands' types where the first one has that of the first result: what `infer_inputs` may be."""
    return (refine(operands[0], results[0].shape, results[0].dtype), *operands[1:])


def elements_of(values: Values, slot: int) -> Known | None:
    """Return the known elements of the operand in a slot, None where there are none or the operand is absent."""
    return values[slot] if slot < len(values) else None


def refine(operand: Operand, shape: Shape | None = None, dtype: DType | None = None) -> Operand:
    """Return the operand's type with more known about it, for `infer_inputs`. Raises ShapeError on a contradiction."""
    if operand is None:
        return None
    merged = operand.shape
    if shape is not None:
        if merged is None:
            merged = shape
        elif len(merged) == len(shape):
            merged = tuple(map(unify_dim, merged, shape))
    return TensorType(unify_dtype(operand.dtype, dtype), merged)
