"""`mx.attribute`: attributes that all symbols made within a `with` get, `with mx.AttrScope(ctx_group="stage1"):`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from graphir.converters.mxnet.mx.scopes import Scopes


class AttrScope:
    """Attributes for the symbols made in it; those of scopes around it are added, its own win.

    Raises ValueError for a value that is no text.
    """

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"the attribute {name} is {value!r}, expected text")
        self._attr: dict[str, str] = kwargs

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """Return the attributes of a symbol for which `attr` is given."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        self._attr = {**_SCOPES.current()._attr, **self._attr}
        _SCOPES.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _SCOPES.leave()


def current() -> AttrScope:
    """Return the innermost scope of this thread; outside of all, one without attributes."""
    return _SCOPES.current()


_SCOPES = Scopes(AttrScope)
SUBGRAPH_NAMES: Counter[str] = Counter()
"""How many bodies of control flow there are of each name, which numbers them."""

__all__ = ["SUBGRAPH_NAMES", "AttrScope", "current"]
