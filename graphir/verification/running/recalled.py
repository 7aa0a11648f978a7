"""A reference that is not run again for what it gave on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from graphir.converters.formats import Reference

Array = NDArray[Any]
# Of so many feeds, the last ones, results are kept: those as they are, three that rounding moved, and one beside.
FEEDS_KEPT = 5
# Of each what takes no more than this share of the memory budget.
KEPT_SHARE = 80


class Relay(Reference):
    """A reference that passes every request on to another."""

    def __init__(self, reference: Reference) -> None:
        self._reference = reference
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

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """Yield the reference's own."""
        return self._reference.stream(feeds, names)

    def slices(self, names: Sequence[str], feeds: Mapping[str, Array], most: int) -> list[list[str]] | None:
        """Return the reference's own."""
        return self._reference.slices(names, feeds, most)

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Return the reference's own."""
        return self._reference.run(feeds, outputs)

    def close(self) -> None:
        """Close the reference."""
        self._reference.close()


class Recalled(Relay):
    """A reference that keeps its smallest results on the last feeds, up to a share of `memory` bytes, and gives them
    when the very same feeds (that dictionary, not one that is equal) come again."""

    def __init__(self, reference: Reference, memory: int) -> None:
        super().__init__(reference)
        self._room = memory // KEPT_SHARE
        self._recent: list[tuple[Mapping[str, Array], dict[str, Array]]] = []

    def stream(self, feeds: Mapping[str, Array], names: Iterable[str]) -> Iterator[tuple[str, Array]]:
        """The named values, those that are kept first; nothing is run where all of them are."""
        wanted = list(dict.fromkeys(names))
        kept = self._kept_of(feeds)
        known = {name: kept[name] for name in wanted if name in kept}
        yield from known.items()
        lacking = [name for name in wanted if name not in known]
        for name, array in self._reference.stream(feeds, lacking) if lacking else ():
            self._keep(kept, name, array)
            yield name, array

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The outputs, or the named values."""
        wanted = list(self._reference.outputs if outputs is None else outputs)
        kept = self._kept_of(feeds)
        lacking = [name for name in wanted if name not in kept]
        found = self._reference.run(feeds, lacking) if lacking else {}
        found = {name: kept[name] if name in kept else found[name] for name in wanted}
        for name in sorted(lacking, key=lambda one: found[one].nbytes):
            self._keep(kept, name, found[name])
        return found

    def _kept_of(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """What is kept of these feeds, which become the last ones."""
        place = next((place for place, (fed, _) in enumerate(self._recent) if fed is feeds), None)
        one = (feeds, {}) if place is None else self._recent.pop(place)
        self._recent = [*self._recent[1 - FEEDS_KEPT :], one]
        return one[1]

    def _keep(self, kept: dict[str, Array], name: str, array: Array) -> None:
        if sum(held.nbytes for held in kept.values()) + array.nbytes <= self._room:
            kept[name] = array


__all__ = ["Recalled", "Relay"]
