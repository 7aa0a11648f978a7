"""`mx.name`: how symbols without a name get one. `with mx.name.Prefix("stage1_"):` puts a text before all names."""

from __future__ import annotations

from collections import Counter

from graphir.converters.mxnet.mx.scopes import Scopes


class NameManager:
    """Numbers the symbols of each kind: `fullyconnected0`, `fullyconnected1`. Every `with` begins at 0 again.

    A class of one's own overrides `get`.
    """

    def __init__(self) -> None:
        self._counter: Counter[str] = Counter()

    def get(self, name: str | None, hint: str) -> str:
        """`name`, or where there is none the next one of the kind `hint`."""
        if name:
            return name
        number = self._counter[hint]
        self._counter[hint] += 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        _MANAGERS.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _MANAGERS.leave()


class Prefix(NameManager):
    """A manager that puts a text before every name, given ones too."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the name with the prefix."""
        return self._prefix + super().get(name, hint)


def current() -> NameManager:
    """Return the manager of the innermost `with` of this thread, or the thread's own."""
    return _MANAGERS.current()


_MANAGERS = Scopes(NameManager)

__all__ = ["NameManager", "Prefix", "current"]
