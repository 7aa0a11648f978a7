"""Write `converters/mxnet/schema/operators.json`: every forward operator of the MXNet that runs this script.

Run by hand in an environment with live MXNet 1.9.1, with the file's path as its argument. In an environment with live
MXNet 2.0.0b1, `python tools/mxnet_schema.py --beyond operators.json mxnet2.json` writes what 2.0 has beyond that file:
operators, names and parameters.
The registry's own words are kept (`"Shape(tuple), optional, default=[]"`); `operators.py` beside it reads them.
Names of inputs and outputs come from a symbol composed with minimal attributes, because operators do not document all
of them; an operator that cannot be composed keeps the inputs that it documents.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graphir.files.rows import rows_text

ROWS = ("operators", "otherwise", "parameters")
_VALUES = {
    "Shape": "(1, 1)",
    "tuple": "(1,)",
    "int": "1",
    "long": "1",
    "float": "1",
    "double": "1",
    "real_t": "1",
    "boolean": "0",
    "string": "x",
}
_MINIMAL = {
    "_npi_einsum": {"subscripts": "ij,jk", "num_args": "2"},
    "Pooling": {"kernel": "(1, 1)"},
    "Pooling_v1": {"kernel": "(1, 1)"},
    "_contrib_quantized_pooling": {"kernel": "(1, 1)"},
    "_contrib_quantized_rnn": {"mode": "lstm"},
}
_NOT_COMPOSED = {"Custom", "_CachedOp", "_CachedOpThreadSafe", "_CustomFunction", "_NDArray", "_Native"}
_OPTIMIZER = re.compile(r"(?!_npx_index_).*_update(_phase\d)?$|reset_arrays$|multi_")
_BACKWARD = re.compile(r"_(contrib_|npi_)?backward_|.*_backward$")
_NUMBERS = ("int", "long", "float", "double")
_REALS = ("float", "double")  # a million outputs, say, MXNet would make
_NUMBER = r"[-+.e\d]+"
_BOUND = re.compile(
    rf"for Parameter (?P<name>\w+) (should be greater equal to (?P<least>{_NUMBER})|"
    rf"should be smaller equal to (?P<most>{_NUMBER})|exceed bound \[(?P<from>{_NUMBER}),(?P<to>{_NUMBER})\])"
)
_DOCUMENTED = re.compile(r"^(\w+) : (.+)$", re.MULTILINE)


def load_mxnet() -> Any:
    """The live mxnet module, with the names that NumPy removed put back and its oneDNN graph rewriting off."""
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, typ in {"bool": bool, "object": object, "int": int, "float": float, "complex": complex}.items():
            if name not in vars(np):
                setattr(np, name, typ)
        import mxnet  # noqa: TID251

    return mxnet


class Registry:
    """The operators that live MXNet has, through its C API."""

    def __init__(self, mxnet: Any) -> None:
        self.symbol = mxnet.symbol.Symbol
        self.error = mxnet.base.MXNetError
        self.lib = mxnet.base._LIB
        self.check = mxnet.base.check_call
        count, handles = ctypes.c_uint(), ctypes.POINTER(ctypes.c_void_p)()
        self.check(self.lib.MXSymbolListAtomicSymbolCreators(ctypes.byref(count), ctypes.byref(handles)))
        self.handles: dict[str, int] = {}
        self.documented: dict[str, list[tuple[str, str]]] = {}
        self.variadic: dict[str, str] = {}
        for slot in range(count.value):
            self._describe(handles[slot])

    def _describe(self, handle: int) -> None:
        name, text, key, returned = (ctypes.c_char_p() for _ in range(4))
        count = ctypes.c_uint()
        names, types, texts = (ctypes.POINTER(ctypes.c_char_p)() for _ in range(3))
        places = (name, text, count, names, types, texts, key, returned)
        self.check(self.lib.MXSymbolGetAtomicSymbolInfo(ctypes.c_void_p(handle), *map(ctypes.byref, places)))
        operator = (name.value or b"").decode()
        self.handles[operator] = handle
        self.documented[operator] = [(names[i].decode(), types[i].decode()) for i in range(count.value)]
        if key.value:
            self.variadic[operator] = key.value.decode()

    def aliases(self) -> dict[str, str]:
        """Each registered name that is not an operator's own, with the operator's."""
        count, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
        self.check(self.lib.MXListAllOpNames(ctypes.byref(count), ctypes.byref(names)))
        owners = {handle: operator for operator, handle in self.handles.items()}
        found = {}
        for slot in range(count.value):
            handle = ctypes.c_void_p()
            self.check(self.lib.NNGetOpHandle(names[slot], ctypes.byref(handle)))
            alias, owner = names[slot].decode(), owners[handle.value or 0]
            if alias != owner:
                found[alias] = owner
        return found

    def compose(self, operator: str, attributes: dict[str, str]) -> Any:
        """A symbol named `n` of the operator without given inputs: MXNet makes a variable for each. MXNetError."""
        keys = (ctypes.c_char_p * len(attributes))(*(key.encode() for key in attributes))
        values = (ctypes.c_char_p * len(attributes))(*(value.encode() for value in attributes.values()))
        handle = ctypes.c_void_p()
        self.check(
            self.lib.MXSymbolCreateAtomicSymbol(
                ctypes.c_void_p(self.handles[operator]), len(attributes), keys, values, ctypes.byref(handle)
            )
        )
        symbol = self.symbol(handle)
        self.check(self.lib.MXSymbolCompose(symbol.handle, b"n", 0, None, None))
        return symbol

    def parameters(self, operator: str) -> list[tuple[str, str]] | None:
        """The parameters that the operator parses, with MXNet's type texts; None if it takes any attribute.

        An unknown attribute makes MXNet list what it knows, also for operators whose documentation lists less.
        """
        try:
            self.compose(operator, {"graphir_probe": "1"})
        except self.error as error:
            text = str(error)
            if "graphir_probe" not in text or "Possible Arguments" not in text:
                return [entry for entry in self.documented[operator] if not _is_input(entry[1])]
            return _DOCUMENTED.findall(text.split("Possible Arguments", 1)[1])
        return None


def _is_input(type_text: str) -> bool:
    return type_text.startswith(("NDArray", "Symbol", "ptr")) or not type_text.strip()


def _minimal_value(type_text: str) -> str:
    if type_text.startswith("{"):
        return [item.strip(" '") for item in type_text[1 : type_text.index("}")].split(",")][-1]
    kind = re.split(r"\W", type_text.lstrip(), maxsplit=1)[0]
    if kind not in _VALUES:
        print(f"no minimal value for {type_text!r}", file=sys.stderr)
    return _VALUES.get(kind, "1")


def minimal_attributes(registry: Registry, operator: str) -> dict[str, str]:
    """Attributes with which the operator can be composed: what it requires, and three inputs where it takes many."""
    minimal = dict(_MINIMAL.get(operator, {}))
    for name, type_text in registry.parameters(operator) or ():
        if "required" in type_text:
            minimal.setdefault(name, _minimal_value(type_text))
    if operator in registry.variadic:
        minimal[registry.variadic[operator]] = "3"
    return minimal


def describe(registry: Registry, operator: str) -> dict[str, Any]:
    """What operators.json says of one operator; empty entries are left out."""
    entry = composed(registry, operator)
    return entry | documented(registry, operator, entry) | bounds(registry, operator, entry)


def composed(registry: Registry, operator: str) -> dict[str, Any]:
    """Parameters, inputs, states and outputs of one operator, as a symbol of it has them."""
    entry: dict[str, Any] = {}
    if operator in _NOT_COMPOSED:
        return {"free": True, "uncertain": True}
    parameters = registry.parameters(operator)
    if parameters is None:
        entry["free"] = True
    else:
        entry["params"] = dict(parameters)
    if operator in registry.variadic:
        entry["variadic"] = registry.variadic[operator]
    entry["inputs"] = [name for name, text in registry.documented[operator] if _is_input(text) and text[:3] != "ptr"]
    minimal = minimal_attributes(registry, operator)
    if _OPTIMIZER.match(operator):
        return _without_empty(entry | {"uncertain": True})
    try:
        symbol = registry.compose(operator, minimal)
        nodes = json.loads(symbol.tojson())
        arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
        inputs = [node["name"] for node in nodes["nodes"][:-1]]
        if all(name.startswith("n_") for name in inputs):
            entry["inputs"] = [name[2:] for name in inputs]
            entry["aux"] = [name[2:] for name in auxiliary]
        assert sorted(arguments + auxiliary) == sorted(inputs)
        visible = [name[2:] for name in symbol.list_outputs()]
        entry["outputs"] = visible
        entry["hidden"] = nodes["node_row_ptr"][-1] - nodes["node_row_ptr"][-2] - len(visible)
    except (registry.error, AssertionError) as error:
        print(f"{operator}: not composed with {minimal}: {str(error).splitlines()[-1][:100]}", file=sys.stderr)
        entry["uncertain"] = True
    if entry.get("outputs") == ["output"]:
        del entry["outputs"]
    return _without_empty(entry)


def bounds(registry: Registry, operator: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The least and the largest value of each number, which MXNet says when it refuses others."""
    found: dict[str, dict[str, float]] = {"least": {}, "most": {}}
    if entry.get("uncertain") or operator == "amp_multicast":
        return {}  # MXNet makes as many outputs as it is told to, unbounded
    minimal = minimal_attributes(registry, operator)
    for name, type_text in entry.get("params", {}).items():
        if not type_text.startswith(_NUMBERS):
            continue
        for far in ("-1", "0", "-1000000", "1000000000")[: 4 if type_text.startswith(_REALS) else 2]:
            try:
                registry.compose(operator, minimal | {name: far})
            except registry.error as error:
                said = _BOUND.search(str(error))
                if said is None or said["name"] != name:
                    continue
                least, most = (said["least"] or said["from"], said["most"] or said["to"])
                found["least"] |= {name: float(least)} if least else {}
                found["most"] |= {name: float(most)} if most else {}
    return _without_empty(found)


