"""Hostile Keras files: archives, HDF5 that leads out of itself, and configurations."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.attacks.attack import Attack
from tests.fuzz.zip_ import archive_of, entries
from tests.tensorflow.keras_files import archive, functional, legacy, sequential, weights_file

CONFIG, LAYERS = sequential("image")
TEXT_CONFIG, TEXT_LAYERS = sequential("text")
WEIGHTS = "model.weights.h5"
KERNEL = "layers/conv2d/vars/0"
NAMED = "model_weights/first/first/weight_0:0"


def keras(name: str, data: bytes | Callable[[], bytes], refused: str = "", **more: Any) -> Attack:
    """An archive, or what makes it."""
    if isinstance(data, bytes):
        return Attack(name, "m.keras", {"m.keras": data}, refused, **more)
    return Attack(name, "m.keras", {}, refused, later=lambda: {"m.keras": data()}, **more)


def h5(name: str, change: Callable[[Any], None], refused: str = "", files: Mapping[str, bytes] | None = None) -> Attack:
    """A file of version 2 in which something was changed by h5py."""
    return Attack(name, "m.h5", files or {}, refused, later=lambda: {"m.h5": legacy(CONFIG, LAYERS, change)})


def inside(name: str, change: Callable[[Any], None], refused: str = "") -> Attack:
    """The same of the weights in an archive."""
    return keras(name, lambda: archive(CONFIG, weights_file(LAYERS, change)), refused)


def replaced(place: str, make: Callable[[Any, str], None]) -> Callable[[Any], None]:
    """Something else where a data set stood."""

    def change(file: Any) -> None:
        del file[place]
        make(file, place)

    return change


def soft(file: Any, place: str) -> None:
    """A soft link to another data set."""
    import h5py

    file[place] = h5py.SoftLink("/layers")


def external(file: Any, place: str) -> None:
    """A link to another file."""
    import h5py

    file[place] = h5py.ExternalLink("/etc/passwd", "/x")


def stored_outside(file: Any, place: str) -> None:
    """Elements in another file."""
    file.create_dataset(place, (3, 3, 3, 4), "f4", external=[("/etc/passwd", 0, 432)])


def virtual(file: Any, place: str) -> None:
    """Elements of data sets of other files."""
    import h5py

    layout = h5py.VirtualLayout((3, 3, 3, 4), "f4")
    layout[...] = h5py.VirtualSource("/etc/hostname", "x", (3, 3, 3, 4))
    file.create_virtual_dataset(place, layout)


def filtered(file: Any, place: str) -> None:
    """Elements behind a filter that a plugin would bring."""
    import h5py

    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((3, 3, 3, 4))
    properties.set_filter(32_000, h5py.h5z.FLAG_OPTIONAL, ())
    space, parent, name = h5py.h5s.create_simple((3, 3, 3, 4)), *place.rsplit("/", 1)
    h5py.h5d.create(file[parent].id, name.encode(), h5py.h5t.IEEE_F32LE, space, properties)


def referring(file: Any, place: str) -> None:
    """References to objects where numbers are due."""
    import h5py

    file.create_dataset(place, (1,), h5py.ref_dtype)[0] = file.ref


def compound(file: Any, place: str) -> None:
    """Records where numbers are due."""
    file[place] = np.zeros(3, [("a", "f4"), ("b", "i8")])


def texts(file: Any, place: str) -> None:
    """Texts where numbers are due."""
    file[place] = ["a", "b"]


def claimed(file: Any, place: str) -> None:
    """10**12 elements of which none is there."""
    file.create_dataset(place, (10**6, 10**6), "f4")


def claimed_in_chunks(file: Any, place: str) -> None:
    """10**12 elements in chunks of which none is there."""
    file.create_dataset(place, (10**6, 10**6), "f4", chunks=(1000, 1000), compression="gzip")


def inflating(file: Any, place: str) -> None:
    """Zeros, 400 MB of them in some KB."""
    file.create_dataset(place, (100, 1_000_000), "f4", chunks=(1, 1_000_000), compression="gzip", compression_opts=9)
    file[place][:] = 0


def empty(file: Any, place: str) -> None:
    """No elements and no shape."""
    import h5py

    file[place] = h5py.Empty("f4")


def group(file: Any, place: str) -> None:
    """A group where numbers are due."""
    file.create_group(place)


def in_itself(file: Any) -> None:
    """A group that holds the one that it stands in."""
    file["layers/conv2d/again"] = file["layers"]


def many_groups(file: Any) -> None:
    """A chain of 3,000 groups."""
    held = file["layers"]
    for _ in range(3_000):
        held = held.create_group("g")


def with_attribute(name: str, value: Any) -> Callable[[Any], None]:
    """Another attribute of a version 2 file."""

    def change(file: Any) -> None:
        file.attrs[name] = value

    return change


def without(name: str) -> Callable[[Any], None]:
    """A version 2 file without an attribute."""
    return lambda file: file.attrs.__delitem__(name)


def names_of(value: Any) -> Callable[[Any], None]:
    """Other names of a layer's weights."""

    def change(file: Any) -> None:
        file["model_weights/first"].attrs["weight_names"] = value

    return change


