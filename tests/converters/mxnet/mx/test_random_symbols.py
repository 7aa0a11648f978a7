"""Symbols composed at random, by the same steps with our `mx` and with live MXNet."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from types import ModuleType
from typing import Any

import pytest

from graphir.converters.mxnet import mx

SEEDS = range(150)
UNARY = ("relu", "sigmoid", "tanh", "exp", "square", "negative", "BlockGrad", "identity", "abs", "softmax", "sign")
BINARY = ("elemwise_add", "elemwise_mul", "broadcast_add", "broadcast_maximum", "maximum", "minimum", "dot")
LAYERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("FullyConnected", {"num_hidden": 6, "flatten": False}),
    ("FullyConnected", {"num_hidden": 6, "no_bias": True, "flatten": False}),
    ("BatchNorm", {"axis": 1, "fix_gamma": False}),
    ("LayerNorm", {}),
    ("LeakyReLU", {"act_type": "prelu"}),
    ("Activation", {"act_type": "softrelu"}),
    ("Dropout", {"p": 0.3}),
    ("Reshape", {"shape": (-1, 6)}),
    ("clip", {"a_min": -1.5, "a_max": 2}),
    ("transpose", {}),
    ("SoftmaxOutput", {}),
)
OPERATORS = ("+", "-", "*", "/", "**", "%", ">", "<=", "==")


def arithmetic(sign: str, left: Any, right: Any) -> Any:
    return eval(f"left {sign} right", {"left": left, "right": right})


class Steps:
    """One random composition; both libraries see the same steps."""

    def __init__(self, seed: int, library: Any) -> None:
        self.draw = random.Random(seed)
        self.library = library
        variable = library.sym.Variable
        self.held = [variable("data", shape=(6, 6)), variable("b", lr_mult=2.5), variable("c", dtype="int8")]

    def chosen(self) -> Any:
        return self.draw.choice(self.held)

    def unary(self) -> Any:
        called = self.draw.choice(UNARY)
        made = getattr(self.library.sym, called)(self.chosen())
        return made.sum(axis=(1,), keepdims=True) if self.draw.random() < 0.2 else made

    def binary(self) -> Any:
        return getattr(self.library.sym, self.draw.choice(BINARY))(self.chosen(), self.chosen())

    def operator(self) -> Any:
        sign, left = self.draw.choice(OPERATORS), self.chosen()
        right = self.draw.choice((2, -0.5, 3.0, 10**12))
        if self.draw.random() < 0.5:
            return arithmetic(sign, left, self.chosen())
        return arithmetic(sign, left, right) if self.draw.random() < 0.6 else arithmetic(sign, right, left)

    def layer(self) -> Any:
        called, attributes = self.draw.choice(LAYERS)
        more: dict[str, Any] = {"name": f"layer{self.draw.randrange(100)}"} if self.draw.random() < 0.4 else {}
        if self.draw.random() < 0.3:
            more["attr"] = {"__mood__": "so so", "lr_mult": "3"}
        return getattr(self.library.sym, called)(self.chosen(), **attributes, **more)

    def many(self) -> Any:
        sym = self.library.sym
        if self.draw.random() < 0.4:
            return sym.SliceChannel(self.chosen(), num_outputs=2)[self.draw.randrange(2)]
        called = self.draw.choice((sym.Concat, sym.add_n, sym.stack))
        return called(*(self.chosen() for _ in range(self.draw.randint(1, 12))))

    def composed(self) -> Any:
        """A symbol put in place of an argument of another."""
        symbol, other = self.chosen(), self.chosen()
        name = self.draw.choice(symbol.list_arguments())
        alone = symbol.list_inputs().count(name) == 1  # where there are several MXNet silently replaces none
        return symbol(**{name: other}) if alone and symbol.name != name else symbol

    def part(self) -> Any:
        inner = self.chosen().get_internals()
        return inner[self.draw.randrange(len(inner))]

    def copied(self) -> Any:
        symbol = self.chosen()
        return copy.deepcopy(symbol) if self.draw.random() < 0.5 else pickle.loads(pickle.dumps(symbol))

    def scoped(self) -> Any:
        with self.library.AttrScope(ctx_group="dev1", __own__="x"), self.library.name.Prefix("p_"):
            return self.layer()

    def run(self) -> Any:
        ways = (self.unary, self.binary, self.operator, self.layer, self.layer, self.many, self.composed, self.part,
                self.copied, self.scoped)  # fmt: skip
        for _ in range(self.draw.randint(3, 25)):
            self.held.append(self.draw.choice(ways)())
        heads = [self.chosen() for _ in range(self.draw.randint(1, 3))]
        return self.library.sym.Group([heads[0], *heads])


def answers(library: Any, seed: int) -> dict[str, Any]:
    with library.name.NameManager():
        symbol = Steps(seed, library).run()
    inner = symbol.get_internals()
    return {
        "text": symbol.tojson(),
        "listing": symbol.debug_str(),
        "internals": inner.tojson(),
        "arguments": symbol.list_arguments(),
        "states": symbol.list_auxiliary_states(),
        "outputs": inner.list_outputs(),
        "attributes": symbol.attr_dict(),
        "children": [str(inner[place].get_children()) for place in range(len(inner))],
        "again": library.sym.load_json(symbol.tojson()).tojson(),
    }


def shapes(library: Any, seed: int) -> Any:
    with library.name.NameManager(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        symbol = Steps(seed, library).run()
        given = {name: (6, 6) for name in ("b", "c") if name in symbol.list_arguments()}
        try:
            return symbol.infer_shape(**given)
        except library.base.MXNetError:
            return "refused"


@pytest.mark.live
@pytest.mark.parametrize("seed", SEEDS)
def test_random_composition(seed: int, mxnet: ModuleType) -> None:
    assert answers(mx, seed) == answers(mxnet, seed)


@pytest.mark.live
@pytest.mark.parametrize("seed", SEEDS)
def test_random_shapes(seed: int, mxnet: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    ours, live = shapes(mx, seed), shapes(mxnet, seed)
    assert ours == live
