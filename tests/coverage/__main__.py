"""How much of the shapes of models is known before they run, by tool.

    python -m tests.coverage [-v] [--shared FOLDER] [--name TEXT] [--pass PASS] [--json FILE]

Every value that a node of the main graph gives, over onnx's backend suite and the models of ../shared/models, in three
passes: the inputs as the models declare them; small integer inputs held as constants; and those with all sizes of the
other inputs as symbols, where an expression counts as known if it stands for the truth. The truth is what onnxruntime
computes with every value as an output. The models state no types but those of their inputs.

Exit 1 if graphir is wrong anywhere, gives up on a model, or knows less than another tool of any value.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .judge import PASSES, Score, cases, compare, table

SHARED = Path(__file__).resolve().parents[3] / "shared"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and what graphir should know better."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder that holds models/")
    parser.add_argument("--name", default="", help="only models whose name contains this")
    parser.add_argument("--pass", dest="passes", choices=PASSES, action="append", help="only this pass")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("-v", "--verbose", action="store_true", help="also the values that no tool knows")
    options = parser.parse_args(arguments)
    scores: dict[str, Score] = {name: Score() for name in options.passes or PASSES}
    for case in cases(options.shared, options.name):
        for name, score in scores.items():
            compare(PASSES[name](case), score)
    for name, score in scores.items():
        print(f"{name}: {score.models} models, {score.values} values\n")
        print(table(score))
        for text in [*score.failures, *score.wrong, *score.beaten, *(score.open if options.verbose else ())]:
            print(f"  {text}")
        print()
    if options.json:
        options.json.write_text(json.dumps({name: score.counts() for name, score in scores.items()}, indent=1) + "\n")
    return 1 if any(score.failures or score.wrong or score.beaten for score in scores.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
