"""What all reports have in common: they print well, in a terminal and in a notebook."""

from __future__ import annotations

from typing import Any


class Printed:
    """A report with a text for people (`to_text`) and plain data for programs (`to_json`); printing it shows the text,
    and an interpreter the first line of it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = cls._first_line  # type: ignore[method-assign, assignment]  # dataclasses generate none where a class has one

    def to_text(self, *args: Any, **kwargs: Any) -> str:
        """Return the report for people."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data, keys in a fixed order."""
        raise NotImplementedError

    def _first_line(self) -> str:
        first = next(filter(None, map(str.strip, self.to_text().splitlines())), "")
        return f"<{type(self).__name__}: {first}>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from html import escape

        from graphir.safety.foreign_text import printable

        return f"<pre>{escape(printable(self.to_text()))}</pre>"
