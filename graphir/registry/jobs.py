"""Jobs and outcomes of models: plain data that is sent to workers and stored on disk."""

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
from graphir.registry.sources import ListedModel, Stamp, stamps_of
from graphir.safety.limits import Limits
from graphir.structure.record import record
from graphir.verification.options import ComparisonOptions

# Changes when records or what stands in a model's folder are written otherwise: older ones are made anew.
LAYOUT = 1
TARGET_OPTIONS = ("opset",)


@record
class ConversionPlan:
    """The request for every model: the target's format with its options, and the options of `convert`.

    A manifest may override parts of it for one model.
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

    def for_model(self, given: Mapping[str, Any]) -> ConversionPlan:
        """Return the plan with the options that a manifest states for one model."""
        target = {name: value for name, value in given.items() if name in TARGET_OPTIONS}
        model = {name: value for name, value in given.items() if name not in TARGET_OPTIONS}
        return replace(self, target={**self.target, **target}, model=replace(self.model, **model)) if given else self

    def digest(self) -> str:
        """Return a hash of everything in the plan, the text of the plugins and the files of inputs
        included."""
        hasher = hashlib.sha256(f"{LAYOUT}\n{self!r}".encode(errors="surrogateescape"))
        for plugin in self.plugins:
            with open(plugin, "rb") as file:
                hasher.update(file.read())
        feeds = self.how.feeds
        for feed in feeds if isinstance(feeds, Sequence) and not isinstance(feeds, str) else [feeds]:
            if isinstance(feed, Mapping):
                import numpy as np

                for name, array in feed.items():
                    hasher.update(f"{name}{np.shape(array)}".encode() + np.asarray(array).tobytes())
            elif isinstance(feed, str | os.PathLike):
                hasher.update(repr(stamps_of(_files_at(os.fspath(feed)), "")).encode(errors="surrogateescape"))
        return hasher.hexdigest()[:16]


def _files_at(path: str) -> list[str]:
    """Return the path of a file, or those of a folder's entries."""
    return sorted(entry.path for entry in os.scandir(path)) if os.path.isdir(path) else [path]


@record
class Job:
    """A model with its plan. `slug` is the name of its folder, `asked` the plan's digest."""

    model: ListedModel
    slug: str
    plan: ConversionPlan
    asked: str


def jobs_of(models: Sequence[ListedModel], plan: ConversionPlan) -> list[Job]:
    """Return a job for each model, in their order."""
    slugs = slugs_of([(model.name, model.shown) for model in models])
    plans = [plan.for_model(model.given) for model in models]
    digests = {id(plan): plan.digest()}
    return [
        Job(model, slug, model_plan, digests.get(id(model_plan)) or model_plan.digest())
        for model, slug, model_plan in zip(models, slugs, plans, strict=True)
    ]


@record
class ModelOutcome:
    """The outcome of one model: the bucket, the reason, and the files.

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
        """Return whether its conversion has a report."""
        return bool(self.format)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the model's files, without reports."""
        return sum(size for _, size in self.files)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain data, keys in a fixed order."""
        document = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return document | {
            "bucket": self.bucket.value,
            "seconds": round(self.seconds, 3),
            **{name: [list(entry) for entry in document[name]] for name in ("files", "stamps", "read")},
            "operators": list(self.operators),
            "nodes": list(self.nodes),
        }

    @classmethod
    def of_json(cls, document: Any) -> ModelOutcome | None:
        """Return the outcome of a file's document, None if it is not one: a record that a crash cut short counts as
        missing."""
        if not isinstance(document, dict):
            return None
        try:
            given = {name: value for name, value in document.items() if name in {entry.name for entry in fields(cls)}}
            tuples = {name: tuple(map(tuple, document[name])) for name in ("files", "stamps", "read")}
            outcome = cls(**{
                **given, **tuples, "bucket": Bucket(document["bucket"]), "operators": tuple(document["operators"]),
                "nodes": tuple(document["nodes"]),
            })  # fmt: skip
        except (KeyError, TypeError, ValueError):
            return None
        return outcome if outcome._is_typed() else None

    def _is_typed(self) -> bool:
        """Return whether every field has its declared type, which a file does not guarantee."""
        return (
            all(type(getattr(self, entry.name)) is str for entry in fields(self) if entry.type == "str")
            and all(type(getattr(self, entry.name)) is int for entry in fields(self) if entry.type == "int")
            and type(self.seconds) in (int, float)
            and all(type(name) is str for name in self.operators)
            and [type(count) for count in self.nodes] == [int, int]
            and all([type(part) for part in file] == [str, int] for file in self.files)
            and all([type(part) for part in stamp] == [str, int, int] for stamp in (*self.stamps, *self.read))
        )


def failure(job: Job, bucket: Bucket, detail: str, operators: Sequence[str] = ()) -> ModelOutcome:
    """Return the outcome of a model that has no result."""
    from graphir import __version__

    model = job.model
    return ModelOutcome(
        model.name, job.slug, model.shown, bucket, detail, tuple(operators), asked=job.asked, stamps=model.stamps,
        version=__version__,
    )  # fmt: skip
