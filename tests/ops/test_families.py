"""Tables of families: imported when they are needed, whole when they are gone through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphir.errors import GraphirError
from graphir.ops.families import FamilyTable

FILES = {"first": "TABLE = {'a': 1}", "second": "TABLE = {'b': 2}", "third": "TABLE = {'c': 3}"}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with a file a family; `again` has an operator of another one."""
    folder = tmp_path / "families_of_a_test"
    folder.mkdir()
    for name, text in {"__init__": "", **FILES, "again": "TABLE = {'a': 4}"}.items():
        (folder / f"{name}.py").write_text(text, encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        monkeypatch.delitem(sys.modules, name)
    return folder.name


@pytest.mark.parametrize("key, home, imported", [
    ("a", "", ["first"]),
    ("b", "", ["first", "second"]),
    ("c", "third", ["third"]),
    ("b", "first", ["first", "second"]),
    ("c", "nowhere", ["first", "second", "third"]),
])  # fmt: skip
def test_what_is_asked_for_is_imported(key: str, home: str, imported: list[str], package: str) -> None:
    table = FamilyTable[str, int](
        package, tuple(FILES), "TABLE", home=lambda _: home, convert=lambda _, value: value * 10
    )
    assert table[key] == {"a": 10, "b": 20, "c": 30}[key]
    assert [name for name in FILES if f"{package}.{name}" in sys.modules] == imported


def test_what_no_family_has(package: str) -> None:
    table = FamilyTable[str, int](package, tuple(FILES), "TABLE")
    assert table.get("d") is None
    assert "d" not in table
    assert dict(table) == {"a": 1, "b": 2, "c": 3}
    assert len(table) == 3


def test_an_operator_that_comes_twice_is_an_error(package: str) -> None:
    table = FamilyTable[str, int](package, ("first", "again"), "TABLE")
    with pytest.raises(GraphirError, match=r"two families of .* have a"):
        list(table)
