"""Results at an address that fsspec knows: files are put there one by one, the record last."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path, PurePosixPath

from graphir.registry.jobs import ModelOutcome
from graphir.registry.remote_files import open_address
from graphir.registry.store import LARGEST_RECORD, MODELS, RECORD, complete_outcome, record_text


class RemoteStore:
    """A place that has whole files only: no renames, no locks. Two who write there at the same time write the same."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        open_address(self.address)

    @property
    def shown(self) -> str:
        """Return the address."""
        return self.address

    def workspace(self, slug: str) -> Path:
        """Return a new temporary folder on this machine."""
        return Path(tempfile.mkdtemp(prefix=f"graphir-{slug}-"))

    def publish(self, folder: Path, outcome: ModelOutcome) -> None:
        """Write the files, the record last: a folder without a record is not a result."""
        system, root = open_address(self.address)
        target = f"{root}/{MODELS}/{outcome.slug}"
        if system.exists(f"{target}/{RECORD}"):
            system.rm_file(f"{target}/{RECORD}")
        system.makedirs(target, exist_ok=True)
        names = sorted(file.name for file in folder.iterdir())
        for name in names:
            system.put_file(str(folder / name), f"{target}/{name}")
        for entry in system.ls(target, detail=False):
            if PurePosixPath(entry).name not in names:
                system.rm_file(entry)
        system.pipe_file(f"{target}/{RECORD}", record_text(outcome).encode())
        shutil.rmtree(folder, ignore_errors=True)

    def outcomes(self) -> dict[str, ModelOutcome]:
        """Return the outcomes whose files exist with the sizes in their records."""
        system, root = open_address(self.address)
        system.invalidate_cache()
        models = f"{root}/{MODELS}"
        if not system.isdir(models):
            return {}
        sizes: dict[PurePosixPath, dict[str, int]] = {}
        for name, entry in system.find(models, detail=True).items():
            sizes.setdefault(PurePosixPath(name).parent, {})[PurePosixPath(name).name] = int(entry.get("size") or 0)
        largest = LARGEST_RECORD
        records = [str(parent / RECORD) for parent, files in sizes.items() if files.get(RECORD, largest + 1) <= largest]
        complete = {}
        # Asked for as a list, `cat` gives a mapping, even for one.
        for name, text in (system.cat(records, on_error="omit") if records else {}).items():
            parent = PurePosixPath(name).parent
            outcome = complete_outcome(text, sizes.get(parent, {}).get)
            if outcome is not None and outcome.slug == parent.name:
                complete[outcome.slug] = outcome
        return complete

    def write(self, name: str, text: str) -> None:
        """Write a file at the address itself."""
        system, root = open_address(self.address)
        system.makedirs(root, exist_ok=True)
        system.pipe_file(f"{root}/{name}", text.encode("utf-8"))
