"""`Symbol.debug_str`: the listing of a graph's nodes as MXNet prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphir.converters.mxnet.mx.symbol.node import Entry, Node, post_order

RULE = "-" * 20


def debug_text(entries: Sequence[Entry]) -> str:
    """Return the listing. A variable alone, and an operator without inputs, is named only."""
    if len(entries) == 1 and entries[0][0].is_variable:
        return f"Variable:{entries[0][0].name}\n"
    if len(entries) == 1 and not entries[0][0].inputs:
        return f"AtomicFunctor  Op:{entries[0][0].op}\n"
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{place}]={node.name}({slot})" for place, (node, slot, _) in enumerate(entries)]
    for node in post_order(entries):
        lines += [f"Variable:{node.name}"] if node.is_variable else _operator(node)
    return "\n".join(lines) + "\n"


def _operator(node: Node) -> Iterator[str]:
    yield RULE
    yield f"Op:{node.op}, Name={node.name}"
    yield "Inputs:"
    for place, (producer, slot, version) in enumerate(node.inputs):
        state = f" version={version}" if producer.is_variable else ""
        yield f"\targ[{place}]={producer.name}({slot}){state}"
    if node.attrs:
        yield "Attrs:"
        yield from (f"\t{key}={text}" for key, text in sorted(node.attrs.items()))


__all__ = ["debug_text"]
