"""Keras: `.keras` archives and HDF5 files. GRAPHIR_FUZZ_KERAS may name a folder with more of them to begin with."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.bytes_ import mutate_bytes, put_number
from tests.fuzz.case import Format, Model, Random
from tests.fuzz.json_ import mutate_json
from tests.fuzz.zip_ import mutate_zip
from tests.tensorflow.keras_files import all_models, archive, legacy, weights_file

TARGETS = ("result.onnx", "result.onnx", "result.graphir.json")
LARGEST = 200_000
# What begins the structures of an HDF5 file.
SIGNATURES = (b"\x89HDF", b"TREE", b"HEAP", b"SNOD", b"GCOL", b"OHDR", b"FRHP", b"BTHD")


def _more(suffix: str) -> list[Model]:
    folder = os.environ.get("GRAPHIR_FUZZ_KERAS")
    paths = sorted(Path(folder).rglob(f"*.{suffix}")) if folder else []
    return [
        Model(f"m.{suffix}", {f"m.{suffix}": path.read_bytes()}) for path in paths if path.stat().st_size < LARGEST
    ]


def _archives() -> list[Model]:
    made = [archive(config, weights_file(layers)) for config, layers in all_models()]
    made.append(archive(all_models()[0][0], weights_file(all_models()[0][1]), method=8))
    return [*(Model("m.keras", {"m.keras": data}) for data in made), *_more("keras")]


def _files() -> list[Model]:
    return [*(Model("m.h5", {"m.h5": legacy(*held)}) for held in all_models()), *_more("h5")]


def mutate_hdf5(chance: Random, data: bytes) -> bytes:
    """Numbers near the structures' beginnings replaced, or bytes anywhere in front of the weights' bulk."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        roll = chance.random()
        if roll < 0.5:
            data = _structure_changed(chance, data)
        elif roll < 0.9:
            data = put_number(chance, data, chance.randrange(len(data)), chance.choice((1, 2, 4, 8)))
        else:
            data = mutate_bytes(chance, data)
        if len(data) < 16:
            break
    return data


def _structure_changed(chance: Random, data: bytes) -> bytes:
    places = []
    for signature in SIGNATURES:
        start = data.find(signature)
        while start >= 0:
            places.append(start)
            start = data.find(signature, start + 1)
    at = (chance.choice(places) if places else 0) + chance.randrange(0, 96)
    return put_number(chance, data, at, chance.choice((1, 2, 4, 8)))


def _mutate_archive(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    def change(chance: Random, name: str, content: bytes) -> bytes:
        return mutate_hdf5(chance, content) if name.endswith(".h5") else mutate_json(chance, content)

    return model.with_file("m.keras", mutate_zip(chance, model.files["m.keras"], change))


def _mutate_file(chance: Random, model: Model, seeds: Sequence[Model]) -> Model:
    """Another configuration of the same length, for which the text is padded or cut, or other bytes."""
    data = model.files["m.h5"]
    start = data.find(b'{"')
    if chance.random() < 0.5 or start < 0:
        return model.with_file("m.h5", mutate_hdf5(chance, data))
    try:
        _, length = json.JSONDecoder().raw_decode(data[start:].decode("latin-1"))
    except ValueError:
        return model.with_file("m.h5", mutate_bytes(chance, data))
    changed = mutate_json(chance, data[start : start + length])
    text = json.dumps(json.loads(changed), separators=(",", ":")).encode() if _parses(changed) else changed
    fitted = text[:length].ljust(length)
    return model.with_file("m.h5", data[:start] + fitted + data[start + length :])


def _parses(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


KERAS = Format("keras", _archives, _mutate_archive, TARGETS)
HDF5 = Format("hdf5", _files, _mutate_file, TARGETS)

FORMATS = (KERAS, HDF5)

__all__ = ["FORMATS", "HDF5", "KERAS", "mutate_hdf5"]
