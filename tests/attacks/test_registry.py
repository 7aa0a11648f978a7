"""A registry in the hands of others: hostile folders of results, lists, addresses, records and archives."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from graphir.cli import main
from graphir.errors import ExportFailure, FormatError, GraphirError, ImportFailure, LimitError
from graphir.registry.archives import unpack
from graphir.registry.buckets import Bucket
from graphir.registry.manifest import ListFile
from graphir.registry.pool import WorkerCaps
from graphir.registry.remote_files import open_address
from graphir.registry.run import WorkOptions, convert_all
from graphir.registry.sources import search
from graphir.safety.limits import limited
from tests.attacks.onnx_tensor_rows import edited, lies_elsewhere
from tests.registry import zoo

ONE = WorkOptions(1, WorkerCaps(60))


def state(folder: Path) -> dict[str, Any]:
    """Every entry below a folder: what it holds, or where a link leads."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path) if path.is_symlink()
        else path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }  # fmt: skip


def linked(name: str, to: str = "") -> Callable[[Path, Path], None]:
    """A link in OUT to a folder or file outside."""

    def make(out: Path, outside: Path) -> None:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).symlink_to(outside / to)

    return make


def a_pipe(name: str) -> Callable[[Path, Path], None]:
    def make(out: Path, outside: Path) -> None:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(out / name)

    return make


REFUSED: dict[str, Callable[[Path, Path], None]] = {
    "state": linked(".graphir"),
    "models": linked("models"),
    "lock": linked(".graphir/lock", "created"),
    "lock of another": linked(".graphir/lock", "kept"),
    "pipe as lock": a_pipe(".graphir/lock"),
    "pipe as models": a_pipe("models"),
    "page": linked("index.html", "kept"),
    "data": linked("index.json", "created"),
}
REPLACED: dict[str, Callable[[Path, Path], None]] = {
    "work": linked(".graphir/work"),
    "work is a file": linked(".graphir/work", "kept"),
    "model": linked("models/a"),
    "model is a file": linked("models/a", "kept"),
    "model is a pipe": a_pipe("models/a"),
    "record": linked("models/a/record.json", "kept"),
    "result": linked("models/a/a.onnx", "kept"),
}


def hostile(tmp_path: Path, make: Callable[[Path, Path], None]) -> tuple[Path, Path]:
    """A folder of results that somebody prepared, and one outside with files in it."""
    zoo.dense(tmp_path / "zoo", "a")
    outside = tmp_path / "outside"
    for name in ("a", "models", "work"):
        (outside / name).mkdir(parents=True)
        (outside / name / "kept").write_text("kept")
    (outside / "kept").write_text("kept")
    make(tmp_path / "out", outside)
    return tmp_path / "out", outside


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_links_in_the_place_of_ours_are_refused(make: Callable[[Path, Path], None], tmp_path: Path) -> None:
    out, outside = hostile(tmp_path, make)
    before = state(outside)
    with pytest.raises(ExportFailure, match=r"cannot use .*expected a (regular file|folder)"):
        convert_all([tmp_path / "zoo"], out, working=ONE)
    assert state(outside) == before


@pytest.mark.parametrize("make", REPLACED.values(), ids=REPLACED.keys())
def test_links_below_ours_are_replaced(make: Callable[[Path, Path], None], tmp_path: Path) -> None:
    out, outside = hostile(tmp_path, make)
    before = state(outside)
    report = convert_all([tmp_path / "zoo"], out, working=ONE)
    assert [outcome.bucket for outcome in report.outcomes] == [Bucket.DONE]
    assert state(outside) == before
    assert sorted(state(out / "models")) == [
        "a", "a/a.onnx", "a/record.json", "a/report.html", "a/report.json"
    ]  # fmt: skip
    assert not any(path.is_symlink() for path in out.rglob("*"))


def endless(record: Path) -> None:
    record.symlink_to("/dev/zero")


def sparse(record: Path) -> None:
    with record.open("wb") as file:
        file.truncate(20 << 30)


def old(record: Path) -> str:
    return record.with_name("old").read_text()


RECORDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "endless": endless,
    "sparse": sparse,
    "deep": lambda record: record.write_text("[" * 100_000),
    "untyped": lambda record: record.write_text(old(record).replace('"detail": ""', '"detail": {}')),
    "names of no text": lambda record: record.write_text(old(record).replace('"a.onnx"', "[1]")),
}  # fmt: skip


