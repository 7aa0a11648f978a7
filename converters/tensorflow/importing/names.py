"""The names of TensorFlow's nodes given to what is left of them."""

from __future__ import annotations

import re

from graphir.graph import Graph, Value
from graphir.passes.outcome import Outcome


def give_back_names(graph: Graph) -> Outcome:
    """Call every value that stands for a node's result by that result's name, and its node too, where the name is free.

    At import a value that is a step on the way gets another name, as an operator's result does that is brought back to
    channels last; where the Transpose behind it went, it is the result.
    """
    outcome = Outcome()
    taken = {node.name for node in graph.nodes}
    for node in graph.nodes:
        for value in node.outputs:
            wanted = _preferred_name(value)
            if not wanted or wanted in graph or graph.is_output(value):
                continue
            if node.name == value.name and wanted not in taken:
                node.name = wanted
            graph.rename(value, wanted)
            outcome.note(wanted, "its name in the file is free again")
    return outcome


def _preferred_name(value: Value) -> str:
    """Return the name that the value should have, "" where it is one of its own."""
    names = [_name(source) for source in value.sources]
    return "" if not names or value.name in names else names[0]


def _name(source: str) -> str:
    """Return the value's name for an endpoint: the node's own for the first result.

    >>> _name("conv:0"), _name("split:1")
    ('conv', 'split:1')
    """
    return source.removesuffix(":0")


def layer_name(loop: str) -> str:
    """Return what the layer that a loop computes is called: the scope around Keras's `while` or TensorFlow 1's frame.

    >>> layer_name("model/lstm_1/while"), layer_name("rnn/while/LoopCond/loop"), layer_name("while")
    ('model/lstm_1', 'rnn', 'while')
    """
    scopes = loop.split("/")
    indices = [index for index, scope in enumerate(scopes) if index and re.fullmatch(r"while(_\d+)?", scope)]
    return "/".join(scopes[: indices[-1]]) if indices else loop
