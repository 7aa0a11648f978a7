"""Run by another Python than the tests', which has another onnxruntime: models on stdin, each behind its length.

Prints the number of models, then the place and the first line of the error of each that does not load.
"""

from __future__ import annotations

import struct
import sys

import onnxruntime

HEADER = struct.Struct("<q")


def main() -> None:
    """Try all models."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    place = 0
    while header := sys.stdin.buffer.read(HEADER.size):
        data = sys.stdin.buffer.read(*HEADER.unpack(header))
        try:
            onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # whatever it is, the model does not load
            print(place, str(error).splitlines()[0], sep="\t")
        place += 1
    print(place, f"models, onnxruntime {onnxruntime.__version__}", sep="\t")


if __name__ == "__main__":
    main()
