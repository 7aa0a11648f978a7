"""Which format a model has: its content decides, by parsing; its name where the content is of no format."""

from __future__ import annotations

from graphir.converters.formats import Format, PathLike
from graphir.converters.glance import Glance
from graphir.converters.table import FORMATS, readable
from graphir.errors import FormatError, ImportFailure
from graphir.files.paths import describe_missing

PYTORCH = "a PyTorch file: write it as ONNX with torch.onnx.export, and give graphir that"
PICKLE = "a Python pickle, which only the program that wrote it can read: write the model as ONNX there (skl2onnx)"
# By suffix, the files of tools that graphir does not read, and how to go on.
OTHER_TOOLS = {
    **dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt", ".torchscript"), PYTORCH),
    ".py": "Python code, which graphir writes and does not read: `convert MODEL NET.py --verify` proves a module "
    "as it is written, and torch.onnx.export writes one as ONNX",
    ".safetensors": "weights without a network: give the model that they belong to",
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), PICKLE),
    **dict.fromkeys((".caffemodel", ".prototxt"), "a Caffe file: convert it to ONNX with caffe2onnx first"),
    **dict.fromkeys((".mlmodel", ".mlpackage"), "a Core ML file: take the model that it was made of"),
    ".tflite": "a TensorFlow Lite file: take the SavedModel or Keras model that it was made of",
    **dict.fromkeys((".engine", ".plan", ".trt"), "a TensorRT engine: take the ONNX model that it was made of"),
}  # fmt: skip


def detect_format(path: PathLike) -> str:
    """Return the format of a model: by content first, then by suffix. Raises FormatError if it is none that graphir
    reads."""
    glance = Glance(path)
    if glance.mode is not None and not glance.is_file and not glance.is_folder:
        raise FormatError("is no regular file", path=glance.path)
    rows = sorted((row for row in FORMATS.values() if row.source is not None), key=lambda row: row.asked_last)
    result = next((row for row in rows if row.recognizes(glance)), None) or _by_name(glance, rows)
    if result is not None:
        return result.name
    if glance.mode is None:
        raise ImportFailure(describe_missing(glance.path, "no such file, folder or checkpoint prefix"))
    reads = f"not a model that graphir reads ({', '.join(readable().values())})"
    tool = OTHER_TOOLS.get(glance.path.suffix.lower())
    raise FormatError(reads if tool is None else f"{tool}; {reads}", path=glance.path)


def text_format(text: object) -> str | None:
    """Return the format of a text that is a model itself; None for the name of one."""
    if not isinstance(text, str):
        return None
    return next((row.name for row in FORMATS.values() if row.takes_text(text)), None)


def _by_name(glance: Glance, rows: list[Format]) -> Format | None:
    """Return what nobody recognizes, by its name; a folder goes to the row that takes any. Raises FormatError for JSON
    that a format knows not to be its own."""
    if glance.is_folder:
        return next((row for row in rows if row.takes_folders), None)
    if not glance.is_file:
        return None
    for row in rows:
        for member, what in row.other_json.items():
            if member in glance.document:
                raise FormatError(f"JSON, but {what}", path=glance.path)
    named = [(len(suffix), row) for row in rows for suffix in row.suffixes if glance.path.name.endswith(suffix)]
    return max(named, key=lambda entry: entry[0])[1] if named else None
