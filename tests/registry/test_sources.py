"""Which models folders, globs, lists and archives mean, and what of archives is refused."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from graphir.errors import FormatError, GraphirError, ImportFailure, LimitError
from graphir.registry.archives import is_archive, unpack
from graphir.registry.manifest import ListFile, read_manifest
from graphir.registry.names import LONGEST, slugs_of
from graphir.registry.opened import list_archive
from graphir.registry.sources import LINKS, NO_MODEL, PARTS, Source, search, unopened_archive
from graphir.registry.store import LocalStore
from graphir.safety.limits import limited

from . import zoo


def found(*sources: Source) -> list[str]:
    return [model.name for model in search(sources).models]


def fill(folder: Path) -> None:
    """A checkpoint, a SavedModel, a Keras archive, and what is no model."""
    zoo.digits(folder / "b", "net")
    saved = folder / "a" / "saved"
    (saved / "variables").mkdir(parents=True)
    (saved / "saved_model.pb").write_bytes(b"\x08\x01")
    (saved / "variables" / "variables.index").write_bytes(b"")
    zoo.zipped(folder / "a" / "k.keras", {"config.json": b"{}"})
    (folder / "a" / "broken.onnx").write_bytes(b"nothing")
    (folder / "a" / "notes.json").write_text('{"a": 1}')
    (folder / "readme.txt").write_text("text")
    (folder / ".hidden.onnx").write_bytes(b"")
    (folder / "loop").symlink_to(folder)
    (folder / "spiece.model").write_bytes(b"no archive")
    zoo.tar(folder / "server.tar.gz", zoo.model_files())


def test_a_folder(tmp_path: Path) -> None:
    fill(tmp_path)
    searched = search([tmp_path])
    assert [model.name for model in searched.models] == ["a/broken", "a/k", "a/saved", "b/net", "server.tar.gz"]
    assert searched.passed == {NO_MODEL: 3, PARTS: 1, LINKS: 1}
    assert [name for name, _, _ in searched.models[3].stamps] == ["net-0000.params", "net-symbol.json"]


def test_other_sources(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "list.csv").write_text("source,shapes\nb/net-symbol.json,\n")
    assert found(tmp_path / "b" / "net") == ["net"]
    assert found(tmp_path / "a" / "saved") == ["saved"]
    assert found(f"{tmp_path}/*/*.onnx", f"{tmp_path}/**/broken.onnx") == ["broken"]
    assert found(ListFile(str(tmp_path / "list.csv")), tmp_path / "b") == ["net"]


@pytest.mark.parametrize("source", ["absent", "*.absent", "folder/**/x"])
def test_nothing_is_there(source: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"no such file|nothing matches"):
        search([f"{tmp_path}/{source}"])


FULL = {"shapes": {"data": [1, "N", 8]}, "dtypes": {"data": "float16"}, "outputs": ["a", "b:1"], "opset": 15}
TABLE = 'source,name,shapes,dtypes,outputs,opset\nm.onnx,mine,"data:1,N,8",data:float16,"a, b:1",15\nx.onnx,,,,,\n'
GOOD = [
    ("a.json", json.dumps({"models": ["m.onnx", {"source": "x.onnx", "name": "x"}]}), [("", {}), ("x", {})]),
    ("b.json", json.dumps({"models": [{"source": "m.onnx", "name": "mine", **FULL}]}), [("mine", FULL)]),
    ("c.csv", TABLE, [("mine", FULL), ("", {})]),
    ("d.txt", "# all\n\nm.onnx\n  x.onnx  \n", [("", {}), ("", {})]),
    ("e.csv", "", []),
]
BAD = [
    ("a.json", '{"models": [1]}', r"expected an object or a path .*models\[0\]"),
    ("a.json", '{"models": [{"name": "x"}]}', "no source"),
    ("a.json", '{"models": [{"source": "m", "shape": []}]}', "unknown: shape; expected source, name, params"),
    ("a.json", '{"models": [{"source": "m", "shapes": [1]}]}', "expected sizes by input"),
    ("a.json", '{"models": [{"source": "m", "opset": 1.5}]}', "opset: expected a whole number, found 1.5"),
    ("c.csv", "source\na,b\n", "line 2: 2 fields for 1 columns"),
    ("c.csv", 'source\n"a\n', "line 2: "),
    ("c.csv", "\xff", "UTF-8"),
    ("c.csv", "source,opset\nm,many\n", "expected a whole number"),
    ("c.csv", "source,dtypes\nm,float16\n", "dtypes: "),
    ("a.json", "[" * 100_000, "nest deeper than"),
    ("a.json", '{"nodes": []}', 'expected an object with a list "models"'),
]


@pytest.mark.parametrize(("name", "text", "expected"), GOOD)
def test_a_list(name: str, text: str, expected: list[tuple[str, object]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    read = read_manifest(ListFile(str(tmp_path / name)))
    assert [(shown, given) for shown, _, given in read] == expected
    assert all(Path(place).parent == tmp_path for _, place, _ in read)


@pytest.mark.parametrize(("name", "text", "said"), BAD)
def test_a_wrong_list(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(FormatError, match=said):
        read_manifest(ListFile(str(tmp_path / name)))


@pytest.mark.parametrize("name", ["m.tar.gz", "m.tgz", "m.zip", "m.mar", "m.model"])
def test_an_archive(name: str, tmp_path: Path) -> None:
    files = {f"inner/{key}": value for key, value in zoo.model_files().items()} | {"code/service.py": b"pass"}
    path = (zoo.tar if name.endswith("gz") else zoo.zipped)(tmp_path / name, files)
    assert is_archive(path)
    store = LocalStore(str(tmp_path / "out"))
    with store.locked():
        inside = list_archive(unopened_archive(str(path), f"zoo/{name}"), store, None)
    assert [(model.name, model.path, model.archive) for model in inside.models] == [
        ("zoo/m", "inner/m-symbol.json", str(path))
    ]
    assert inside.passed == {NO_MODEL: 1, PARTS: 1}


HARMFUL = [
    ("up.tar.gz", {"../x": b"1"}, "may lead out", FormatError),
    ("up.zip", {"a/../../x": b"1"}, "may lead out", FormatError),
    ("absolute.tar.gz", {"/etc/x": b"1"}, "may lead out", FormatError),
    ("windows.zip", {"c:\\x": b"1"}, "may lead out", FormatError),
    ("twice.tar.gz", {"x/a": b"1", "x//a": b"2"}, "two of its files", FormatError),
    ("over.tar.gz", {"x": b"1", "x/a": b"2"}, "a file and a folder", FormatError),
    ("long.tar.gz", {"x" * 300: b"1"}, "no file can be called", FormatError),
    ("deep.zip", {"a/" * 40 + "x": b"1"}, "levels", LimitError),
    ("zeros.zip", {"x": bytes(1 << 27)}, "--limits expansion=", LimitError),
    ("zeros.tar.gz", {"x": bytes(1 << 27)}, "--limits expansion=", LimitError),
    ("many.tar.gz", {f"{number:05}": b"" for number in range(8_000)}, "--limits expansion=", LimitError),
]


@pytest.mark.one_of(8)
@pytest.mark.parametrize(("name", "files", "said", "error"), HARMFUL, ids=[case[0] for case in HARMFUL])
def test_a_harmful_archive(
    name: str, files: dict[str, bytes], said: str, error: type[GraphirError], tmp_path: Path
) -> None:
    path = (zoo.tar if name.endswith("gz") else zoo.zipped)(tmp_path / name, files)
    refused(path, tmp_path, said, error)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_no_links_and_devices(kind: bytes, tmp_path: Path) -> None:
    path = zoo.tar(tmp_path / "links.tar.gz", {"a": b"1", "b": b""}, kind=kind, link="/etc/passwd")
    refused(path, tmp_path, "is a link or no file", FormatError)


def test_no_links_in_zips(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "links.zip", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    refused(tmp_path / "links.zip", tmp_path, "is a link or no file", FormatError)


@pytest.mark.parametrize("content", [b"PK\x03\x04" + bytes(90), b"\x1f\x8b" + bytes(90), b"text", b""])
def test_no_archive(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    refused(path, tmp_path, "cannot be unpacked", FormatError)


def refused(path: Path, folder: Path, said: str, error: type[GraphirError]) -> None:
    """The archive is refused, and nothing lies outside of the folder that it was to go to."""
    inner = folder / "unpacked" / "inner"
    inner.mkdir(parents=True)
    before = {entry for entry in folder.rglob("*") if inner not in entry.parents}
    with limited(), pytest.raises(error, match=said):
        unpack(path, inner)
    assert {entry for entry in folder.rglob("*") if inner not in entry.parents} == before


@pytest.mark.parametrize(
    ("names", "slugs"),
    [
        (["a/b", "c"], ["a-b", "c"]),
        (["../../etc", "."], ["etc", "model"]),
        (["nul", "com1.x"], ["model-nul", "model-com1.x"]),
    ],
)
def test_slugs(names: list[str], slugs: list[str]) -> None:
    assert slugs_of([(name, name) for name in names]) == slugs


def test_slugs_are_apart() -> None:
    names = ["a/b", "a-b", "A-B", "a-b", "x" * 300, "x" * 301, "\u4e2d", "\u6587"]
    slugs = slugs_of([(name, "same") for name in names])
    assert len({slug.casefold() for slug in slugs}) == len(names)
    assert max(map(len, slugs)) <= LONGEST + 2
    assert all(slug.isascii() and "/" not in slug for slug in slugs)
    assert slugs_of([(name, "same") for name in reversed(names[:3])]) == slugs[2::-1]
