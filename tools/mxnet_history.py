"""Write `converters/mxnet/schema/history.json`: since when MXNet has each operator and parameter, and what changed.

Run by hand with the shared libraries of the releases, oldest first, the one that `operators.json` describes last:

    python tools/mxnet_history.py converters/mxnet/schema/history.json 0.9.5=old/libmxnet.so ... 1.9.1=new/libmxnet.so

Each library lies in a wheel of PyPI (0.9.5.post2 is the oldest). Every one is asked for its registry through its C API
in a process of its own. What an operator of the newest release is called in an older one is found by its aliases.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graphir.converters.mxnet.schema.registry import canonical_names, operator_schema
from graphir.converters.mxnet.schema.values import parse_parameter

Registry = dict[str, Any]
# Inputs, and pointers, which no file can state.
_NOT_STATED = ("NDArray", "Symbol", "ndarray", "ptr")


def dump(path: str) -> Registry:
    """The registry of a library: every name, and the parameters of every operator as type texts."""
    for beside in sorted(Path(path).parent.glob("*.so*")):
        if beside.name != Path(path).name:
            try:
                ctypes.CDLL(str(beside), ctypes.RTLD_GLOBAL)
            except OSError as error:
                print(f"{beside}: {error}", file=sys.stderr)
    library = ctypes.CDLL(path)
    count, handles = ctypes.c_uint(), ctypes.POINTER(ctypes.c_void_p)()
    library.MXSymbolListAtomicSymbolCreators(ctypes.byref(count), ctypes.byref(handles))
    operators = dict(_described(library, handles[slot]) for slot in range(count.value))
    total, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    library.MXListAllOpNames(ctypes.byref(total), ctypes.byref(names))
    return {"operators": operators, "names": [names[slot].decode() for slot in range(total.value)]}


def _described(library: Any, handle: int) -> tuple[str, dict[str, str]]:
    name, text, key, returned = (ctypes.c_char_p() for _ in range(4))
    count = ctypes.c_uint()
    names, types, texts = (ctypes.POINTER(ctypes.c_char_p)() for _ in range(3))
    places = (name, text, count, names, types, texts, key, returned)
    library.MXSymbolGetAtomicSymbolInfo(ctypes.c_void_p(handle), *map(ctypes.byref, places))
    found = {names[slot].decode(): types[slot].decode() for slot in range(count.value)}
    assert name.value is not None
    return name.value.decode(), {
        parameter: _as_today(text)
        for parameter, text in found.items()
        if not text.startswith(_NOT_STATED)
    }


def _as_today(text: str) -> str:
    """A type text in the words of the newest release."""
    for old, new in (("real_t", "float"), ("long (non-negative)", "int (non-negative)")):
        text = text.replace(old, new)
    return text if "optional" in text or "required" in text else f"{text}, required"


def number(release: str) -> int:
    """MXNet's own number of a release.

    >>> number("0.9.5"), number("1.2.1")
    (905, 10201)
    """
    major, minor, patch = map(int, release.split("."))
    return major * 10000 + minor * 100 + patch


def history(registries: dict[int, Registry]) -> dict[str, Any]:
    """What differs from the newest release, operator by operator; one that never differed is left out."""
    releases = sorted(registries)
    operators = {}
    for name in sorted(set(canonical_names().values())):
        entry = _operator_history(name, releases[::-1], registries)
        if entry:
            operators[name] = entry
    return {"releases": releases, "operators": operators}


def _operator_history(name: str, newest_first: list[int], registries: dict[int, Registry]) -> dict[str, Any]:
    schema = operator_schema(name)
    names = (name, *schema.aliases)
    since = newest_first[0]
    called: dict[str, int] = {}
    parameters: dict[str, int] = {}
    were: dict[str, Any] = {}
    newer = registries[newest_first[0]]["operators"].get(name, {})
    for release in newest_first:
        registry = registries[release]
        written = next((alias for alias in names if alias in registry["names"]), None)
        if written is None:
            break
        known = registry["operators"]
        held: dict[str, Any] = next((known[alias] for alias in names if alias in known), {})
        if written != name:
            called.setdefault(written, release)
        for parameter, text in newer.items():
            older = held.get(parameter)
            if older is None:
                parameters.setdefault(parameter, since)
            elif _meaning(parameter, older) != _meaning(parameter, text):
                were.setdefault(parameter, []).append([since, older])
        newer = {parameter: held[parameter] for parameter in newer if parameter in held}
        since = release
    entry = {
        "since": since if since > newest_first[-1] else None,
        "called": called,
        "parameters": parameters,
        "were": were,
    }
    return {key: value for key, value in entry.items() if value}


def _meaning(name: str, text: str) -> object:
    parameter = parse_parameter(name, text)
    return parameter.kind.replace("double", "float"), parameter.required, parameter.default


def main() -> None:
    """Write the file, or, as a child, print one registry."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="the file to write; with --dump the library")
    parser.add_argument("libraries", nargs="*", metavar="RELEASE=LIBRARY", help="the releases, oldest first")
    parser.add_argument("--dump", action="store_true", help="print the registry of one library")
    options = parser.parse_args()
    if options.dump:
        print(json.dumps(dump(options.out)))
        return
    registries = {}
    for given in options.libraries:
        release, _, path = given.partition("=")
        child = subprocess.run([sys.executable, __file__, "--dump", path], capture_output=True, text=True, check=True)
        registries[number(release)] = json.loads(child.stdout)
    found = history(registries)
    lines = ",\n".join(f'  "{name}": {json.dumps(entry)}' for name, entry in found["operators"].items())
    text = f'{{"releases": {json.dumps(found["releases"])},\n"operators": {{\n{lines}\n}}}}\n'
    Path(options.out).write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