def titled(make: Callable[[Any, str], None]) -> str:
    """What the attack is."""
    return str(make.__doc__).removesuffix(".")


HDF5 = (
    *(inside(f"{titled(make)}, in an archive", replaced(KERNEL, make), refused) for make, refused in (
        (soft, "a soft link"), (external, "an external link"), (stored_outside, "external storage"),
        (virtual, "virtual data set"), (filtered, "filter 32000"), (referring, "no array of numbers"),
        (compound, "no array of numbers"), (texts, "no array of numbers"), (claimed, "are stored"),
        (claimed_in_chunks, "are stored"), (inflating, ""), (empty, "no array of numbers"),
        (group, "expected an array"),
    )),
    *(h5(titled(make), replaced(NAMED, make), refused) for make, refused in (
        (external, "an external link"), (stored_outside, "external storage"), (virtual, "virtual data set"),
        (filtered, "filter 32000"), (claimed, "are stored"),
    )),
    inside("a group in itself", in_itself, "stands in two places"),
    inside("a chain of 3000 groups", many_groups),
    h5("a configuration that is a number", with_attribute("model_config", 7), "weights without a model"),
    h5("no configuration", without("model_config"), "weights without a model"),
    h5("a version of 5000 digits", with_attribute("keras_version", "9" * 5000), "version of Keras"),
    h5("a version in words", with_attribute("keras_version", "two"), "version of Keras"),
    h5("weights whose names are a number", names_of(7), "no list of their names"),
    h5("weights whose names are a matrix", names_of(np.array([[b"a"]])), "attribute of the shape"),
    h5("weights at another place of the file", names_of([b"/model_weights/top/top/weight_0:0"]), ""),
    h5("weights that are nowhere", names_of([b"../../x"]), "there is nothing"),
    Attack("an HDF5 file of eight bytes", "m.h5", {"m.h5": b"\x89HDF\r\n\x1a\n"}, "damaged"),
    Attack("an HDF5 file that is cut", "m.h5", {"m.h5": legacy(CONFIG, LAYERS)[:3000]}, "damaged"),
)  # fmt: skip


def overwritten(data: bytes, signature: bytes, offset: int, number: int) -> bytes:
    """Eight bytes behind the first structure of a kind replaced."""
    place = data.index(signature) + offset
    return data[:place] + struct.pack("<Q", number % (1 << 64)) + data[place + 8 :]


PLAIN = legacy(CONFIG, LAYERS)
DAMAGED = tuple(
    Attack(f"HDF5 in which {signature.decode()}+{offset} is {number}", "m.h5",
           {"m.h5": overwritten(PLAIN, signature, offset, number)})
    for signature, offset in ((b"TREE", 8), (b"TREE", 16), (b"TREE", 32), (b"SNOD", 6), (b"SNOD", 16), (b"HEAP", 8),
                              (b"HEAP", 16), (b"GCOL", 8), (b"GCOL", 24))
    for number in (0, 96, 2**63, -1)
)  # fmt: skip


def members(**content: int | bytes) -> Callable[[], bytes]:
    """What makes an archive of these members; of a number, so many zeros."""

    def make() -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            for name, data in content.items():
                file.writestr(name.replace("__", "."), bytes(data))
        return buffer.getvalue()

    return make


