"""The smallest cut of a network between a source and a sink, after Dinic: shortest paths are filled level by level."""

from __future__ import annotations

from collections import deque

SOURCE, SINK = 0, 1
ENDLESS = 1 << 60


class FlowNetwork:
    """Places and directed edges with capacities. `SOURCE` and `SINK` are there from the start."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._ends: list[int] = []
        self._room: list[int] = []

    def add_vertex(self) -> int:
        """Return a new place."""
        self._edges.append([])
        return len(self._edges) - 1

    def connect(self, start: int, end: int, capacity: int, back: int = 0) -> None:
        """Add an edge from start to end, and `back` as much the other way."""
        for first, last, room in ((start, end, capacity), (end, start, back)):
            self._edges[first].append(len(self._ends))
            self._ends.append(last)
            self._room.append(room)

    def cut(self) -> tuple[int, set[int]]:
        """Return the cut's capacity, and the places on the source's side, as few as possible.

        Costs a walk over the network for each length of a path that is filled, and one for each unit of the cut.

        >>> network = FlowNetwork()
        >>> middle = network.add_vertex()
        >>> network.connect(SOURCE, middle, 3)
        >>> network.connect(middle, SINK, 2)
        >>> network.cut()
        (2, {0, 2})
        """
        total = 0
        while True:
            levels = self._levels()
            if SINK not in levels:
                return total, set(levels)
            following = [0] * len(self._edges)
            while True:
                flow = self._fill(levels, following)
                if not flow:
                    break
                total += flow

    def _levels(self) -> dict[int, int]:
        """Return how far each place is that can be reached from the source."""
        levels = {SOURCE: 0}
        queue = deque([SOURCE])
        while queue:
            vertex = queue.popleft()
            for edge in self._edges[vertex]:
                end = self._ends[edge]
                if self._room[edge] and end not in levels:
                    levels[end] = levels[vertex] + 1
                    queue.append(end)
        return levels

    def _fill(self, levels: dict[int, int], following: list[int]) -> int:
        """Fill one shortest path; 0 if there is none. `following` is where each place goes on looking."""
        path: list[int] = []
        vertex = SOURCE
        while vertex != SINK:
            edges = self._edges[vertex]
            while following[vertex] < len(edges):
                edge = edges[following[vertex]]
                end = self._ends[edge]
                if self._room[edge] and levels.get(end) == levels[vertex] + 1:
                    break
                following[vertex] += 1
            else:
                if not path:
                    return 0
                vertex = self._ends[path.pop() ^ 1]
                following[vertex] += 1
                continue
            path.append(edge)
            vertex = end
        least = min(self._room[edge] for edge in path)
        for edge in path:
            self._room[edge] -= least
            self._room[edge ^ 1] += least
        return least
