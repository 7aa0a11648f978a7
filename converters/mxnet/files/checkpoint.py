"""Which files make a checkpoint, and which parameter of a gluon file belongs to which name of a symbol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphir.errors import ImportFailure
from graphir.files.paths import describe_missing, resolve_beside
from graphir.structure.record import record

_SYMBOL = "-symbol.json"
_ARRAYS = (".params", ".npz", ".npy")
_PARAMS = ".params"
_SPELLINGS = {"moving_mean": "running_mean", "moving_var": "running_var"}


@record
class Checkpoint:
    """A symbol file and its parameters; `params` is None if there are none beside it.

    `epoch` is the number in the parameters' name, None without one. `others` are the parameter files of the same
    prefix that were not chosen.
    """

    symbol: Path
    params: Path | None
    epoch: int | None = None
    others: tuple[Path, ...] = ()


def is_symbol_text(source: object) -> bool:
    """Return whether a string is the JSON of an MXNet symbol, not the path or prefix of one: `{name}-symbol.json` is a
    name too, if there is such a file."""
    if not isinstance(source, str) or not source.lstrip().startswith("{"):
        return False
    return not any(os.path.exists(name) for name in (source, f"{source}-symbol.json", f"{source}.json"))


def find_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Return the checkpoint that a folder, a prefix, a symbol file or a `.params` file means; the newest epoch is
    chosen.

    Raises ImportFailure if there is no symbol, or a folder holds several.
    """
    place = Path(path)
    if place.is_dir():
        return _checkpoint(_only_prefix(place))
    numbered = _epoch_of(place)
    if numbered is not None:
        return _checkpoint(str(place.with_name(numbered[0])), chosen=place)
    for suffix in (_SYMBOL, ".json", *_ARRAYS):
        if place.name.endswith(suffix):
            chosen = place if suffix in _ARRAYS else None
            symbol = None if suffix in _ARRAYS else place
            return _checkpoint(str(place)[: -len(suffix)], chosen=chosen, symbol=symbol)
    if place.is_file():  # a symbol by any other name
        return _checkpoint(str(place.with_suffix("")), symbol=place)
    return _checkpoint(str(place))


def _files(folder: Path, *endings: str) -> list[Path]:
    """Return what is in a folder and has a name that ends so; nothing of a folder that cannot be read."""
    try:
        return [file for file in folder.iterdir() if file.name.endswith(endings)]
    except OSError:
        return []


def _epoch_of(file: Path) -> tuple[str, int] | None:
    """Return the prefix and the epoch in the name of a file of parameters (`prefix-0020.params`), None for other
    names."""
    prefix, _, number = file.name.removesuffix(_PARAMS).rpartition("-")
    if not prefix or file.suffix != _PARAMS or len(number) < 4 or not number.isdecimal():
        return None
    return prefix, int(number)


def _only_prefix(folder: Path) -> str:
    prefixes = sorted(str(file)[: -len(_SYMBOL)] for file in _files(folder, _SYMBOL))
    if not prefixes:
        prefixes = sorted(
            str(file.with_suffix("")) for file in _files(folder, ".json") if _parameter_files(file.stem, folder)
        )
    if len(prefixes) == 1:
        return prefixes[0]
    if not prefixes:
        others = sorted(_files(folder, ".onnx", ".pb", ".keras", ".h5"))
        hint = f"; a model of another kind is named by its file: {others[0]}" if others else ""
        raise ImportFailure(f"{folder}: no *-symbol.json in this folder{hint}")
    names = ", ".join(Path(prefix).name for prefix in prefixes)
    raise ImportFailure(f"{folder}: {len(prefixes)} models in this folder ({names}); name one by its prefix")


def _parameter_files(prefix: str, folder: Path) -> dict[Path, int | None]:
    """Return the parameter files of a prefix, oldest first: the one without an epoch, then by epoch."""
    epochs: dict[Path, int | None] = {}
    for file in _files(folder, _PARAMS):
        numbered = _epoch_of(file)
        if numbered is not None and numbered[0] == prefix:
            epochs[file] = numbered[1]
        elif file.name == f"{prefix}.params":
            epochs[file] = None
    return dict(sorted(epochs.items(), key=lambda entry: -1 if entry[1] is None else entry[1]))


