"""The classes of a file: what repeats in a network becomes a block of its own, used with other numbers each time.

A network is cut wherever a single value leads on. Pieces between cuts that have the same statements, layers and wiring
are uses of one class: the numbers in which their layers differ are its arguments. Uses in a row are an nn.Sequential.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from graphir.converters.pytorch.exporting.block_arguments import (
    ATTRIBUTE,
    block_arguments,
    given_arguments,
    skeleton,
)
from graphir.converters.pytorch.exporting.compose import (
    CHAIN,
    Parameter,
    input_names,
    needed_statements,
    targets_of,
    texts_of,
)
from graphir.converters.pytorch.exporting.expression import (
    MARK,
    Expr,
    Reference,
    level_of,
    references,
    replace_references,
)
from graphir.converters.pytorch.exporting.methods import Method, parts_of
from graphir.converters.pytorch.exporting.naming import OF_MODULES, Names
from graphir.converters.pytorch.exporting.state import Export, Layer, Statement, Stored
from graphir.graph import Value
from graphir.tensor import Tensor
from graphir.types import ANYTHING

# No block is made of less: uses, and statements of one.
LEAST_USES, LEAST_STATEMENTS = 2, 3
LONGEST_RUN = 12
MOST_CLASSES = 8
LAYER_CALL = re.compile(r"self\.[A-Za-z_][A-Za-z0-9_]*\(\x00\d+:0\x00\)")
BLOCK_NUMBER = re.compile(r"_(block|unit|layer|cell)?_?\d+$")


@dataclass
class ClassDesign:
    """A class: the arguments of its `__init__` with their values in each use, the statements there, which attributes
    are buffers, and its methods, of which `forward` is the last. `values` are the graph's values by number."""

    name: str
    arguments: dict[str, list[str]]
    made: list[str]
    buffers: list[str]
    methods: list[Method]
    values: Mapping[int, Value]
    says_shapes: bool = False
    scope: str = ""


@dataclass
class Design:
    """The classes of a file, each behind those that it uses; `keys` are the keys of the state_dict by those that a
    single class without blocks would have."""

    classes: list[ClassDesign]
    keys: dict[str, str]


@dataclass(frozen=True)
class _Piece:
    """Statements between two cuts: what they read and give, the attributes in their order, and `form`, which is equal
    for pieces that one class can stand for."""

    statements: tuple[Statement, ...]
    inputs: tuple[int, ...]
    output: int
    attributes: tuple[str, ...]
    form: object


@dataclass(frozen=True)
class _Branch:
    """Layers one behind the other from an input of a piece: their statements, what they begin with and give, and which
    of the piece's other statements reads that."""

    statements: tuple[Statement, ...]
    source: int
    output: int
    reader: int


def _branches(piece: _Piece) -> Iterator[_Branch]:
    """The chains of layers from the piece's first input to a statement that reads another value too."""
    if len(piece.inputs) != 1 or any(statement.blocks for statement in piece.statements):
        return
    (source,) = piece.inputs
    readers: dict[int, list[Statement]] = defaultdict(list)
    for statement in piece.statements:
        for number in references(statement.text):
            readers[number].append(statement)
    if len(readers[source]) < 2:
        return
    for begin in readers[source]:
        chain: list[Statement] = []
        statement = begin
        while LAYER_CALL.fullmatch(statement.text) and len(statement.targets) == 1 and not statement.pattern:
            chain.append(statement)
            (output,) = statement.targets
            if len(readers[output]) != 1:
                break
            statement = readers[output][0]
        if chain and len(readers[chain[-1].targets[0]]) == 1 and len(references(statement.text)) > 1:
            rest = [other for other in piece.statements if other not in chain]
            yield _Branch(tuple(chain), source, chain[-1].targets[0], rest.index(statement))


def _without_branch(piece: _Piece, branch: _Branch) -> list[Statement]:
    """The piece's statements as they would be if its input led where the branch does."""

    def joined(number: int) -> Reference:
        return Reference(branch.source if number == branch.output else number)

    return [
        replace(statement, text=Expr(replace_references(statement.text, joined), level_of(statement.text)))
        for statement in piece.statements if statement not in branch.statements
    ]  # fmt: skip


def design(export: Export, outputs: Sequence[Expr], name: str, *, blocks: bool = True) -> Design:
    """Lay out the classes of a module, a single one without `blocks`."""
    needed = {number for text in outputs for number in references(text)}
    statements = needed_statements(export.statements, needed)
    maker = _Maker(export, statements, outputs, has_parts=blocks)
    if blocks:
        maker.find_blocks()
    return maker.result(name)


