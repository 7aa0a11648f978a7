"""The third result of running a part by itself: neither agreement nor a difference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NotRun:
    """A part that could not be run by itself, and why."""

    reason: str

    @classmethod
    def after(cls, error: Exception) -> NotRun:
        """Return the result of a run that raised: its reason is the first line of the error."""
        return cls((str(error) or type(error).__name__).splitlines()[0])


__all__ = ["NotRun"]