def patched(name: bytes, offset: int, width: int, number: int) -> Callable[[], bytes]:
    """What makes the archive with a number of a member's entry in the directory replaced."""

    def make() -> bytes:
        data = bytearray(archive(CONFIG, weights_file(LAYERS), zipfile.ZIP_DEFLATED))
        place = data.index(b"PK\x01\x02")
        while not data[place + 46 :].startswith(name):
            place = data.index(b"PK\x01\x02", place + 4)
        data[place + offset : place + offset + width] = number.to_bytes(width, "little")
        return bytes(data)

    return make


GOOD = archive(CONFIG, weights_file(LAYERS))
ZIPS = (
    keras("a bomb of 2 GB", members(config__json=json.dumps(CONFIG).encode(), model__weights__h5=1 << 28),
          "at most"),
    keras("an archive in the place of the weights", members(config__json=json.dumps(CONFIG).encode(),
                                                            model__weights__h5=GOOD), "damaged"),
    keras("a bomb as configuration", members(config__json=1 << 28, model__weights__h5=b""), "at most"),
    keras("no configuration", members(model__weights__h5=weights_file(LAYERS)), "no config.json"),
    keras("no weights", members(config__json=json.dumps(CONFIG).encode()), "no model.weights.h5"),
    keras("a member of 4 GB, as it says", patched(b"model.weights.h5", 24, 4, 2**32 - 2), "at most"),
    keras("a member stored in 4 GB", patched(b"model.weights.h5", 20, 4, 2**32 - 2), "cut short"),
    keras("a member that says less than it is", patched(b"config.json", 24, 4, 10), "another size"),
    keras("a member with another checksum", patched(b"config.json", 16, 4, 1), "checksum"),
    keras("a method that there is not", patched(b"config.json", 10, 2, 77), "method 77"),
    keras("a member compressed by LZMA", patched(b"config.json", 10, 2, 14), "method 14"),
    keras("an encrypted member", patched(b"config.json", 8, 2, 1), "encrypted"),
    keras("a member behind the end", patched(b"config.json", 42, 4, 2**32 - 2), "no header"),
    keras("a member at another's place", patched(b"config.json", 42, 4, 0), "names"),
    keras("a name with a NUL", patched(b"config.json", 46, 11, int.from_bytes(b"config\0json", "little")),
          "no config"),
    keras("20000 members", members(**{f"m{slot}": b"" for slot in range(20_000)}), "members"),
    keras("a version that is a list", GOOD.replace(b'"3.15.0"', b'["3.15"]'), "version of Keras"),
    keras("an archive of two configurations", archive_of([*entries(GOOD), ("config.json", b"{}", 0)]), "two members"),
    keras("nothing but a signature", b"PK\x03\x04" + bytes(60), "zip"),
    keras("a configuration of 100000 brackets", archive(b"[" * 100_000, weights_file([])), "invalid JSON"),
    keras("a configuration of 500 brackets", archive(b'{"class_name": "Model", "config": ' + b"[" * 500 + b"]" * 500
                                                     + b"}", weights_file([])), "nest deeper than"),
    keras("a number of 5000 digits", archive(b'{"a": ' + b"9" * 5000 + b"}", weights_file([])), "invalid JSON"),
    keras("a configuration that is a list", archive(b"[1]", weights_file([])), "not as Keras writes it"),
)  # fmt: skip


def changed(name: str, path: tuple[Any, ...], value: Any, refused: str, title: str = "image") -> Attack:
    """A model with one setting of one layer replaced; the path leads from the list of layers."""
    config, layers = functional() if title == "functional" else sequential(title)
    config = copy.deepcopy(config)
    part: Any = config["config"]["layers"]
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return keras(name, lambda: archive(config, weights_file(layers)), refused)


def nested(depth: int) -> Attack:
    """A model in a model, and so on."""
    inner: dict[str, Any] = {"class_name": "ReLU", "config": {"name": "act"}}
    for slot in range(depth):
        inner = {"class_name": "Sequential", "config": {"name": f"m{slot}", "layers": [inner],
                                                        "build_input_shape": [None, 4]}}  # fmt: skip
    return keras(f"models in models, {depth} deep", archive(inner, weights_file([])), "levels" if depth > 20 else "")


