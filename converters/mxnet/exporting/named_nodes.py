"""The MXNet nodes of a symbol in the making, each under a name of its own."""

from __future__ import annotations

from graphir.converters.mxnet.files.records import NNVMNode


class NamedNodes:
    """The nodes so far, in order. No two operators have the same name; variables are named by who makes them."""

    def __init__(self) -> None:
        self.nodes: list[NNVMNode] = []
        self._node_names: dict[str, int] = {}

    def rename(self, index: int, name: str) -> None:
        """Give a node this name, and the node that has it another one."""
        self._release(name)
        del self._node_names[self.nodes[index].name]
        self.nodes[index].name = self._fresh(name, index)

    def _fresh(self, wanted: str, index: int) -> str:
        """Return the name for the node of an index that no other node has."""
        name, number = wanted, 0
        while name in self._node_names:
            number += 1
            name = f"{wanted}_{number}"
        self._node_names[name] = index
        return name

    def _release(self, name: str) -> None:
        """Give the node that has a name another one, so that the name is free."""
        index = self._node_names.get(name)
        if index is not None:
            self.nodes[index].name = self._fresh(f"{name}_number", index)
            del self._node_names[name]
