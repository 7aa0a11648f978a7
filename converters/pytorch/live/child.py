# mypy: ignore-errors
# This runs where torch is.
"""Run as a program, with torch: a module on stored arrays. Imports nothing of graphir.

    child.py FOLDER

reads from FOLDER module.py, recording.py (which calls `record` with every value), module.json (the class, the names of
its outputs, and module.py's keys by those of recording.py) and weights.npz (a0, a1, ... with names and types in
weights.json), and says torch's version in a line of JSON on standard output. For every line on standard input it reads
feeds.npz, feeds.json and wanted.json (names of values) and answers, for each value, with a line of JSON and an .npy;
then with an empty object, or an error.
"""

import json
import os
import sys

import numpy as np


class Pipe:
    """A pipe that does not look like a file to numpy, which would ask for its position."""

    def __init__(self, pipe):
        self.write = pipe.write


def say(output, answer):
    """One line of JSON."""
    output.write(json.dumps(answer).encode("ascii") + b"\n")


def read_text(folder, name):
    """A file of text."""
    with open(os.path.join(folder, name), encoding="ascii") as file:
        return file.read()


def read_tensors(torch, folder, what):
    """Stored tensors by name: numpy has some types only as the integers of their bits."""
    with np.load(os.path.join(folder, what + ".npz")) as archive:
        results = {}
        for index, (name, dtype) in enumerate(json.loads(read_text(folder, what + ".json"))):
            tensor = torch.from_numpy(np.array(archive[f"a{index}"]))
            results[name] = tensor if str(tensor.dtype) == "torch." + dtype else tensor.view(getattr(torch, dtype))
        return results


def as_array(torch, tensor):
    """A tensor as an array and the name of its type."""
    tensor = tensor.detach().cpu().contiguous()
    dtype = str(tensor.dtype)[len("torch.") :]
    if dtype == "bfloat16":
        return tensor.view(torch.int16).numpy().view(np.uint16), dtype
    if dtype.startswith("float8"):
        return tensor.view(torch.uint8).numpy(), dtype.replace("_", "")
    return tensor.numpy(), dtype


def opened(torch, folder, file, about, weights, record):
    """The module of a file of text."""
    names = {"record": record, "__name__": "net", "__file__": file}
    exec(compile(read_text(folder, file), file, "exec"), names)
    net = names[about["name"]]()
    net.load_state_dict(weights, strict=True)
    return net.eval()


def evaluate(torch, nets, about, folder, output, recorded):
    """Answer one request: outputs from the module itself, values inside from the one that records them."""
    wanted = json.loads(read_text(folder, "wanted.json"))
    feeds = list(read_tensors(torch, folder, "feeds").values())
    recorded.clear()
    inner = set(wanted) - set(about["outputs"])
    recorded["wanted"] = inner
    results = {}
    with torch.no_grad():
        if inner:
            torch.manual_seed(0)
            nets["recording.py"](*feeds)
            results.update(recorded.get("values", {}))
        if set(wanted) - inner:
            torch.manual_seed(0)
            given = nets["module.py"](*feeds)
            results.update(zip(about["outputs"], given if len(about["outputs"]) > 1 else [given], strict=True))
    for name in wanted:
        array, dtype = as_array(torch, results[name])
        say(output, {"name": dtype + " " + name})
        np.lib.format.write_array(Pipe(output), array, allow_pickle=False)


def main(folder):
    """Serve until standard input ends. What is printed goes to standard error."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        import torch
    except Exception as error:
        say(output, {"missing": f"{type(error).__name__}: {str(error)[:600]}"})
        output.flush()
        return
    say(output, {"version": torch.__version__})
    output.flush()
    about, recorded, nets = json.loads(read_text(folder, "module.json")), {}, {}

    def record(name, value):
        if name in recorded.get("wanted", ()):
            recorded.setdefault("values", {})[name] = value

    while sys.stdin.readline():
        try:
            if not nets:
                weights = read_tensors(torch, folder, "weights")
                nets["module.py"] = opened(torch, folder, "module.py", about, weights, record)
                flat = {key: weights[now] for key, now in about["keys"].items()}
                nets["recording.py"] = opened(torch, folder, "recording.py", about, flat, record)
            evaluate(torch, nets, about, folder, output, recorded)
            say(output, {})
        except Exception as error:
            text = f"{type(error).__name__}: {str(error)[:600]}"
            say(output, {"error": text, "memory": isinstance(error, MemoryError)})
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1])
