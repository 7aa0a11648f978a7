"""Control flow over a value of a network: symbols inside a node, of elementwise functions that keep a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.fuzz.networks.network import Document, Entry, Network, NoNode, document

Generator = np.random.Generator

FUNCTIONS = ("tanh", "sigmoid", "relu", "softsign", "_copy", "negative")
JOINS = ("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_maximum")


class Body:
    """A symbol inside: variables in the order in which its heads need them, as MXNet lists them."""

    def __init__(self, draw: Generator, np_shape: bool) -> None:
        self.draw, self.np_shape = draw, np_shape
        self.nodes: list[Document] = []

    def variable(self, name: str) -> int:
        """A variable."""
        self.nodes.append({"op": "null", "name": name, "inputs": []})
        return len(self.nodes) - 1

    def add(self, op: str, *reads: int, **attrs: object) -> int:
        """A node over first results."""
        texts = {key: str(value) for key, value in attrs.items()}
        node = {"op": op, "name": f"b{len(self.nodes)}", "inputs": [[place, 0, 0] for place in reads]}
        self.nodes.append(node | ({"attrs": texts} if texts else {}))
        return len(self.nodes) - 1

    def some(self, value: int, others: Sequence[int] = ()) -> int:
        """One to three functions of a value, joined with others that broadcast to it."""
        for _ in range(int(self.draw.integers(1, 4))):
            if others and self.draw.random() < 0.5:
                join = str(self.draw.choice(np.array(JOINS)))
                value = self.add(join, value, others[int(self.draw.integers(len(others)))])
            elif self.draw.random() < 0.3:
                value = self.add("_mul_scalar", value, scalar=0.5)
            else:
                value = self.add(str(self.draw.choice(np.array(FUNCTIONS))), value)
        return value

    def own(self, value: int) -> int:
        """The value as a node of its own: no head of a body may be a variable or come twice."""
        return self.add("_copy", value)

    def order(self, heads: Sequence[int]) -> list[str]:
        """The names of the variables that the heads need, depth first."""
        found: dict[str, None] = {}
        seen: set[int] = set()

        def visit(place: int) -> None:
            if place in seen:
                return
            seen.add(place)
            for read, *_ in self.nodes[place]["inputs"]:
                visit(read)
            if self.nodes[place]["op"] == "null":
                found.setdefault(self.nodes[place]["name"])

        for head in heads:
            visit(head)
        return list(found)

    def symbol(self, heads: Sequence[int]) -> Document:
        """The symbol, its nodes in the order in which MXNet writes them: depth first from the heads."""
        order: dict[int, None] = {}

        def visit(place: int) -> None:
            if place not in order:
                for read, *_ in self.nodes[place]["inputs"]:
                    visit(read)
                order.setdefault(place)

        for head in heads:
            visit(head)
        places = {old: new for new, old in enumerate(order)}
        nodes: list[dict[str, Any]] = [
            self.nodes[old] | {"inputs": [[places[read], 0, 0] for read, *_ in self.nodes[old]["inputs"]]}
            for old in order
        ]
        made = document(nodes, [(places[head], 0) for head in heads], self.np_shape)
        del made["attrs"]
        return made


def scan(network: Network, value: Entry, draw: Generator) -> None:
    """`_foreach` over the first axis, with a state and a weight."""
    array = value.array
    if array.ndim < 1 or array.shape[0] == 0 or (array.ndim == 1 and not network.np_shape):
        raise NoNode("no slices")
    size = array.shape[1:]
    state = network.variable(draw.standard_normal(size).astype(np.float32))
    weight = network.variable(draw.standard_normal(size).astype(np.float32), param=True)
    body = Body(draw, network.np_shape)
    x, s, w = (body.variable(name) for name in ("bx", "bs", "bw"))
    joined = body.add("tanh", body.add("broadcast_add", x, body.add("broadcast_mul", s, w)))
    output = body.own(body.some(joined, (s, w)))
    heads = [output, body.own(body.some(joined, (s,)))]
    second = draw.random() < 0.3
    if second:
        heads.insert(1, body.own(body.some(s)))
    order = body.order(heads)
    attrs = {
        "in_data_locs": [order.index("bx")], "in_state_locs": [order.index("bs")], "remain_locs": [order.index("bw")],
        "num_args": 4, "num_out_data": 1 + second, "num_outputs": 2 + second,
    }  # fmt: skip
    network.add("_foreach", [value, state, weight], attrs, heads=2 + second, subgraphs=[body.symbol(heads)])


def loop(network: Network, value: Entry, draw: Generator) -> None:
    """`_while_loop` that counts to its last iteration."""
    turns = int(draw.integers(1, 4))
    count = network.variable(np.zeros(() if network.np_shape and draw.random() < 0.5 else (1,), np.float32))
    condition = Body(draw, network.np_shape)
    goes_on = [condition.add("_lesser_scalar", condition.variable("bi"), scalar=turns)]
    body = Body(draw, network.np_shape)
    s, i = body.variable("bs"), body.variable("bi")
    moved = body.add("tanh", body.add("broadcast_add", body.some(s), i))
    heads = [body.own(body.some(moved, (s,))), body.add("_plus_scalar", i, scalar=1), body.own(moved)]
    order = body.order(heads)
    places = {"bi": 0, "bs": 1}
    attrs = {
        "cond_input_locs": [0], "func_input_locs": [places[name] for name in order],
        "func_var_locs": [order.index("bi"), order.index("bs")], "max_iterations": turns, "num_args": 4,
        "num_out_data": 1, "num_outputs": 3,
    }  # fmt: skip
    inside = [condition.symbol(goes_on), body.symbol(heads)]
    network.add("_while_loop", [count, value], attrs, heads=3, subgraphs=inside)


def conditional(network: Network, value: Entry, draw: Generator) -> None:
    """`_cond` on a number that is fed."""
    flag = network.variable(np.array([draw.integers(0, 2)], np.float32))
    other = network.variable(draw.standard_normal(value.array.shape).astype(np.float32))
    predicate = Body(draw, network.np_shape)
    chosen = [predicate.own(predicate.variable("bk"))]
    branches, places = [], []
    for _ in range(2):
        branch = Body(draw, network.np_shape)
        x, y = branch.variable("bx"), branch.variable("by")
        joined = branch.add(str(draw.choice(np.array(JOINS))), x, y)
        heads = [branch.own(branch.some(joined, (x, y))), branch.own(branch.some(x))]
        branches.append(branch.symbol(heads))
        places.append([{"bx": 1, "by": 2}[name] for name in branch.order(heads)])
    attrs = {
        "cond_input_locs": [0], "then_input_locs": places[0], "else_input_locs": places[1], "num_args": 6,
        "num_outputs": 2,
    }  # fmt: skip
    inside = [predicate.symbol(chosen), *branches]
    network.add("_cond", [flag, value, other], attrs, heads=2, subgraphs=inside)


__all__ = ["conditional", "loop", "scan"]
