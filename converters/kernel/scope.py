"""What the importers' scopes share: one graph in the making, and what each node that was imported gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from graphir.converters.kernel.importing import BaseImporter
from graphir.converters.kernel.refusals import NODE_ERRORS, Refusal
from graphir.errors import FormatError
from graphir.graph import Graph, Value
from graphir.types import Type

K = TypeVar("K")


class BaseScope(Generic[K]):
    """One graph in the making: the main one, or one inside a node. `results` are those of each node, by its key."""

    def __init__(self, importer: BaseImporter, graph: Graph) -> None:
        self.graph = graph
        self.results: dict[K, Sequence[Value]] = {}
        self._problems = importer

    def attempt(
        self,
        function: Callable[[], object],
        node: tuple[str, str, Mapping[str, object]],
        stands_on_broken: Callable[[], bool],
    ) -> list[Value] | None:
        """Return what the import of a node gives, None where it raised one of `NODE_ERRORS`.

        `node` is its operator, its name and its attributes. The error is recorded. One that may follow from a broken
        operand, such as a contradiction between shapes, is not where the node `stands_on_broken` values.
        """
        try:
            result = function()
        except NODE_ERRORS as error:
            if isinstance(error, Refusal | FormatError) or not stands_on_broken():
                operator, name, attributes = node
                self._problems.record(operator, error, name, attributes)
            return None
        return [result] if isinstance(result, Value) else list(result)  # type: ignore[call-overload]

    def name_result(self, value: Value, name: str, source: str) -> None:
        """Let a result bear the source's name: as its own where it is new, else among its sources if there is one."""
        is_new = not value.sources and value.producer is not None and value.graph is self.graph
        if is_new and value.name != name and name not in self.graph and self._problems.names.claim(name):
            self.graph.rename(value, name)
        if source and source not in value.sources:
            value.sources = (*value.sources, source)

    def stand_ins(self, name: str, types: Iterable[Type]) -> list[Value]:
        """Return values for the results of a node that could not be imported, so that the rest can be looked at too."""
        values = [self.graph.add_input(self._problems.fresh_name(f"?{name}"), type_) for type_ in types]
        self._problems.broken.update(values)
        return values