class _Maker:
    def __init__(
        self, export: Export, statements: list[Statement], outputs: Sequence[Expr], *, has_parts: bool
    ) -> None:
        self._export, self._statements, self._outputs = export, statements, list(outputs)
        self._has_parts = has_parts
        self._layers: dict[str, Layer] = dict(export.layers)
        self._stored: dict[str, Stored] = dict(export.stored)
        self._tied = {name for tie in export.ties for name in ATTRIBUTE.findall(tie)}
        self._classes: list[ClassDesign] = []
        self._uses: Counter[str] = Counter()
        # Of attributes that some uses of a block have: the constructors of the layers in them, none where it is absent.
        self._branches: dict[str, list[str]] = {}
        self._prefixes: dict[str, str] = {}

    def result(self, name: str) -> Design:
        """The classes, the network's own last."""
        export, graph = self._export, self._export.graph
        named = zip(graph.inputs, input_names(graph.inputs), strict=True)
        inputs = [Parameter(export.number(value), text) for value, text in named]
        made = [f"self.{layer.attribute} = {layer.constructor}" for layer in self._layers.values()]
        made += [stored.statement for stored in self._stored.values()]
        buffers = [stored.attribute for stored in self._stored.values() if stored.is_buffer]
        types, results = ([value.type for value in values] for values in (graph.inputs, graph.outputs))
        forward = Method("forward", inputs, self._statements, self._outputs, types, results)
        methods = parts_of(forward, export.values) if self._has_parts else [forward]
        net = ClassDesign(name, {}, made + export.ties, buffers, methods, export.values, says_shapes=True)
        keys = {}
        for key in tensors_of(export):
            first, dot, rest = key.partition(".")
            keys[key] = f"{self._prefixes.get(first, first)}{dot}{rest}"
        return Design([*self._classes, net], keys)

    def find_blocks(self) -> None:
        """Replace what repeats by calls of blocks, the largest repetition first."""
        self._unify_branches()
        for _ in range(MOST_CLASSES):
            pieces = self._pieces()
            found = _best_run(pieces)
            if found is None:
                return
            length, starts = found
            self._replace([_merged(pieces[start : start + length]) for start in starts])

    def _unify_branches(self) -> None:
        """Give pieces that differ only by layers on a second way of their input, as a projection of the shortcut, one
        form: these layers become one attribute, which is an nn.Identity where there are none."""
        plain: dict[object, list[_Piece]] = defaultdict(list)
        pieces = self._pieces()
        for piece in pieces:
            plain[piece.form].append(piece)
        done: dict[object, int] = {}
        for piece in pieces:
            for branch in _branches(piece):
                rest = _without_branch(piece, branch)
                read = {number for statement in rest for number in references(statement.text)}
                used = [name for name in piece.attributes if any(f"self.{name}(" in text for text in texts_of(rest))]
                given = [number for number in piece.inputs if number in read]
                form = self._form(rest, given, used, piece.output)
                partners = plain.get(form, []) if form is not None else []
                if partners:
                    place = branch.reader
                    self._add_branch(piece, branch, done.get(form, place))
                    if form not in done:
                        for partner in partners:
                            self._add_identity(partner, place)
                    done.setdefault(form, place)
                    break

    def _add_branch(self, piece: _Piece, branch: _Branch, place: int) -> None:
        """Make the layers of a branch one attribute, whose call comes first."""
        attributes = [ATTRIBUTE.findall(statement.text)[0] for statement in branch.statements]
        layers = [self._layers[name] for name in attributes]
        attribute = self._export.attributes.take(f"{_common(piece.attributes)}shortcut")
        self._branches[attribute] = [layer.constructor for layer in layers]
        made = Layer(attribute, f"nn.Sequential({', '.join(self._branches[attribute])})", {})
        self._layers = {
            **{name: made if name == attributes[0] else layer for name, layer in self._layers.items()
               if name not in attributes[1:]}
        }  # fmt: skip
        self._layers = {layer.attribute: layer for layer in self._layers.values()}
        for index, name in enumerate(attributes):
            self._prefixes[name] = attribute if len(attributes) == 1 else f"{attribute}.{index}"
        call = Statement((branch.output,), f"self.{attribute}({Reference(branch.source)})", names=("shortcut",))
        gone = {id(statement) for statement in branch.statements}
        first = id(piece.statements[0])
        self._statements = [
            made
            for statement in self._statements
            for made in ([call] if id(statement) == first else []) + ([] if id(statement) in gone else [statement])
        ]

    def _add_identity(self, piece: _Piece, place: int) -> None:
        """Have what reads the input of a piece at a place read it through an attribute that changes nothing."""
        (source, *_) = piece.inputs
        attribute = self._export.attributes.take(f"{_common(piece.attributes)}shortcut")
        number = self._export.new_number()
        self._branches[attribute] = []
        self._layers[attribute] = Layer(attribute, "nn.Identity()", {})
        call = Statement((number,), f"self.{attribute}({Reference(source)})", names=("shortcut",))
        first, reader = id(piece.statements[0]), id(piece.statements[place])
        statements: list[Statement] = []
        for statement in self._statements:
            if id(statement) == first:
                statements.append(call)
            if id(statement) == reader:
                text = replace_references(
                    statement.text, lambda held: Reference(number if held == source else held)
                )
                statement = replace(statement, text=Expr(text, level_of(statement.text)))
            statements.append(statement)
        self._statements = statements

    def _pieces(self) -> list[_Piece]:
        """The statements between cuts. What cannot be part of a block has a form of its own."""
        last: dict[int, int] = {}
        for place, statement in enumerate(self._statements):
            last.update((number, place) for text in texts_of([statement]) for number in references(text))
        last.update((number, len(self._statements)) for text in self._outputs for number in references(text))
        wide = {self._export.number(value) for value in self._export.graph.inputs}
        wide |= {number for statement in self._statements if statement.is_setting for number in statement.targets}
        self._uses = Counter(name for text in texts_of(self._statements) for name in set(ATTRIBUTE.findall(text)))
        pieces: list[_Piece] = []
        live: set[int] = set()
        start = 0
        for place, statement in enumerate(self._statements):
            live |= set(statement.targets)
            live = {number for number in live if last.get(number, -1) > place}
            if len(live - wide) <= 1:
                pieces.append(self._piece(self._statements[start : place + 1], live - wide))
                start = place + 1
        return pieces

    def _piece(self, statements: Sequence[Statement], live: set[int]) -> _Piece:
        given = set(targets_of(statements))
        read = dict.fromkeys(number for text in texts_of(statements) for number in references(text))
        inputs = tuple(number for number in read if number not in given)
        attributes = tuple(dict.fromkeys(name for text in texts_of(statements) for name in ATTRIBUTE.findall(text)))
        output = next(iter(live & given), -1)
        form: object = object()
        if output >= 0 and not any(statement.blocks or statement.keeps for statement in statements):
            found = self._form(statements, inputs, attributes, output)
            form = form if found is None else found
        return _Piece(tuple(statements), inputs, output, attributes, form)

    def _form(
        self, statements: Sequence[Statement], inputs: Sequence[int], attributes: Sequence[str], output: int
    ) -> object | None:
        """What pieces have in common that one class stands for, None for those with attributes that others use."""
        if any(name in self._tied or self._uses[name] != 1 for name in attributes):
            return None
        numbers: dict[int, int] = {number: place for place, number in enumerate(inputs)}
        places = {name: place for place, name in enumerate(attributes)}
        texts = []
        for statement in statements:
            for number in statement.targets:
                numbers.setdefault(number, len(numbers))
            text = MARK.sub(lambda met: f"<{numbers[int(met[1])]}:{met[2]}>", statement.text)
            text = ATTRIBUTE.sub(lambda met: f"self.{places[met[1]]}", text)
            texts.append((statement.pattern, len(statement.targets), text))
        return numbers[output], tuple(texts), tuple(
            "branch" if name in self._branches else skeleton(self._text_of(name)) for name in attributes
        )

    def _text_of(self, attribute: str) -> str:
        """How an attribute is made."""
        layer = self._layers.get(attribute)
        return layer.constructor if layer is not None else self._stored[attribute].statement

    def _replace(self, uses: Sequence[_Piece]) -> None:
        """Put calls of a new class in the place of its uses."""
        first = uses[0]
        texts = [[self._text_of(name) for name in use.attributes] for use in uses]
        branches = [[self._branches.get(name) for name in use.attributes] for use in uses]
        arguments, made = block_arguments(texts, branches)
        names = _inner_names(first.attributes, self._branches)
        name = f"Block{len(self._classes) + 1}" if self._classes else "Block"
        inner = dict(zip(first.attributes, names, strict=True))
        made = [_assigned(text, inner[old], old) for text, old in zip(made, first.attributes, strict=True)]
        made = [line for text in made for line in text.split("\n")]
        buffers = [inner[old] for old in first.attributes if old in self._stored and self._stored[old].is_buffer]
        statements = [
            replace(statement, text=_with_attributes(statement.text, inner)) for statement in first.statements
        ]
        parameters = [
            Parameter(number, f"{CHAIN}{place + 1}" if place else CHAIN) for place, number in enumerate(first.inputs)
        ]
        types = [ANYTHING] * len(parameters)
        forward = Method("forward", parameters, statements, [Reference(first.output)], types)
        block = ClassDesign(name, arguments, made, buffers, parts_of(forward, self._export.values), self._export.values)
        block.scope = _common(first.attributes)
        self._classes.append(block)
        calls: dict[int, Statement] = {}
        dropped: set[int] = set()
        group: list[tuple[_Piece, str]] = []
        scopes = _scopes(uses)
        taken = Names({*OF_MODULES, *self._layers, *self._stored})
        for place, use in enumerate(uses):
            call = f"{name}({', '.join(given_arguments(arguments, place))})"
            group.append((use, call))
            follows = place + 1 < len(uses) and uses[place + 1].inputs == (use.output,) and len(use.inputs) == 1
            if follows and scopes[place + 1] == scopes[place] and self._is_next(use, uses[place + 1]):
                continue
            attribute = taken.take(scopes[place], "block")
            self._add(attribute, group, names)
            head = group[0][0]
            read = ", ".join(str(Reference(number)) for number in head.inputs)
            value = self._export.values.get(use.output)
            calls[id(head.statements[0])] = Statement((use.output,), f"self.{attribute}({read})", value)
            group = []
        for use in uses:
            dropped |= {id(statement) for statement in use.statements}
        self._statements = [
            calls.get(id(statement), statement)
            for statement in self._statements if id(statement) in calls or id(statement) not in dropped
        ]  # fmt: skip

    def _is_next(self, use: _Piece, other: _Piece) -> bool:
        """Whether nothing else reads what a use gives."""
        read = sum(number == use.output for text in texts_of(self._statements) for number in references(text))
        return read == sum(number == use.output for text in texts_of(other.statements) for number in references(text))

    def _add(self, attribute: str, group: Sequence[tuple[_Piece, str]], names: Sequence[str]) -> None:
        """The attribute of a block, or of an nn.Sequential of several, in the place of what it holds."""
        constructors = [call for _, call in group]
        if len(group) == 1:
            constructor = constructors[0]
        elif len(set(constructors)) == 1:
            constructor = f"nn.Sequential(*[{constructors[0]} for _ in range({len(group)})])"
        else:
            constructor = f"nn.Sequential({', '.join(constructors)})"
        layers: dict[str, Layer] = {}
        gone = {name for use, _ in group for name in use.attributes}
        placed = False
        for name, layer in self._layers.items():
            if name in gone:
                if not placed:
                    layers[attribute], placed = Layer(attribute, constructor, {}), True
                continue
            layers[name] = layer
        if not placed:
            layers[attribute] = Layer(attribute, constructor, {})
        self._layers = layers
        self._stored = {name: stored for name, stored in self._stored.items() if name not in gone}
        for place, (use, _) in enumerate(group):
            outer = attribute if len(group) == 1 else f"{attribute}.{place}"
            for old, inner in zip(use.attributes, names, strict=True):
                for flat, now in list(self._prefixes.items()):
                    if now == old or now.startswith(f"{old}."):
                        self._prefixes[flat] = f"{outer}.{inner}{now[len(old):]}"
                self._prefixes.setdefault(old, f"{outer}.{inner}")