def _checkpoint(prefix: str, *, chosen: Path | None = None, symbol: Path | None = None) -> Checkpoint:
    candidates = [symbol] if symbol is not None else [Path(prefix + _SYMBOL), Path(prefix + ".json")]
    symbol_path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if symbol_path is None:
        raise ImportFailure(f"no symbol for {prefix}: looked for {' and '.join(map(str, candidates))}")
    if chosen is not None and not chosen.is_file():
        raise ImportFailure(describe_missing(chosen))
    epochs = _parameter_files(Path(prefix).name, symbol_path.parent)
    if chosen is not None:
        resolve_beside(chosen, symbol_path, "the symbol beside it")
    else:
        chosen = next(reversed(epochs), None)
        if chosen is None:
            return Checkpoint(symbol_path, None)
        resolve_beside(symbol_path, chosen, "the file of parameters beside it")
    others = tuple(file for file in epochs if file.name != chosen.name)
    numbered = _epoch_of(chosen)
    return Checkpoint(symbol_path, chosen, None if numbered is None else numbered[1], others)


def arrays_beside(symbol: Path) -> list[Path]:
    """Return the files in a symbol's folder that may hold its parameters, whatever they are called."""
    return [file for file in sorted(_files(symbol.parent, *_ARRAYS, ".nd")) if file.is_file()]


def lone_parameters(symbol: Path) -> Path | None:
    """Return the only .params file in the folder of a symbol that is the only one there, None if it is not so."""
    files = [file for file in arrays_beside(symbol) if file.suffix == ".params"]
    others = [file for file in _files(symbol.parent, _SYMBOL) if file.name != symbol.name]
    return files[0] if len(files) == 1 and not others else None


@record
class _Module:
    """The parameters of one block: the prefix they share, and of each kind (`weight`) its full name and shape."""

    prefix: str
    names: dict[str, str]
    shapes: dict[str, tuple[int, ...] | None]


def match_structural_names(
    argument_names: Sequence[str], known_shapes: Mapping[str, tuple[int, ...] | None], params: Mapping[str, Any]
) -> dict[str, str]:
    """For each name in a gluon `save_parameters` file (`features.0.weight`), the symbol's name for it.

    `argument_names` are the symbol's arguments and auxiliary states in their order, `known_shapes` what is known of
    their shapes, `params` the file's arrays (anything with a `shape`) in the file's order. Names that are the symbol's
    own match themselves. Otherwise blocks are matched whole: one that has a weight and a bias of given shapes to one
    with the same. Blocks that look alike are taken in order: gluon collects them as they were made, which is the order
    of the counters in the symbol's names (`conv0`, `conv1`) under one prefix, and else that of the symbol.

    Raises ImportFailure if blocks are left over on either side, or if blocks of one kind differ in shape in the file
    and the symbol's shapes are not known.
    """
    wanted = set(argument_names)
    if all(name in wanted for name in params):
        return {name: name for name in params}
    sources = _modules_of_file(params)
    kinds = sorted({kind for source in sources for kind in source.names}, key=len, reverse=True)
    targets = _modules_of_symbol(argument_names, known_shapes, kinds)
    matched: dict[str, str] = {}
    for kind_set in dict.fromkeys(frozenset(module.names) for module in [*sources, *targets]):
        alike = [module for module in sources if module.names.keys() == kind_set]
        for source, target in _pair(alike, [module for module in targets if module.names.keys() == kind_set], kind_set):
            matched.update((name, target.names[kind]) for kind, name in source.names.items())
    return matched


def _modules_of_file(params: Mapping[str, Any]) -> list[_Module]:
    modules: dict[str, _Module] = {}
    for name, array in params.items():
        prefix, _, kind = name.rpartition(".")
        module = modules.setdefault(prefix, _Module(prefix, {}, {}))
        kind = _SPELLINGS.get(kind, kind)
        module.names[kind] = name
        module.shapes[kind] = tuple(array.shape)
    return list(modules.values())


