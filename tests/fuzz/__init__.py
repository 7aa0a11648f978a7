"""A seeded, structure-aware fuzzer of everything that reads a file.

    python -m tests.fuzz                            # every format, until each had 1,000 cases
    python -m tests.fuzz onnx npz --cases 10000 --seed 7
    python -m tests.fuzz --seconds 300 --jobs 2     # each format for five minutes
    python -m tests.fuzz onnx --seed 7 --case 4711 --keep FOLDER    # one case again, its files kept

Case number n of a format and a seed is the same on every machine: a model drawn from the format's seeds, changed by its
mutator. It is written to a folder and converted over an existing target in a child process with limits of time and
memory (`worker`). What must not happen is a finding:

- crash: an exception that is no GraphirError, or a warning; died: the process ended;
- hang, slow, memory: more than `worker.HANG` seconds, `worker.SLOW` times a fixed work or `worker.MEMORY` bytes;
- destroyed: a conversion failed and its target is another, or it succeeded and the target is still the old one;
- left: a file that is neither the source's nor the target's; mutator: an exception of the fuzzer itself.

How a format is added: write `tests/fuzz/formats/<name>.py` with one or more `case.Format` and put them into the table
of `tests/fuzz/formats/__init__.py`. A format is

- `seeds`: small valid models made by scripts of this repository (never files of others), each a `case.Model`: the files
  by name, which of them (or "." for the folder) is opened, and options of `graphir.convert`. Made once a process;
- `mutate(random, model, seeds)`: another Model. All chance comes from `random`; what it makes need not be valid. The
  parts that formats have in common are ready: `bytes_`, `json_` (trees), `protobuf` (fields, lengths, varints), `zip_`
  (entries, headers) and `case.NUMBERS`, the integers that break things.
"""
