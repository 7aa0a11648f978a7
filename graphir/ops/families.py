"""What the files of a package say of operators, one file a family, each imported when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graphir.errors import GraphirError

if TYPE_CHECKING:
    from .base import Operator

K = TypeVar("K")
V = TypeVar("V")


class FamilyTable(Mapping[K, V], Generic[K, V]):
    """One mapping of the mappings called `table` in the modules of a package.

    A key is looked for in the family that `home` names, then in all others, in their order, until it is found: those
    of common operators stand first, so that a small model imports a few. An operator that two families have is an
    error, told when both are imported. Going through the mapping imports all of them.
    """

    def __init__(
        self,
        package: str,
        families: Sequence[str],
        table: str,
        *,
        home: Callable[[K], str] = lambda key: "",
        convert: Callable[[K, Any], V] = lambda key, entry: entry,
        listed: Callable[[Any], Mapping[K, Any]] = lambda entries: entries,
    ) -> None:
        """`convert` gives the value for an entry of a family, `listed` the mapping for a family that has a list."""
        self._package = package
        self._table = table
        self._home = home
        self._convert = convert
        self._listed = listed
        self._pending = list(families)
        self._found: dict[K, V] = {}
        self._lock = Lock()

    def __getitem__(self, key: K) -> V:
        if key not in self._found and self._pending:
            with self._lock:
                if self._home(key) in self._pending:
                    self._load(self._home(key))
                while key not in self._found and self._pending:
                    self._load(self._pending[0])
        return self._found[key]

    def __iter__(self) -> Iterator[K]:
        with self._lock:
            while self._pending:
                self._load(self._pending[0])
        return iter(self._found)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, family: str) -> None:
        entries = self._listed(getattr(import_module(f"{self._package}.{family}"), self._table))
        for key in entries:
            if key in self._found:
                raise GraphirError(f"two families of {self._package} have {getattr(key, '__name__', key)}")
        self._found.update((key, self._convert(key, entry)) for key, entry in entries.items())
        self._pending.remove(family)


def family_of(operator: type[Operator]) -> str:
    """Return the family in whose file the IR has an operator, which mostly is the one that writes it."""
    return operator.__module__.rpartition(".")[2]
