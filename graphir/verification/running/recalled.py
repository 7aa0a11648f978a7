"""A reference that is not run again for what it gave on the same inputs, and reports how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphir.arrays import Array
from graphir.converters.formats import Reference
from graphir.verification.progress import Progress

from .slices import RecentRuns

# Of so many feeds, the last ones, results are kept: those as they are, three that rounding moved, and one beside.
FEEDS_KEPT = 5
# Of each what takes no more than this share of the memory budget, a sixteenth of it in all.
KEPT_SHARE = 80


class Recalled(Reference):
    """A reference that keeps its smallest results on the last feeds, up to a share of `memory` bytes, and gives them
    when the very same feeds (that dictionary, not one that is equal) come again. All else is the reference's own."""

    def __init__(self, reference: Reference, memory: int, progress: Progress | None = None) -> None:
        self._reference, self._progress = reference, progress or Progress()
        self._recent = RecentRuns(memory // KEPT_SHARE, FEEDS_KEPT)
        self.outputs, self.may_lack, self.keys = reference.outputs, reference.may_lack, reference.keys
        self.recorded, self.quantized = reference.recorded, reference.quantized
        self.insists = reference.insists

    def __getattr__(self, name: str) -> Any:
        if name == "label":  # a live framework knows its version when it runs
            return self._reference.label
        raise AttributeError(name)

    @property
    def itself(self) -> Reference:
        """The reference that computes."""
        return self._reference.itself

    def values(self) -> list[str]:
        """Return the reference's own."""
        return self._reference.values()

    def slices(self, names: Sequence[str], feeds: Mapping[str, Array], most: int) -> list[list[str]] | None:
        """Return the reference's own."""
        return self._reference.slices(names, feeds, most)

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the named values, those that are kept first; nothing is run where all of them are."""
        wanted = list(dict.fromkeys(names))
        kept = self._recent.of(feeds)
        known = {name: kept[name] for name in wanted if name in kept}
        yield from known.items()
        missing = [name for name in wanted if name not in known]
        results = iter(self._reference.stream(feeds, missing)) if missing else iter(())
        for _ in self._progress.values(len(missing)):
            result = next(results, None)
            if result is None:
                return
            self._recent.keep(feeds, dict([result]))
            yield result
        yield from results

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Return the outputs, or the named values."""
        wanted = list(self._reference.outputs if outputs is None else outputs)
        kept = self._recent.of(feeds)
        missing = [name for name in wanted if name not in kept]
        results = self._reference.run(feeds, missing) if missing else {}
        self._recent.keep(feeds, results)
        return {name: kept[name] if name in kept else results[name] for name in wanted}

    def close(self) -> None:
        """Close the reference."""
        self._reference.close()


__all__ = ["Recalled"]
