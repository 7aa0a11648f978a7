"""Results and sources at addresses that fsspec knows."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from graphir.errors import FormatError, ImportFailure
from graphir.registry.buckets import Bucket
from graphir.registry.jobs import ModelOutcome
from graphir.registry.opened import forget
from graphir.registry.pool import WorkerCaps
from graphir.registry.remote import RemoteStore
from graphir.registry.remote_files import fetch, list_units, open_address
from graphir.registry.run import WorkOptions, convert_all

from . import zoo
from .test_resume import tree

ONE = WorkOptions(1, WorkerCaps(120))


def published(store: RemoteStore, slug: str, files: dict[str, bytes], bucket: Bucket = Bucket.DONE) -> ModelOutcome:
    """An outcome with files in a store."""
    folder = store.workspace(slug)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    outcome = ModelOutcome(slug, slug, slug, bucket, files=tuple((name, len(data)) for name, data in files.items()))
    store.publish(folder, outcome)
    assert not folder.exists()
    return outcome


class InThisProcess(AbstractContextManager["InThisProcess"]):
    """An engine without workers: what lies in memory is there for this process alone."""

    def __exit__(self, *_: object) -> None:
        forget()

    def run(self, function: Any, tasks: Any) -> Any:
        return ((label, function(*arguments)) for label, arguments in tasks)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """All work is done here."""
    monkeypatch.setattr(WorkOptions, "engine", lambda self: InThisProcess())


@pytest.fixture
def store() -> RemoteStore:
    """An empty store in memory."""
    return RemoteStore(f"memory://{uuid4().hex}/out")


def downloaded(address: str, folder: Path) -> Path:
    """The files of an address in a folder."""
    system, root = open_address(address)
    system.get(f"{root}/", f"{folder}/", recursive=True)
    return folder


def uploaded(folder: Path, address: str) -> None:
    """The files of a folder at an address."""
    system, root = open_address(address)
    for file in folder.rglob("*"):
        if file.is_file():
            system.pipe_file(f"{root}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def test_what_is_published_is_found(store: RemoteStore) -> None:
    assert store.outcomes() == {}
    made = {slug: published(store, slug, {f"{slug}.onnx": slug.encode(), "report.html": b""}) for slug in ("a", "b")}
    assert store.outcomes() == made
    made["a"] = published(store, "a", {}, Bucket.TIME)
    assert store.outcomes() == made
    system, root = open_address(f"{store.address}/models/a")
    assert [Path(name).name for name in system.ls(root, detail=False)] == ["record.json"]


def test_a_result_that_was_cut_short_is_none(store: RemoteStore) -> None:
    published(store, "a", {"a.onnx": b"whole"})
    system, root = open_address(f"{store.address}/models/a")
    system.pipe_file(f"{root}/a.onnx", b"who")
    assert store.outcomes() == {}


@pytest.mark.usefixtures("in_this_process")
def test_the_same_as_in_a_folder(tmp_path: Path) -> None:
    for number in range(3):
        zoo.dense(tmp_path / "zoo", f"m{number}", seed=number)
    zoo.dense(tmp_path / "zoo", "strange", "NobodyKnows")
    address = f"memory://{uuid4().hex}"
    convert_all([tmp_path / "zoo"], tmp_path / "here", working=ONE)
    assert convert_all([tmp_path / "zoo"], address, working=ONE).kept == 0
    assert tree(tmp_path / "here") == tree(downloaded(address, tmp_path / "there"))
    assert convert_all([tmp_path / "zoo"], address, working=ONE).kept == 4


@pytest.mark.usefixtures("in_this_process")
def test_sources_at_an_address(tmp_path: Path) -> None:
    folder = tmp_path / "zoo"
    zoo.dense(folder / "net", "m")
    zoo.dense(folder, "loose")
    zoo.tar(folder / "server.tar.gz", zoo.model_files())
    (folder / "empty").mkdir()
    (folder / "empty" / "readme").write_text("none")
    address = f"memory://{uuid4().hex}/zoo"
    uploaded(folder, address)
    report = convert_all([address], tmp_path / "out", working=ONE)
    assert [(found.name, found.bucket) for found in report.outcomes] == [
        ("zoo", Bucket.DONE), ("net", Bucket.DONE), ("server", Bucket.DONE)
    ]  # fmt: skip
    assert "loose-symbol.json" in report.outcomes[0].source
    zoo.dense(folder / "net", "m", seed=1)
    uploaded(folder / "net", f"{address}/net")
    assert convert_all([address], tmp_path / "out", working=ONE).kept < 3
    assert [name for name, _, _ in list_units(f"{address}/*.tar.gz")] == ["server.tar.gz"]


@pytest.mark.parametrize(
    ("address", "said"), [("memory://nothing/there", "no files there"), ("unheard://x", "unheard")]
)
def test_an_address_of_nothing(address: str, said: str) -> None:
    with pytest.raises(ImportFailure, match=said):
        list_units(address)


def test_a_name_in_a_store_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system, root = open_address(f"memory://{uuid4().hex}")
    system.pipe_file(f"{root}/unit/a", b"1")
    entry = system.info(f"{root}/unit/a")
    monkeypatch.setattr(type(system), "find", lambda *_, **__: {f"{root}/unit/../../a": entry})
    (tmp_path / "inner").mkdir()
    with pytest.raises(FormatError, match="may lead out"):
        fetch(f"memory:/{root}/unit", tmp_path / "inner")
    assert list(tmp_path.rglob("*")) == [tmp_path / "inner"]