def calling(count: int) -> Attack:
    """A model that is called by each next layer twice: models that hold the one before twice."""
    inner: dict[str, Any] = {"class_name": "ReLU", "config": {"name": "act"}}
    for slot in range(count):
        again = {**copy.deepcopy(inner), "config": {**inner["config"], "name": f"again{slot}"}}
        inner = {"class_name": "Sequential", "config": {"name": f"m{slot}", "layers": [inner, again],
                                                        "build_input_shape": [None, 4]}}  # fmt: skip
    return keras(f"models that hold two of them, {count} deep", archive(inner, weights_file([])))


FIRST = (1, "config")
CONFIGS = (
    changed("a kernel size of 0", (*FIRST, "kernel_size"), [0, 0], "kernel_size is [0, 0]"),
    changed("a kernel size of one number in three", (*FIRST, "kernel_size"), [3, 3, 3], ""),
    changed("a kernel size that is a text", (*FIRST, "kernel_size"), "3", "kernel_size is '3'"),
    changed("strides of 0", (*FIRST, "strides"), [0, 1], "strides is [0, 1]"),
    changed("three strides", (*FIRST, "strides"), [1, 1, 1], "expected one number or 2"),
    changed("strides of 10**30", (*FIRST, "strides"), 10**30, "strides is 1000"),
    changed("filters that are a list", (*FIRST, "filters"), [4], "filters is [4]"),
    changed("filters that are a float", (*FIRST, "filters"), 4.5, "filters is 4.5"),
    changed("another number of filters", (*FIRST, "filters"), 10**9, ""),
    changed("a padding that is an object", (*FIRST, "padding"), {}, "padding is {}"),
    changed("a padding that there is not", (*FIRST, "padding"), "around", "padding 'around'"),
    changed("an activation that is a list", (*FIRST, "activation"), ["relu"], "activation is ['relu']"),
    changed("an activation that is an object of nothing", (*FIRST, "activation"), {}, "activation is {}"),
    changed("a layout that is a list", (*FIRST, "data_format"), [], "data_format is []"),
    changed("a dtype that is a number", (*FIRST, "dtype"), 7, "dtype is 7"),
    changed("a dtype that is a list of lists", (*FIRST, "dtype"), {"config": []}, "dtype is"),
    changed("a class that is a list", (1, "class_name"), ["Conv2D"], "not as Keras writes it"),
    changed("a class that is empty", (1, "class_name"), "", "does not know this layer"),
    changed("a configuration that is null", (1, "config"), None, "without config"),
    changed("an input without a name", (0, "config", "name"), "", "name"),
    changed("a name that is a number", (*FIRST, "name"), 7, "without config or name"),
    changed("a layer that is null", (1,), None, "not as Keras writes it"),
    changed("two layers of one name", (2, "config", "name"), "first", "two layers"),
    changed("an input of 10**12", (0, "config", "batch_shape"), [None, 10**12, 9, 3], "batch_shape is"),
    changed("an input of texts", (0, "config", "batch_shape"), ["a"], "batch_shape is"),
    changed("an input of an unknown dtype", (0, "config", "dtype"), "float33", "is unknown"),
    changed("margins that are texts", (4, "config", "padding"), [["a", "b"], [0, 0]], "padding is"),
    changed("margins of three sides", (4, "config", "padding"), [[1, 2, 3], [0, 0]], "padding is"),
    changed("negative margins", (7, "config", "cropping"), [[-1, 0], [0, 0]], "cropping is"),
    changed("margins that are a text", (7, "config", "cropping"), "same", "for each of 2"),
    changed("a margin of a pair in two that is one", (7, "config", "cropping"), [3, [1, [2]]], "cropping is"),
    changed("margins of three axes", (7, "config", "cropping"), [[1, 1], [1, 1], [1, 1]], "for each of 2"),
    changed("a padding of one axis", (4, "config", "padding"), [[1, 1]], "for each of 2"),
    changed("a padding of no axis", (4, "config", "padding"), [], "for each of 2"),
    changed("a hundred million times as large", (8, "config", "size"), [10**8, 10**8], ""),
    changed("no size at all", (8, "config", "size"), [], "expected one number or 2"),
    changed("an epsilon that is null", (2, "config", "epsilon"), None, "states null for 'epsilon'"),
    changed("a flag that is null", (2, "config", "center"), None, ""),
    changed("a flag of a layer norm that is null", (2, "config", "center"), None, "", "line"),
    changed("an offset that is null", (10, "config", "offset"), None, "states null for 'offset'", "line"),
    changed("a slope that is an empty list", (3, "config", "negative_slope"), [], "negative_slope is []"),
    changed("no axis", (2, "config", "axis"), [], "axis is []"),
    changed("a softmax over no axis", (11, "config", "axis"), [], "axis is []", "line"),
    changed("a concatenation along two axes", (4, "config", "axis"), [1, -1], "expected one", "functional"),
    changed("a shape that is a number", (6, "config", "target_shape"), 60, "a list of sizes", "line"),
    changed("an order of axes that is a number", (5, "config", "dims"), 2, "a list of axes", "line"),
    changed("an epsilon that is a text", (2, "config", "epsilon"), "small", "epsilon is"),
    changed("an epsilon that is NaN", (2, "config", "epsilon"), float("nan"), "epsilon is nan"),
    changed("an axis that is a text", (2, "config", "axis"), "last", "BatchNormalization"),
    changed("statistics that are an object", (3,), {"class_name": "Normalization", "config": {
        "name": "n", "mean": {"a": 1}, "variance": 1.0}}, "no array of numbers"),
    changed("a mean without a variance", (3,), {"class_name": "Normalization", "config": {"name": "n", "mean": 1.0}},
            "states no 'variance'"),
    changed("bins that are a number", (3,), {"class_name": "Discretization", "config": {
        "name": "n", "bin_boundaries": 3}}, "a list of finite numbers"),
    changed("a table of 0 rows", (1, "config", "input_dim"), 0, "input_dim is 0", "text"),
    changed("units of 10**9", (2, "config", "units"), 10**9, "has a kernel", "text"),
    changed("units that are missing", (2, "config", "units"), None, "states no 'units'", "text"),
    changed("a flag that is a list", (2, "config", "return_sequences"), [1], "return_sequences is", "text"),
    changed("a shape of texts", (6, "config", "target_shape"), ["a"], "target_shape is", "line"),
    changed("another shape", (6, "config", "target_shape"), [10**9, 10**9], "", "line"),
    changed("an order of axes that there are not", (5, "config", "dims"), [7, 9], "permuted", "line"),
    changed("10**9 repetitions", (8, "config", "n"), 10**9, "", "line"),
    changed("a layer in a wrapper that is none", (9, "config", "layer"), [], "layer is []", "line"),
    changed("a layer in a wrapper without config", (9, "config", "layer"), {"class_name": "Dense"}, "its config is",
            "line"),
    changed("a reference to no layer", (1, "inbound_nodes"), [{"args": [{
        "class_name": "__keras_tensor__", "config": {"keras_history": ["nobody", 0, 0]}}], "kwargs": {}}],
        "wait for each other", "functional"),
    changed("a reference of one part", (1, "inbound_nodes"), [{"args": [{
        "class_name": "__keras_tensor__", "config": {"keras_history": ["x"]}}], "kwargs": {}}], "no reference",
        "functional"),
    changed("a result that a layer has not", (1, "inbound_nodes"), [{"args": [{
        "class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 5]}}], "kwargs": {}}], "result 5",
        "functional"),
    changed("a call of nothing", (1, "inbound_nodes"), [{"args": [], "kwargs": {}}], "without a value", "functional"),
    changed("a call that is a number", (1, "inbound_nodes"), [7], "not as Keras writes them", "functional"),
    changed("calls that are a number", (1, "inbound_nodes"), 7, "inbound_nodes", "functional"),
    changed("an array of texts", (1, "inbound_nodes"), [{"args": [{"class_name": "__numpy__", "config": {
        "value": ["a"], "dtype": "float32"}}], "kwargs": {}}], "no array of float32", "functional"),
    changed("an array of an unknown dtype", (1, "inbound_nodes"), [{"args": [{"class_name": "__numpy__", "config": {
        "value": [1], "dtype": "O"}}], "kwargs": {}}], "constant", "functional"),
    nested(10),
    nested(35),
    calling(10),
)  # fmt: skip

ROWS = (*HDF5, *DAMAGED, *ZIPS, *CONFIGS)

__all__ = ["ROWS"]
