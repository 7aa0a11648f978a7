"""Changes of JSON trees, and of the text that they are written as."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.bytes_ import mutate_bytes
from tests.fuzz.case import Random, number

LONG = "9" * 5000
TEXTS = (
    "", " ", "None", "True", "False", "nan", "inf", "-inf", "1e400", "1.5", "()", "(1,)", "(0, 0)", "(-1, -1)", "[",
    "(", "(1, 2, 3, 4, 5, 6, 7, 8, 9)", "(1000000000,)", "(1000000, 1000000)", "(2147483648, 4294967296)", "null",
    "a/b", "..", "../x", "\x00", "\x1b[2J", "\u202e", "\ud800", "x" * 300, "x" * 100_000, LONG, f"-{LONG}",
    f"({LONG},)", "0x10", "1_000", "\u0663", "1" + "0" * 400, "(" * 2000, "[" * 100_000, "float32", "int64", "string",
    "bfloat16", "same_upper",
)  # fmt: skip

Path = tuple[Any, ...]


def paths(tree: Any, limit: int = 20_000) -> list[Path]:
    """The way to every part of a tree, the whole first."""
    found: list[Path] = []
    left: list[tuple[Path, Any]] = [((), tree)]
    while left and len(found) < limit:
        path, part = left.pop()
        found.append(path)
        if isinstance(part, dict):
            left += [((*path, key), value) for key, value in part.items()]
        elif isinstance(part, list):
            left += [((*path, slot), value) for slot, value in enumerate(part)]
    return found


def at(tree: Any, path: Path) -> Any:
    """The part at the end of a way."""
    for step in path:
        tree = tree[step]
    return tree


def mutate_json(
    chance: Random, data: bytes, texts: Sequence[str] = TEXTS, more: Sequence[Callable[[Random, Any], Any]] = ()
) -> bytes:
    """The document with one to four changes. `more` are a format's own changes of the tree, taken half of the time."""
    try:
        tree = json.loads(data)
    except ValueError:
        return mutate_bytes(chance, data)
    if chance.random() < 0.06:
        return mutate_bytes(chance, data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        own = more and chance.random() < 0.5
        tree = chance.choice(more)(chance, tree) if own else change_tree(chance, tree, texts)
    text = json.dumps(tree)
    if chance.random() < 0.06:
        text = _change_text(chance, text)
    return text.encode("utf-8", "surrogatepass")


def change_tree(chance: Random, tree: Any, texts: Sequence[str] = TEXTS) -> Any:
    """A copy of the tree with one part replaced, removed, repeated, moved or renamed."""
    tree = copy.deepcopy(tree)
    places = paths(tree)
    path = chance.choice(places)
    if not path:
        return change_part(chance, tree, texts) if chance.random() < 0.1 else tree
    parent, key = at(tree, path[:-1]), path[-1]
    match chance.randrange(8):
        case 0:
            del parent[key]
        case 1:
            parent[key] = copy.deepcopy(at(tree, chance.choice(places)))
        case 2 if isinstance(parent, list):
            parent[key:key] = [copy.deepcopy(parent[key]) for _ in range(chance.choice((1, 2, 50)))]
        case 2:
            parent[chance.choice((*texts, *(str(step) for step in path)))] = parent[key]
        case 3 if isinstance(parent, list):
            other = chance.randrange(len(parent))
            parent[key], parent[other] = parent[other], parent[key]
        case 3:
            parent[chance.choice(list(parent))] = parent[key]
        case _:
            parent[key] = change_part(chance, parent[key], texts)
    return tree


def change_part(chance: Random, part: Any, texts: Sequence[str] = TEXTS) -> Any:
    """Another value for a part: mostly of its kind, sometimes of another."""
    roll = chance.random()
    if roll < 0.15:
        deep: Any = part
        for _ in range(chance.choice((1, 2, 10, 50))):  # `_change_text` nests as deep as no tree can
            deep = chance.choice(([deep], {"a": deep}))
        return deep
    if roll < 0.3:
        return chance.choice((None, True, False, [], {}, 0, 1.5, "", [[]], float("nan"), float("inf"), 1e308))
    if isinstance(part, bool):
        return not part
    if isinstance(part, int | float):
        return number(chance) if chance.random() < 0.8 else part + chance.choice((-1, 1, 0.5))
    if isinstance(part, str):
        return chance.choice(texts) if chance.random() < 0.6 else _change_number_in(chance, part)
    return chance.choice((number(chance), chance.choice(texts)))


def _change_number_in(chance: Random, text: str) -> str:
    """The text with one of the numbers in it replaced; without one, a piece of it repeated or left out."""
    runs = []
    start = None
    for position, character in enumerate([*text, " "]):
        digit = character.isascii() and character.isdigit()
        if digit and start is None:
            start = position
        elif not digit and start is not None:
            runs.append((start, position))
            start = None
    if not runs:
        middle = chance.randrange(len(text) + 1)
        return (
            text[:middle] + chance.choice(("", text, ",", "(", ")", "-", ".5")) + text[middle + chance.randrange(2) :]
        )
    start, stop = chance.choice(runs)
    return text[:start] + (LONG if chance.random() < 0.03 else str(number(chance))) + text[stop:]


def _change_text(chance: Random, text: str) -> str:
    """What a tree of Python's cannot say: long and odd numbers, keys twice, nesting without end."""
    digits = [slot for slot, character in enumerate(text) if character.isdigit()]
    at = chance.choice(digits) if digits else 0
    match chance.randrange(6):
        case 5:
            depth = chance.choice((200, 900, 20_000))
            return text[:at] + "[" * depth + "1" + "]" * depth + text[at + 1 :]
        case 0:
            return text[:at] + LONG + text[at + 1 :]
        case 1:
            return text[:at] + chance.choice(("1e999", "-0", "NaN", "-Infinity", "1.0", "01", "+1")) + text[at + 1 :]
        case 2:
            return text[:at] + "[" * chance.choice((500, 100_000)) + text[at + 1 :]
        case 3:
            return text.replace("{", chance.choice(('{"name": "x", ', '{"": 1, ', '{"op": "null", ')), 3)
        case _:
            return "\ufeff" + text


__all__ = ["LONG", "TEXTS", "at", "change_part", "change_tree", "mutate_json", "paths"]
