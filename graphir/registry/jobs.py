"""What is to be done with a model, and what came of it: plain data that goes to workers and stays on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any

from graphir.converters.options import ModelOptions
from graphir.passes.half import HalfOptions
from graphir.registry.buckets import Bucket
from graphir.registry.names import slugs_of
from graphir.registry.sources import Found, Stamp, stamps_of
from graphir.safety.limits import Limits
from graphir.structure.record import record
from graphir.verification.options import ComparisonOptions

# Changes when records or what stands in a model's folder are written otherwise: older ones are made anew.
LAYOUT = 1
TARGET_OPTIONS = ("opset",)


@record
class Plan:
    """What is wanted of every model: the target's format and its own options, and what `convert` takes.

    A manifest states some of it for a model of its own.
    """

    to: str = "onnx"
    target: Mapping[str, Any] = field(default_factory=dict)
    model: ModelOptions = field(default_factory=ModelOptions)
    constants: Mapping[str, object] | None = None
    half: HalfOptions | None = None
    verify: bool = False
    how: ComparisonOptions = field(default_factory=ComparisonOptions)
    limits: Limits | None = None
    plugins: Sequence[str] = ()

    def for_model(self, given: Mapping[str, Any]) -> Plan:
        """The plan with what is stated of one model."""
        target = {name: value for name, value in given.items() if name in TARGET_OPTIONS}
        model = {name: value for name, value in given.items() if name not in TARGET_OPTIONS}
        return replace(self, target={**self.target, **target}, model=replace(self.model, **model)) if given else self

    def digest(self) -> str:
        """A word that changes with anything that is wanted, the text of the plugins and the files of inputs
        included."""
        found = hashlib.sha256(f"{LAYOUT}\n{self!r}".encode(errors="surrogateescape"))
        for plugin in self.plugins:
            with open(plugin, "rb") as file:
                found.update(file.read())
        feeds = self.how.feeds
        for one in feeds if isinstance(feeds, Sequence) and not isinstance(feeds, str) else [feeds]:
            if isinstance(one, Mapping):
                import numpy as np

                for name, array in one.items():
                    found.update(f"{name}{np.shape(array)}".encode() + np.asarray(array).tobytes())
            elif isinstance(one, str | os.PathLike):
                found.update(repr(stamps_of(_files_at(os.fspath(one)), "")).encode(errors="surrogateescape"))
        return found.hexdigest()[:16]


def _files_at(place: str) -> list[str]:
    """A file, or those of a folder."""
    return sorted(entry.path for entry in os.scandir(place)) if os.path.isdir(place) else [place]


@record
class Job:
    """A model and what is wanted of it. `slug` is the name of its folder, `asked` the plan's digest."""

    model: Found
    slug: str
    plan: Plan
    asked: str


def jobs_of(models: Sequence[Found], plan: Plan) -> list[Job]:
    """A job for each model, in their order."""
    slugs = slugs_of([(model.name, model.shown) for model in models])
    plans = [plan.for_model(model.given) for model in models]
    digests = {id(plan): plan.digest()}
    return [
        Job(model, slug, own, digests.get(id(own)) or own.digest())
        for model, slug, own in zip(models, slugs, plans, strict=True)
    ]


@record
class Outcome:
    """What came of a model: the bucket, why, and what was made.

    `detail` is the error's text, `operators` are those that are not supported, `files` the names and sizes of what was
    written, `nodes` their numbers before and after, `verdict` the verification's ("" without one). `stamps` are those
    of the files that belong to the model, `read` those of all others that it was read from (weights of another name),
    by absolute path. `version` is graphir's.
    """

    name: str
    slug: str
    source: str
    bucket: Bucket
    detail: str = ""
    operators: Sequence[str] = ()
    format: str = ""
    framework: str = ""
    files: Sequence[tuple[str, int]] = ()
    nodes: tuple[int, int] = (0, 0)
    parameters: int = 0
    decisions: int = 0
    verdict: str = ""
    seconds: float = 0.0
    asked: str = ""
    stamps: Sequence[Stamp] = ()
    read: Sequence[Stamp] = ()
    version: str = ""

    @property
    def is_reported(self) -> bool:
        """Whether there is a report of its conversion, and what is known from that."""
        return bool(self.format)

    @property
    def nbytes(self) -> int:
        """The size of what was written for the model, reports not counted."""
        return sum(size for _, size in self.files)

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain data, keys in a fixed order."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return found | {
            "bucket": self.bucket.value,
            "seconds": round(self.seconds, 3),
            **{name: [list(entry) for entry in found[name]] for name in ("files", "stamps", "read")},
            "operators": list(self.operators),
            "nodes": list(self.nodes),
        }

    @classmethod
    def of_json(cls, found: Any) -> Outcome | None:
        """The outcome that a file holds, None for what is none: a record that a crash cut short counts as missing."""
        if not isinstance(found, dict):
            return None
        try:
            given = {name: value for name, value in found.items() if name in {entry.name for entry in fields(cls)}}
            tuples = {name: tuple(map(tuple, found[name])) for name in ("files", "stamps", "read")}
            made = cls(**{
                **given, **tuples, "bucket": Bucket(found["bucket"]), "operators": tuple(found["operators"]),
                "nodes": tuple(found["nodes"]),
            })  # fmt: skip
        except (KeyError, TypeError, ValueError):
            return None
        return made if made._is_typed() else None

    def _is_typed(self) -> bool:
        """Whether every field holds what it is declared as, which a file need not."""
        return (
            all(type(getattr(self, entry.name)) is str for entry in fields(self) if entry.type == "str")
            and all(type(getattr(self, entry.name)) is int for entry in fields(self) if entry.type == "int")
            and type(self.seconds) in (int, float)
            and all(type(name) is str for name in self.operators)
            and [type(count) for count in self.nodes] == [int, int]
            and all([type(part) for part in file] == [str, int] for file in self.files)
            and all([type(part) for part in stamp] == [str, int, int] for stamp in (*self.stamps, *self.read))
        )


def failure(job: Job, bucket: Bucket, detail: str, operators: Sequence[str] = ()) -> Outcome:
    """The outcome of a model that has no result."""
    from graphir import __version__

    model = job.model
    return Outcome(
        model.name, job.slug, model.shown, bucket, detail, tuple(operators), asked=job.asked, stamps=model.stamps,
        version=__version__,
    )  # fmt: skip