def _modules_of_symbol(
    names: Sequence[str], known_shapes: Mapping[str, tuple[int, ...] | None], kinds: Sequence[str]
) -> list[_Module]:
    """Return the symbol's parameters by block. `kinds` are tried in order, so longer ones come first (`i2h_weight`)."""
    modules: dict[str, _Module] = {}
    for name in names:
        spelling = name
        for old, new in _SPELLINGS.items():
            spelling = spelling.removesuffix(old) + new if spelling.endswith(old) else spelling
        kind = next((kind for kind in kinds if spelling == kind or spelling.endswith("_" + kind)), None)
        if kind is None:
            continue
        prefix = spelling[: -len(kind)].removesuffix("_")
        module = modules.setdefault(prefix, _Module(prefix, {}, {}))
        module.names[kind] = name
        module.shapes[kind] = known_shapes.get(name)
    return list(modules.values())


def _pair(sources: list[_Module], targets: list[_Module], kinds: frozenset[str]) -> list[tuple[_Module, _Module]]:
    what = f"blocks with {', '.join(sorted(kinds))}"
    if len(sources) != len(targets):
        raise ImportFailure(
            f"the parameters do not fit the symbol: {len(sources)} {what} in the file "
            f"({_shown(sources)}), {len(targets)} in the symbol ({_shown(targets)})"
        )
    if len(sources) == 1 and _fits(sources[0], targets[0]):
        return [(sources[0], targets[0])]
    unknown = [target for target in targets if None in target.shapes.values()]
    if not unknown:
        return _pair_by_shape(sources, targets, what)
    if any(source.shapes != sources[0].shapes for source in sources):
        raise ImportFailure(
            f"the file names its parameters by their place in the network, and the symbol's shapes are needed to tell "
            f"{len(sources)} {what} apart, but those of {_shown(unknown)} are unknown; give the shapes of the inputs"
        )
    return list(zip(sources, _in_order_of_making(targets), strict=True))


def _pair_by_shape(sources: list[_Module], targets: list[_Module], what: str) -> list[tuple[_Module, _Module]]:
    pairs: list[tuple[_Module, _Module]] = []
    for shapes in {tuple(sorted(module.shapes.items())): module.shapes for module in [*sources, *targets]}.values():
        alike = [module for module in sources if module.shapes == shapes]
        fitting = _in_order_of_making([module for module in targets if module.shapes == shapes])
        if len(alike) != len(fitting):
            sizes = ", ".join(f"{kind} {shape}" for kind, shape in shapes.items())
            raise ImportFailure(
                f"the parameters do not fit the symbol: of the {what}, {len(alike)} in the file ({_shown(alike)}) and "
                f"{len(fitting)} in the symbol ({_shown(fitting)}) have {sizes}"
            )
        pairs += zip(alike, fitting, strict=True)
    return pairs


def _in_order_of_making(modules: list[_Module]) -> list[_Module]:
    """Blocks that differ in their counter alone, in its order, in the places that they hold together."""
    families: dict[str, list[tuple[int, str, int]]] = {}
    for slot, module in enumerate(modules):
        family = module.prefix.rstrip("0123456789")
        counter = module.prefix[len(family) :].lstrip("0")
        families.setdefault(family, []).append((len(counter), counter, slot))  # as numbers, however many digits
    ordered = list(modules)
    for members in families.values():
        slots = sorted(slot for *_, slot in members)
        for place, (*_, slot) in zip(slots, sorted(members), strict=True):
            ordered[place] = modules[slot]
    return ordered


def _fits(source: _Module, target: _Module) -> bool:
    return all(target.shapes[kind] in (None, shape) for kind, shape in source.shapes.items())


def _shown(modules: Sequence[_Module]) -> str:
    names = [module.prefix or "(no prefix)" for module in modules[:4]]
    return ", ".join(names) + (", ..." if len(modules) > 4 else "") if names else "none"
