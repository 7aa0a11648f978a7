"""The attributes of a foreign node, with its operator's defaults, as Python values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any


class Attributes(Mapping[str, Any]):
    """What a node states and what its operator takes for granted; not to be changed, for nodes may share it.

    `stated` are the names that the file states, `unknown` what it states beyond the operator's parameters, as text. A
    name without a value raises what `missing` makes of it.
    """

    __slots__ = ("_missing", "_values", "stated", "unknown")

    def __init__(
        self,
        values: Mapping[str, Any],
        stated: Collection[str],
        missing: Callable[[str], Exception],
        unknown: Mapping[str, str] | None = None,
    ) -> None:
        self._values = values
        self._missing = missing
        self.stated = stated
        self.unknown = unknown or {}

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        raise self._missing(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or `default` where neither the file nor the operator has one."""
        return self._values.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