def documented(registry: Registry, operator: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the function that MXNet generates for the operator, where the rest of its entry differs.

    MXNet's functions take what the operator documents: arrays first (`*data` is any number of them), then parameters.
    """
    arrays, keywords = [], []
    for name, type_text in registry.documented[operator]:
        if type_text.startswith(("NDArray", "Symbol")):
            arrays.append(f"*{name}" if type_text.endswith("[]") else name)
        else:
            keywords.append(name)
    found: dict[str, Any] = {}
    if arrays != entry.get("inputs", []):
        found["arrays"] = arrays
    if keywords != list(entry.get("params", ())):
        found["keywords"] = keywords
    return found


def _without_empty(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value or name == "params"}


def described(registry: Registry) -> dict[str, dict[str, Any]]:
    """Every forward operator in alphabetical order, and their aliases with the operator of each."""
    operators = {name: describe(registry, name) for name in sorted(registry.handles) if not _BACKWARD.match(name)}
    aliases = registry.aliases()
    return {
        "aliases": {
            alias: operator for operator in operators for alias in sorted(aliases) if aliases[alias] == operator
        },
        "operators": operators,
    }


def beyond(base: dict[str, dict[str, Any]], later: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What a later registry has beyond `base`: operators, other names of known ones, and their new or wider parameters.

    A later `_npi_X` is the earlier `_np_X` where no other operator has its name: MXNet 2.0 renamed them so. An operator
    that takes other inputs than the known one is another one; where it has its name too, it is among `otherwise`.
    """
    known_before = base["operators"]
    owners = {operator: operator for operator in known_before} | base["aliases"]
    found: dict[str, dict[str, Any]] = {part: {} for part in ("aliases", "names", *ROWS)}
    for operator, entry in later["operators"].items():
        others = [alias for alias, owner in later["aliases"].items() if owner == operator]
        names = [operator, *others]
        known = {owners[name] for name in names if name in owners}
        if not known and operator.replace("_npi_", "_np_") in owners:
            known = {owners[operator.replace("_npi_", "_np_")]}
        if not known or not all(_same_inputs(entry, known_before[each]) for each in known):
            if _OPTIMIZER.match(operator):
                continue
            found["otherwise" if operator in owners else "operators"][operator] = entry
            if operator not in owners:
                found["aliases"] |= dict.fromkeys(others, operator)
            continue
        found["names"] |= {name: min(known) for name in names if name not in owners}
        if entry.get("uncertain") or entry.get("arrays") == []:
            continue
        for each in sorted(known):
            before = known_before[each].get("params", {})
            wider = {name: kind for name, kind in entry.get("params", {}).items() if before.get(name) != kind}
            if wider and "free" not in known_before[each] and not _OPTIMIZER.match(each):
                found["parameters"][each] = wider
    return found


def _same_inputs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one.get("variadic")) or one.get("inputs") == other.get("inputs")


def main() -> None:
    """Write the schema, one operator a line, in alphabetical order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--beyond", type=Path, metavar="FILE", help="write what there is beyond this file's operators")
    options = parser.parse_args()
    found = described(Registry(load_mxnet()))
    if options.beyond is not None:
        base = json.loads(options.beyond.read_text(encoding="ascii"))
        found = {part: dict(sorted(held.items())) for part, held in beyond(base, found).items()}
    options.out.write_text(rows_text(found, *(part for part in found if part in ROWS)), encoding="ascii")


if __name__ == "__main__":
    main()