def drop_unused(export: Export, outputs: Sequence[Expr]) -> None:
    """Let go the layers and tensors that nothing needed reads."""
    needed = {number for text in outputs for number in references(text)}
    texts = [*outputs, *texts_of(needed_statements(export.statements, needed)), *export.ties]
    used = {name for text in texts for name in ATTRIBUTE.findall(text)}
    for attributes in (export.layers, export.stored):
        for name in attributes.keys() - used:
            attributes.pop(name)


def tensors_of(export: Export) -> dict[str, Tensor]:
    """The tensors of the state_dict by their keys, in a single class without blocks."""
    found = {stored.attribute: stored.tensor for stored in export.stored.values() if stored.tensor is not None}
    for layer in export.layers.values():
        found |= {f"{layer.attribute}.{name}": tensor for name, tensor in layer.tensors.items()}
    return found


def _best_run(pieces: Sequence[_Piece]) -> tuple[int, list[int]] | None:
    """The run of pieces that is worth most as a block, with a layer in it: its length, and where it begins each time.
    Linear in the number of pieces."""
    best: tuple[int, int, list[int]] | None = None
    codes: dict[object, int] = {}
    coded = [codes.setdefault(piece.form, len(codes)) for piece in pieces]
    for length in range(1, min(LONGEST_RUN, len(coded) // LEAST_USES) + 1):
        places: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for start in range(len(coded) - length + 1):
            key = tuple(coded[start : start + length])
            if not places[key] or start >= places[key][-1] + length:
                places[key].append(start)
        for starts in places.values():
            if len(starts) < LEAST_USES:
                continue
            run = pieces[starts[0] : starts[0] + length]
            size = sum(len(piece.statements) for piece in run)
            gain = (len(starts) - 1) * size
            has_layer = any(piece.attributes for piece in run)
            if has_layer and size >= LEAST_STATEMENTS and (best is None or gain > best[0]):
                best = gain, length, starts
    return None if best is None else best[1:]


def _merged(pieces: Sequence[_Piece]) -> _Piece:
    """Pieces that follow each other as one."""
    statements = tuple(statement for piece in pieces for statement in piece.statements)
    given = set(targets_of(statements))
    inputs = tuple(dict.fromkeys(number for piece in pieces for number in piece.inputs if number not in given))
    attributes = tuple(dict.fromkeys(name for piece in pieces for name in piece.attributes))
    return _Piece(statements, inputs, pieces[-1].output, attributes, None)


def _with_attributes(text: str, names: Mapping[str, str]) -> Expr:
    """A text that reads attributes by other names."""
    return Expr(ATTRIBUTE.sub(lambda met: f"self.{names[met[1]]}", text), level_of(text))


def _assigned(text: str, name: str, old: str) -> str:
    """The statement of `__init__` that makes an attribute."""
    if text.startswith("self."):
        return text.replace(f"self.{old} ", f"self.{name} ", 1).replace(f'"{old}"', f'"{name}"', 1)
    if text.startswith("nn.Identity()\n"):
        return f"self.{name}: nn.Module = {text}".replace("self.SHORTCUT", f"self.{name}")
    return f"self.{name} = {text}"


def _common(attributes: Sequence[str]) -> str:
    """The scope that attributes have in common, with what separates it from the rest."""
    first, last = min(attributes), max(attributes)
    pairs = enumerate(zip(first, last, strict=False))
    length = next((place for place, (one, other) in pairs if one != other), len(first))
    return first[: first.rfind("_", 0, length) + 1] if len(attributes) > 1 else ""


def _inner_names(attributes: Sequence[str], branches: Container[str]) -> list[str]:
    """What the attributes of a block are called in its class: without the scope that they have in common."""
    names, scope = Names(OF_MODULES), _common(attributes)
    inner = ["shortcut" if name in branches else _turned(name.removeprefix(scope)) for name in attributes]
    return [names.take(name) for name in _renumbered(inner)]


def _renumbered(names: Sequence[str]) -> list[str]:
    """Names that a network numbers through, counted from 1 in a block; without a number where there is one only.

    >>> _renumbered(["conv_76", "bn_76", "conv_77", "out"]), _renumbered(["conv0", "conv1"])
    (['conv_1', 'bn', 'conv_2', 'out'], ['conv0', 'conv1'])
    """
    parts = [re.fullmatch(r"(.*[A-Za-z])(_?)(\d+)", name) for name in names]
    numbers: dict[str, list[int]] = defaultdict(list)
    for met in parts:
        if met:
            numbers[met[1]].append(int(met[3]))
    found = []
    for name, met in zip(names, parts, strict=True):
        if met is None or (min(numbers[met[1]]) <= 1 and len(numbers[met[1]]) > 1):
            found.append(name)
        elif len(numbers[met[1]]) == 1:
            found.append(met[1])
        else:
            found.append(f"{met[1]}{met[2]}{int(met[3]) - min(numbers[met[1]]) + 1}")
    return found


def _turned(name: str) -> str:
    """`1_conv` as `conv1`."""
    met = re.fullmatch(r"n?(\d+)_([A-Za-z_]+)", name)
    return f"{met[2]}{met[1]}" if met else name


def _scopes(uses: Sequence[_Piece]) -> list[str]:
    """What the source calls the parts of the network that uses of a block stand in, without the numbers of blocks."""
    scopes = [BLOCK_NUMBER.sub("", _common(use.attributes).rstrip("_")) for use in uses]
    if len(set(scopes)) == len(scopes):
        scopes = [scope.rstrip("0123456789") for scope in scopes]
    return [scope or "blocks" for scope in scopes]


__all__ = ["ClassDesign", "Design", "design", "drop_unused", "tensors_of"]