@pytest.mark.parametrize("make", RECORDS.values(), ids=RECORDS.keys())
def test_a_record_that_is_none_of_ours(make: Callable[[Path], object], tmp_path: Path) -> None:
    zoo.dense(tmp_path / "zoo", "a")
    convert_all([tmp_path / "zoo"], tmp_path / "out", working=ONE)
    record = tmp_path / "out" / "models" / "a" / "record.json"
    record.rename(record.with_name("old"))
    make(record)
    report = convert_all([tmp_path / "zoo"], tmp_path / "out", working=ONE)
    assert (report.kept, [outcome.bucket for outcome in report.outcomes]) == (0, [Bucket.DONE])
    assert json.loads(record.read_text())["detail"] == ""


@pytest.mark.parametrize("scheme", ["file", "local"])
def test_a_link_of_a_local_address_leads_nowhere(scheme: str, tmp_path: Path) -> None:
    files = edited("external", lies_elsewhere(location="w.bin")).files
    folder = tmp_path / "zoo" / "unit"
    folder.mkdir(parents=True)
    (folder / "m.onnx").write_bytes(files["m.onnx"])
    (tmp_path / "private").write_bytes(bytes(4096))
    (folder / "w.bin").symlink_to(tmp_path / "private")
    report = convert_all([f"{scheme}://{tmp_path}/zoo"], f"{scheme}://{tmp_path}/out", working=ONE)
    (outcome,) = report.outcomes
    assert outcome.bucket.failed, outcome.name
    assert "is a link to" in outcome.detail, outcome.detail
    assert (tmp_path / "out" / "models" / "unit-m" / "record.json").is_file()


@pytest.mark.parametrize(
    "address",
    ["dir::file://PLACE", "simplecache::file://PLACE", "asyncwrapper::file://PLACE", "reference://::file://PLACE/r"],
)
def test_no_address_leads_to_this_machine(address: str, tmp_path: Path) -> None:
    (tmp_path / "r").write_text(json.dumps({"version": 1, "refs": {"m.onnx": [f"file://{tmp_path}/private"]}}))
    with pytest.raises(ImportFailure, match="files of this machine"):
        open_address(address.replace("PLACE", str(tmp_path)))


def listing_model(folder: Path, source: str) -> Path:
    """A file that is a model's by its name and lists private files by its content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "model-symbol.json"
    path.write_text(json.dumps({"models": [{"source": source}], "nodes": [], "heads": []}))
    return path


def private(folder: Path) -> Path:
    """A model of nobody else's."""
    zoo.dense(folder, "secret")
    return folder / "secret-symbol.json"


@pytest.mark.parametrize("as_glob", [False, True])
def test_a_models_content_makes_no_list(as_glob: bool, tmp_path: Path) -> None:
    private(tmp_path / "private")
    listing_model(tmp_path / "stranger", "../private/secret-symbol.json")
    (tmp_path / "stranger" / "labels.txt").write_text("../private/secret-symbol.json\n")
    (tmp_path / "stranger" / "labels.csv").write_text("source\n../private/secret-symbol.json\n")
    source = f"{tmp_path}/stranger/*" if as_glob else tmp_path / "stranger" / "model-symbol.json"
    report = convert_all([source], tmp_path / "out", working=ONE)
    assert [outcome.name for outcome in report.outcomes] == ["model"]
    assert report.outcomes[0].bucket.failed
    assert not list((tmp_path / "out").rglob("*.onnx"))


@pytest.mark.parametrize("command", ["convert-all", "check"])
@pytest.mark.parametrize("name", ["labels.txt", "labels.csv", "labels.list"])
def test_a_list_is_named_as_one(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    symbol = private(tmp_path)
    (tmp_path / name).write_text(f"source\n{symbol.name}\n" if name.endswith("csv") else f"{symbol.name}\n")
    more = ["--out", "out", "--jobs", "1"] if command == "convert-all" else []
    assert main([command, name, *more]) == 1
    assert "name a list of models with --list" in capsys.readouterr().err
    assert main([command, "--list", name, *more]) == 0
    assert "secret" in capsys.readouterr().out
    assert main([command, *more]) == 2
    assert main([command, symbol.name, "--list-root", ".", *more]) == 2


def link_to(symbol: Path) -> str:
    (symbol.parent.parent / "lists" / "alias-symbol.json").symlink_to(symbol)
    return "alias"


ENTRIES: dict[str, Callable[[Path], str]] = {
    "above": lambda symbol: f"../private/{symbol.name}",
    "absolute": str,
    "prefix above": lambda symbol: "../private/secret",
    "folder above": lambda symbol: "../private",
    "link": link_to,
}


@pytest.mark.parametrize("key", ["source", "params"])
@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES.keys())
def test_a_list_stays_in_its_folder(entry: Callable[[Path], str], key: str, tmp_path: Path) -> None:
    symbol = private(tmp_path / "private")
    zoo.dense(tmp_path / "lists", "own")
    path = entry(symbol)
    place = tmp_path / "lists" / "list.json"
    place.write_text(json.dumps({"models": [{"source": "own-symbol.json"}, {"source": "own-symbol.json", key: path}]}))
    with pytest.raises(FormatError, match=rf"models\[1\]: {key} .* leads out of .*--list-root"):
        search([ListFile(str(place))])
    assert len(search([ListFile(str(place), str(tmp_path))]).models) == 2


