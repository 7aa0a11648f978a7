"""Results at an address that fsspec knows: files are put there one by one, the record last."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath

from graphir.registry.jobs import Outcome
from graphir.registry.remote_files import opened_at
from graphir.registry.store import LARGEST_RECORD, MODELS, RECORD, record_text, whole


class RemoteStore:
    """A place that has whole files only: no renames, no locks. Two who write there at the same time write the same."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        opened_at(self.address)

    @property
    def shown(self) -> str:
        """The address."""
        return self.address

    def workspace(self, slug: str) -> Path:
        """A folder of this machine."""
        return Path(tempfile.mkdtemp(prefix=f"graphir-{slug}-"))

    def publish(self, folder: Path, outcome: Outcome) -> None:
        """The record goes first and comes last: what is there without one is not taken for a result."""
        system, root = opened_at(self.address)
        place = f"{root}/{MODELS}/{outcome.slug}"
        if system.exists(f"{place}/{RECORD}"):
            system.rm_file(f"{place}/{RECORD}")
        system.makedirs(place, exist_ok=True)
        names = sorted(file.name for file in folder.iterdir())
        for name in names:
            system.put_file(str(folder / name), f"{place}/{name}")
        for entry in system.ls(place, detail=False):
            if PurePosixPath(entry).name not in names:
                system.rm_file(entry)
        system.pipe_file(f"{place}/{RECORD}", record_text(outcome).encode())
        shutil.rmtree(folder, ignore_errors=True)

    def outcomes(self) -> dict[str, Outcome]:
        """Those whose files are there, with the sizes that the records name."""
        system, root = opened_at(self.address)
        system.invalidate_cache()
        models = f"{root}/{MODELS}"
        if not system.isdir(models):
            return {}
        sizes: dict[PurePosixPath, dict[str, int]] = {}
        for name, entry in system.find(models, detail=True).items():
            sizes.setdefault(PurePosixPath(name).parent, {})[PurePosixPath(name).name] = int(entry.get("size") or 0)
        largest = LARGEST_RECORD
        records = [str(place / RECORD) for place, files in sizes.items() if files.get(RECORD, largest + 1) <= largest]
        found = {}
        # Asked for as a list, `cat` gives a mapping, even for one.
        for name, text in (system.cat(records, on_error="omit") if records else {}).items():
            place = PurePosixPath(name).parent
            outcome = whole(text, sizes.get(place, {}).get)
            if outcome is not None and outcome.slug == place.name:
                found[outcome.slug] = outcome
        return found

    def write(self, name: str, text: str) -> None:
        """A file at the address itself."""
        system, root = opened_at(self.address)
        system.makedirs(root, exist_ok=True)
        system.pipe_file(f"{root}/{name}", text.encode("utf-8"))
