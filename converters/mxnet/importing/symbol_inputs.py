"""The order of a symbol's variables, by which a node with symbols inside it gives them their values."""

from __future__ import annotations

from graphir.converters.mxnet.files.records import VARIABLE, NNVMGraph


def variables_in_order(symbol: NNVMGraph) -> list[int]:
    """The indices of the variables that the heads depend on, in the order in which MXNet lists a symbol's inputs.

    That is a walk from the heads that visits a node behind its inputs, whatever order the file has. Linear.
    """
    found: list[int] = []
    seen: set[int] = set()
    stack = [(index, 0) for index, _ in reversed(symbol.heads)]
    while stack:
        index, slot = stack.pop()
        if slot == 0:
            if index in seen:
                continue
            seen.add(index)
        inputs = symbol.nodes[index].inputs
        if slot < len(inputs):
            stack += [(index, slot + 1), (inputs[slot][0], 0)]
        elif symbol.nodes[index].op == VARIABLE:
            found.append(index)
    return found


__all__ = ["variables_in_order"]
