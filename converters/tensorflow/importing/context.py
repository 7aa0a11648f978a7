"""What an operator's import function sees: one TensorFlow node, the graph that it goes into, and ways to say no."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphir.converters.kernel.importing import BaseImportNode
from graphir.converters.kernel.importing import Imported as Imported
from graphir.graph import Value
from graphir.ops.elementwise import Cast
from graphir.safety.limits import charge_list
from graphir.types import DType, Shape, Sym, TensorType

# So many elements does an entry of a table count for that is a list of Python's first.
ENTRY = 8

if TYPE_CHECKING:
    from numpy import ndarray

    from graphir.converters.kernel.attributes import Attributes
    from graphir.converters.tensorflow.files.records import TFFunction, TFNode
    from graphir.converters.tensorflow.importing.importer import Importer
    from graphir.converters.tensorflow.importing.scope import Scope

ImportFunction = Callable[["ImportNode"], Imported]


class ImportNode(BaseImportNode):
    """One TensorFlow node on its way into the graph.

    `attrs` are its attributes with TensorFlow's defaults (see `attributes` for what the values are). An import function
    returns the node's results in order, those at the end that inference never needs may be left out; a value that
    exists already may be one of them.
    """

    __slots__ = ("_scope", "attrs", "inputs", "record")

    JOINT = "__"
    SLOT = ":"

    importer: Importer
    inputs: tuple[Value, ...]

    def __init__(self, scope: Scope, record: TFNode, attrs: Attributes, operands: Sequence[Value]) -> None:
        super().__init__(scope.importer, scope.graph, record.name, record.op)
        self._scope = scope
        self.inputs = tuple(operands)
        self.record = record
        self.attrs = attrs

    @property
    def producer(self) -> int:
        """Return the version of the graph format, which decides what some old attributes mean."""
        return self.importer.source.graph.producer

    @property
    def depth(self) -> int:
        """Return how many nodes' functions this node stands inside of."""
        return self._scope.depth

    @property
    def functions(self) -> dict[str, TFFunction]:
        """Return the library of functions."""
        return self.importer.functions

    def behind(self, slot: int) -> ImportNode | None:
        """Return the node whose first result an input is, if that was imported here and nothing else uses it."""
        return self._scope.producer(self.record.inputs[slot])

    @property
    def given_shape(self) -> Shape | None:
        """Return the shape that the user gives for an input of this name, None for none."""
        return self.importer.shapes.get(self.name)

    @property
    def given_dtype(self) -> DType | None:
        """Return the dtype that the user gives for an input of this name, None for none."""
        return self.importer.dtypes.get(self.name)

    def used(self, slot: int) -> bool:
        """Return whether anything that is imported uses this result of the node."""
        return self._scope.is_used(self.name, slot)

    def elements(self, slot: int, what: str) -> ndarray[Any, Any]:
        """Return the elements of a small constant input of any dtype. Refuses what is computed; not for big weights."""
        value = self.input(slot)
        if value.tensor is not None:
            return value.tensor.numpy()
        known = self.integers(slot, what)
        import numpy as np

        shape = value.known.shape if value.known is not None else ()
        return np.array(known, (value.dtype or DType.INT64).numpy()).reshape(shape)

    def new_input(self, type_: TensorType) -> Value:
        """Return an input of the graph that is the node's result."""
        return self.graph.add_input(self.fresh_name(self.name), type_)

    def charge_vector(self, numbers: Sequence[int]) -> None:
        """Count the numbers of a list, as those of a table."""
        self.charge_table(len(numbers))

    def charge_table(self, count: int) -> None:
        """Count the entries of a table that the node makes, before it does. Raises FormatError beyond the limit.

        Each is an object of Python's first, which counts for several elements.
        """
        charge_list(ENTRY * count, f"node {self.name} ({self.op}): a table of numbers")

    def int64(self, value: Value) -> Value:
        """Return an integer value as int64, which the IR wants for shapes and axes where TensorFlow often has int32.

        Known elements become a constant, and a conversion from int64 is undone, so that no conversions pile up.
        """
        if value.dtype is DType.INT64:
            return value
        known = value.integers
        if known is not None and value.known is not None:
            import numpy as np

            return self.constant(np.array(known, np.int64).reshape(value.known.shape))
        producer = value.producer
        if producer is not None and isinstance(producer.op, Cast):
            source = producer.inputs[0]
            if source is not None and source.dtype is DType.INT64:
                return source
        return self.step(Cast(DType.INT64), value, suffix="int64")

    def sizes_operand(self, value: Value) -> Value:
        """Return the operand that says a new shape: constant with one -1 where a single size of it is no number."""
        known = value.known
        if known is not None:
            numbers = [size for size in known.elements if isinstance(size, int)]
            symbols = [size for size in known.elements if isinstance(size, Sym)]
            is_open = len(symbols) == 1 and len(numbers) == len(known.elements) - 1
            if is_open and -1 not in numbers and 0 not in numbers:
                return self.vector([size if isinstance(size, int) else -1 for size in known.elements])
        return self.int64(value)

    def as_attribute(self, value: Value, name: str, default: DType = DType.INT32) -> Value:
        """Return the node's result, an int64 value, in the integer dtype that an attribute states (`out_type`)."""
        wanted = self.attrs.get(name, default)
        if value.dtype is wanted:
            return value
        return self.emit(Cast(wanted), value)


def result_name(node: str, slot: int) -> str:
    """Return the name of a node's result: the node's own for the first, `node:1` and so on for the others."""
    return node if slot == 0 else f"{node}:{slot}"
