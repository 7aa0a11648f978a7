"""The classes of a file: what repeats in a network becomes a block of its own, used with other numbers each time.

Pieces of a network between cuts that have the same statements, layers and wiring are uses of one class: the numbers in
which their layers differ are its arguments. Uses in a row are an nn.Sequential, or an nn.ModuleList in a loop where
each reads the same other values too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from graphir.converters.pytorch.exporting.block_arguments import as_one, block_arguments, given_arguments, skeleton
from graphir.converters.pytorch.exporting.block_names import inner_names, scopes_of, whole_scope
from graphir.converters.pytorch.exporting.compose import ForwardArgument
from graphir.converters.pytorch.exporting.cutting import Cutter
from graphir.converters.pytorch.exporting.expression import Expr, ValueReference, level_of, references
from graphir.converters.pytorch.exporting.methods import Method, parts_of
from graphir.converters.pytorch.exporting.naming import OF_FILE, OF_MODULES, Identifiers, common_scope
from graphir.converters.pytorch.exporting.ordering import (
    hoisted,
    last_reads,
    near_readers,
    needed_statements,
    reads_of,
    targets_of,
)
from graphir.converters.pytorch.exporting.pieces import (
    Branch,
    Piece,
    best_run,
    branches_of,
    merged,
    reading,
    with_chain_first,
    without_branch,
)
from graphir.converters.pytorch.exporting.state import ATTRIBUTE, Export, Statement, Stored, Submodule
from graphir.converters.pytorch.exporting.training import count_norms, frozen_lines
from graphir.converters.pytorch.exporting.value_names import CHAIN, input_names, value_name
from graphir.types import ANYTHING

MOST_CLASSES = 8
# What a loop over blocks calls one.
ITEM = "block"


@dataclass
class ClassDesign:
    """A class: the arguments of its `__init__` with their values in each use, the statements there, which attributes
    are buffers, and its methods, of which `forward` is the last."""

    name: str
    arguments: dict[str, list[str]]
    init_lines: list[str]
    buffers: list[str]
    methods: list[Method]
    says_shapes: bool = False
    scope: str = ""


@dataclass
class Design:
    """The classes of a file, each behind those that it uses; `keys` are the keys of the state_dict by those that a
    single class without blocks would have."""

    classes: list[ClassDesign]
    keys: dict[str, str]


def design(export: Export, outputs: Sequence[Expr], name: str, *, blocks: bool = True) -> Design:
    """Lay out the classes of a module, a single one without `blocks`."""
    statements = hoisted(list(near_readers(export.statements)))
    maker = _ClassMaker(export, statements, outputs, has_parts=blocks)
    if blocks and (export.layers or export.stored):
        maker.find_blocks()
    return maker.result(name)


class _ClassMaker:
    def __init__(
        self, export: Export, statements: list[Statement], outputs: Sequence[Expr], *, has_parts: bool
    ) -> None:
        self._export, self._statements, self._outputs = export, statements, list(outputs)
        self._has_parts = has_parts
        self._layers: dict[str, Submodule] = dict(export.layers)
        self._stored: dict[str, Stored] = dict(export.stored)
        self._classes: list[ClassDesign] = []
        # Of attributes that some uses of a block have: the constructors of the layers in them, none where it is absent.
        self._branches: dict[str, list[str]] = {}
        # How attributes are made; of one that is absent in some uses what they have in common.
        self._kinds = {name: layer.constructor for name, layer in self._layers.items()}
        self._kinds |= {name: stored.statement for name, stored in self._stored.items()}
        # The keys of attributes that are inside others, and by these which they are.
        self._prefixes: dict[str, str] = {}
        self._inside: dict[str, list[str]] = {}
        # The order of layers: of a block it is that of its first one.
        self._order = {name: index for index, name in enumerate(export.layers)}
        tied = {name for tie in export.ties for name in ATTRIBUTE.findall(tie)}
        inputs = [export.number(value) for value in export.graph.inputs if len(export.graph.inputs) == 1]
        self._cutter = Cutter(statements, outputs, inputs, tied, self._kinds)
        # The names of sizes and devices of inputs.
        self._settings = {each.targets[0]: each.names[0] for each in statements if each.is_setting}

    def result(self, name: str) -> Design:
        """Return the classes, the network's own last."""
        export, graph = self._export, self._export.graph
        named = zip(graph.inputs, input_names(graph.inputs), strict=True)
        inputs = [ForwardArgument(export.number(value), text) for value, text in named]
        layers = sorted(self._layers.values(), key=lambda layer: self._order.get(layer.attribute, len(self._order)))
        init_lines = [f"self.{layer.attribute} = {layer.constructor}" for layer in layers]
        init_lines += [stored.statement for stored in self._stored.values()]
        buffers = [stored.attribute for stored in self._stored.values() if stored.is_buffer]
        types, results = ([value.type for value in values] for values in (graph.inputs, graph.outputs))
        forward = Method("forward", inputs, self._statements, self._outputs, types, export.values, results)
        methods = parts_of(forward) if self._has_parts else [forward]
        keys = {}
        for key in export.tensors:
            first, dot, rest = key.partition(".")
            keys[key] = f"{self._prefixes.get(first, first)}{dot}{rest}"
        frozen = {keys[key]: kind for key, kind in export.frozen.items() if key in keys}
        init_lines += export.ties + frozen_lines(frozen, count_norms(export.layers.values()))
        net = ClassDesign(name, {}, init_lines, buffers, methods, says_shapes=True)
        return Design([*self._classes, net], keys)

    def find_blocks(self) -> None:
        """Replace what repeats by calls of blocks, the largest repetition first."""
        pieces = self._unify_branches(self._cutter.pieces())
        refined = self._cutter.refine(pieces)
        pieces = refined if len(refined) == len(pieces) else self._unify_branches(refined)
        for _ in range(MOST_CLASSES):
            last = last_reads([piece.inputs for piece in pieces], self._outputs)
            best = best_run(pieces, last)
            if best is None:
                break
            pieces = self._replace(pieces, last, *best)
        self._statements = [statement for piece in pieces for statement in piece.statements]

    def _unify_branches(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces once those have one form that differ only by layers on a second path of their input, as a
        projection of the shortcut: these, of one kind, become one attribute, an nn.Identity where there are none."""
        plain: dict[object, list[int]] = defaultdict(list)
        for index, piece in enumerate(pieces):
            plain[piece.form].append(index)
        done: dict[object, str] = {}
        edits: dict[int, list[Statement]] = {}
        for index, piece in enumerate(pieces):
            for branch in branches_of(piece):
                rest = without_branch(piece, branch)
                form = self._cutter.form(rest, *reads_of(rest, targets_of(rest)), piece.output)
                partners = [] if form is None or index in edits else plain.get(form, [])
                kinds = [skeleton(self._text_of(statement.attributes[0])) for statement in branch.statements]
                kind = f"branch of {form}: {kinds}"
                if partners and done.get(form, kind) == kind:
                    edits[index] = self._with_shortcut(piece, branch, kind)
                    if form not in done:
                        done[form] = kind
                        edits |= {
                            partner: self._with_identity(pieces[partner], branch.reader, kind)
                            for partner in partners if partner not in edits
                        }  # fmt: skip
                    break
        if not edits:
            return pieces
        result: list[Piece] = []
        for index, piece in enumerate(pieces):
            if index in edits:
                last = last_reads([statement.reads for statement in edits[index]], [ValueReference(piece.output)])
                result += self._cutter.cut(edits[index], last, self._cutter.computed.intersection(piece.inputs))
            else:
                result.append(piece)
        return result

    def _put_layer(self, attribute: str, constructor: str, instead_of: Sequence[str]) -> None:
        """Make a layer in the place of the first of others, which go."""
        places = [self._order[name] for name in instead_of if name in self._layers]
        for name in instead_of:
            self._layers.pop(name, None)
        self._layers[attribute] = Submodule(attribute, constructor, {})
        self._kinds[attribute] = constructor
        self._order[attribute] = min(places, default=len(self._order))

    def _move(self, attribute: str, key: str) -> None:
        """Have an attribute, and what is inside it, be at a key inside another one."""
        outer = self._inside.setdefault(key.partition(".")[0], [])
        for name in self._inside.pop(attribute, [attribute]):
            self._prefixes[name] = key + self._prefixes.get(name, name).removeprefix(attribute)
            outer.append(name)

    def _with_shortcut(self, piece: Piece, branch: Branch, kind: str) -> list[Statement]:
        """Return a piece's statements with the layers of a branch as one attribute, whose call comes first."""
        attributes = [statement.attributes[0] for statement in branch.statements]
        attribute = self._export.attributes.take(f"{common_scope(piece.attributes)}shortcut")
        self._branches[attribute] = [self._layers[name].constructor for name in attributes]
        self._put_layer(attribute, as_one(self._branches[attribute]), attributes)
        self._kinds[attribute] = kind
        for index, name in enumerate(attributes):
            self._move(name, attribute if len(attributes) == 1 else f"{attribute}.{index}")
        call = Statement((branch.output,), f"self.{attribute}({ValueReference(branch.source)})", names=("shortcut",))
        return [call, *(statement for statement in piece.statements if statement not in branch.statements)]

    def _with_identity(self, piece: Piece, place: int, kind: str) -> list[Statement]:
        """Return a piece's statements, of which what reads its input at a place reads it through an attribute that
        changes nothing."""
        (source, *_) = piece.inputs
        attribute = self._export.attributes.take(f"{common_scope(piece.attributes)}shortcut")
        number = self._export.new_number()
        self._branches[attribute] = []
        self._put_layer(attribute, "nn.Identity()", ())
        self._kinds[attribute] = kind
        call = Statement((number,), f"self.{attribute}({ValueReference(source)})", names=("shortcut",))
        statements = [call, *piece.statements]
        statements[place + 1] = reading(statements[place + 1], source, number)
        return statements

    def _text_of(self, attribute: str) -> str:
        """Return how an attribute is made."""
        layer = self._layers.get(attribute)
        return layer.constructor if layer is not None else self._stored[attribute].statement

    def _replace(
        self, pieces: Sequence[Piece], last: Mapping[int, int], length: int, starts: Sequence[int]
    ) -> list[Piece]:
        """Return the pieces with calls of a new class in the place of its uses: runs of so many pieces. `last` says
        which piece reads a value last."""
        uses = with_chain_first([merged(pieces[start : start + length]) for start in starts])
        block, names = self._class_of(uses)
        self._classes.append(block)
        result: list[Piece] = []
        done = 0
        group: list[tuple[Piece, str]] = []
        scopes = scopes_of(uses)
        ends = [True] * len(uses)
        for place, (use, following) in enumerate(pairwise(uses)):
            is_next = starts[place + 1] == starts[place] + length and last[use.output] < starts[place + 1] + length
            ends[place] = not (is_next and scopes[place] == scopes[place + 1] and _follows(use, following))
        groups = Counter(scope for scope, is_end in zip(scopes, ends, strict=True) if is_end)
        # A branch that is part of a block by now keeps its name: what is known of it is known by that.
        taken = Identifiers({*OF_MODULES, *self._layers, *self._stored, *self._branches})
        for place, (start, use) in enumerate(zip(starts, uses, strict=True)):
            result += pieces[done:start]
            done = start + length
            group.append((use, f"{block.name}({', '.join(given_arguments(block.arguments, place))})"))
            if not ends[place]:
                continue
            head, _ = group[0]
            scope = scopes[place] if groups[scopes[place]] == 1 else whole_scope(head)
            attribute = taken.take(scope, "block")
            self._add(attribute, group, names)
            calls = self._call(attribute, head, use.output, is_loop=len(group) > 1)
            result.append(self._cutter.piece(calls, use.exits))
            group = []
        return result + list(pieces[done:])

    def _call(self, attribute: str, head: Piece, output: int, *, is_loop: bool) -> list[Statement]:
        """Return the statements that call a block, or several in a row of which this is the first one."""
        chain, *others = map(ValueReference, head.inputs)
        value = self._export.values.get(output)
        if not others or not is_loop:
            return [Statement((output,), f"self.{attribute}({', '.join([chain, *others])})", value)]
        block, result = ValueReference(self._export.new_number()), ValueReference(output)
        step = Statement((output,), f"{block}({', '.join([result, *others])})", value)
        loop = [(f"for {block} in self.{attribute}:", [step])]
        targets = (output, block.number)
        return [Statement((output,), chain, value), Statement(targets, "", value, blocks=loop, names=("", ITEM))]

    def _class_of(self, uses: Sequence[Piece]) -> tuple[ClassDesign, list[str]]:
        """Return the class that stands for all uses, and what their attributes are called in it."""
        first = uses[0]
        texts = [[self._text_of(name) for name in use.attributes] for use in uses]
        branches = [[self._branches.get(name) for name in use.attributes] for use in uses]
        arguments, init_lines = block_arguments(texts, branches)
        names = inner_names(first.attributes, self._branches)
        name = f"Block{len(self._classes) + 1}" if self._classes else "Block"
        inner = dict(zip(first.attributes, names, strict=True))
        init_lines = [_assigned(text, inner[old], old) for text, old in zip(init_lines, first.attributes, strict=True)]
        init_lines = [line for text in init_lines for line in text.split("\n")]
        buffers = [inner[old] for old in first.attributes if old in self._stored and self._stored[old].is_buffer]
        statements = [
            replace(statement, text=_with_attributes(statement.text, inner)) for statement in first.statements
        ]
        taken = Identifiers({*OF_FILE, CHAIN})
        extras = [ForwardArgument(number, taken.take(self._argument(number))) for number in first.inputs[1:]]
        parameters = [ForwardArgument(first.inputs[0], CHAIN), *extras]
        types = [None if number in self._settings else ANYTHING for number in first.inputs]
        forward = Method("forward", parameters, statements, [ValueReference(first.output)], types, self._export.values)
        scope = common_scope(first.attributes)
        return ClassDesign(name, arguments, init_lines, buffers, parts_of(forward), scope=scope), names

    def _argument(self, number: int) -> str:
        """Return what a block calls a value that it is handed besides the one that it changes."""
        value = self._export.values.get(number)
        return self._settings.get(number) or (CHAIN if value is None else value_name(value))

    def _add(self, attribute: str, group: Sequence[tuple[Piece, str]], names: Sequence[str]) -> None:
        """Make the attribute of a block, or of an nn.Sequential of several, in the place of what it holds."""
        constructors = [call for _, call in group]
        is_sequential = len(group[0][0].inputs) == 1
        constructor = constructors[0]
        if len(group) > 1:
            is_same = len(set(constructors)) == 1
            elements = f"{constructor} for _ in range({len(group)})" if is_same else ", ".join(constructors)
            in_list = is_same or not is_sequential
            constructor = f"[{elements}]" if in_list else elements
            container = f"nn.Sequential({'*' * in_list}" if is_sequential else "nn.ModuleList("
            constructor = f"{container}{constructor})"
        self._put_layer(attribute, constructor, [name for use, _ in group for name in use.attributes])
        for place, (use, _) in enumerate(group):
            outer = attribute if len(group) == 1 else f"{attribute}.{place}"
            for old, name in zip(use.attributes, names, strict=True):
                self._stored.pop(old, None)
                self._move(old, f"{outer}.{name}")


def _follows(use: Piece, other: Piece) -> bool:
    """Return whether a use reads what one before gives, and the same other values."""
    return other.inputs == (use.output, *use.inputs[1:])


def drop_unused(export: Export, outputs: Sequence[Expr]) -> None:
    """Let go the statements, layers and tensors that nothing needed reads."""
    needed = {number for text in outputs for number in references(text)}
    used = {name for text in (*outputs, *export.ties) for name in ATTRIBUTE.findall(text)}
    export.statements = needed_statements(export.statements, needed)
    for statement in export.statements:
        used.update(statement.attributes)
    for attributes in (export.layers, export.stored):
        for name in attributes.keys() - used:
            attributes.pop(name)


def _with_attributes(text: str, names: Mapping[str, str]) -> Expr:
    """Return a text that reads attributes by other names."""
    return Expr(ATTRIBUTE.sub(lambda met: f"self.{names[met[1]]}", text), level_of(text))


def _assigned(text: str, name: str, old: str) -> str:
    """Return the statement of `__init__` that makes an attribute."""
    if text.startswith("self."):
        return text.replace(f"self.{old} ", f"self.{name} ", 1).replace(f'"{old}"', f'"{name}"', 1)
    if text.startswith("nn.Identity()\n"):
        return f"self.{name}: nn.Module = {text}".replace("self.SHORTCUT", f"self.{name}")
    return f"self.{name} = {text}"