def tar_with(path: Path, *entries: tuple[bytes, bytes], packed: bool = True) -> Path:
    """A tar of entries of a type with a content, written by hand: Python's writer makes none of these."""
    with tarfile.open(path, "w:gz" if packed else "w") as archive:
        for number, (kind, content) in enumerate(entries):
            entry = tarfile.TarInfo(f"file{number}")
            entry.type, entry.size = kind, len(content)
            archive.fileobj.write(entry.tobuf(tarfile.GNU_FORMAT))
            archive.fileobj.write(content + bytes(-len(content) % tarfile.BLOCKSIZE))
            archive.offset += 512 + len(content) + -len(content) % tarfile.BLOCKSIZE
    return path


def pax(key: str, value: bytes) -> bytes:
    """A record of a pax header."""
    body = b" " + key.encode() + b"=" + value + b"\n"
    size = len(body)
    while len(str(size)) + len(body) != size:
        size = len(str(size)) + len(body)
    return str(size).encode() + body


def many() -> bytes:
    """Six thousand records."""
    return b"".join(pax(f"k{number}", b"") for number in range(6_000))


# Made when their row runs: together they take a gigabyte, which each worker would keep.
HEADERS: dict[str, Callable[[], list[tuple[bytes, bytes]]]] = {
    "pax": lambda: [(tarfile.XHDTYPE, pax("comment", bytes(1 << 28)))],
    "global pax": lambda: [(tarfile.XGLTYPE, pax("comment", bytes(1 << 28)))],
    "long name": lambda: [(tarfile.GNUTYPE_LONGNAME, b"n" * (1 << 28))],
    "long link": lambda: [(tarfile.GNUTYPE_LONGLINK, b"n" * (1 << 28))],
    "many global": lambda: [(tarfile.XGLTYPE, many())] * 4_000,
    "sparse": lambda: [(tarfile.XHDTYPE, pax("GNU.sparse.major", b"1") + pax("GNU.sparse.minor", b"0")),
                       (tarfile.REGTYPE, b"9999999\n" + b"0\n1\n" * (1 << 24))],
}  # fmt: skip


@pytest.mark.parametrize("entries", HEADERS.values(), ids=HEADERS.keys())
def test_headers_of_archives_are_counted(
    entries: Callable[[], list[tuple[bytes, bytes]]], tmp_path: Path
) -> None:
    path = tar_with(tmp_path / "x.tar.gz", *entries(), (tarfile.REGTYPE, b"x"))
    (tmp_path / "inner").mkdir()
    with limited(), pytest.raises((FormatError, LimitError), match=r"a header in it has more than|--limits expansion"):
        unpack(path, tmp_path / "inner")
    assert list((tmp_path / "inner").iterdir()) == []


def test_headers_that_hold_for_all_take_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tar_with(tmp_path / "x.tar", (tarfile.XGLTYPE, many()), *[(tarfile.REGTYPE, b"x")] * 1_000, packed=False)
    (tmp_path / "inner").mkdir()
    tracemalloc.start()
    with limited(), suppress(GraphirError):
        unpack(path, tmp_path / "inner")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_a_plain_tar_is_read_as_before(tmp_path: Path) -> None:
    long_name = "/".join(["folder"] * 30) + "/file"
    data = os.urandom(3 << 20)
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / "x.tar.gz", "w:gz", format=form) as archive:
            for name, content in (("a", b""), ("\u00e4\u4e2d", data), (long_name, b"1")):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        folder = tmp_path / f"inner{form}"
        folder.mkdir()
        unpack(tmp_path / "x.tar.gz", folder)
        assert (folder / "\u00e4\u4e2d").read_bytes() == data
        assert (folder / long_name).read_bytes() == b"1"
