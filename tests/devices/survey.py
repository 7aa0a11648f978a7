"""Run every operator case on a device: `GRAPHIR_PROVIDER=webgpu python -m tests.devices.survey [--write]`.

Prints the cases that have nodes on the device and differ there, or fail, and with --write writes the list of those that
run there (`placed/NAME.json`).
"""

from __future__ import annotations

import sys

from tests.devices.case_on_device import NoKernel, check_result, run_case
from tests.devices.device import PROVIDER, ROW
from tests.devices.exceptions import exception_of
from tests.devices.lists import write_placed
from tests.equivalence.test_onnx import SUPPORTED


def main() -> None:
    placed: dict[str, list[str]] = {}
    for case in SUPPORTED:
        try:
            result = run_case(case, PROVIDER)
            placed[case.name] = result.on_device
            check_result(result)
        except NoKernel:
            continue
        except Exception as error:
            if exception_of(ROW.name, case) is None:
                print(f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
    right = {case.op for case in SUPPORTED if case.name in placed and exception_of(ROW.name, case) is None}
    print(f"{len(placed)} cases on {PROVIDER}, without exceptions of {len(right)} operators")
    if "--write" in sys.argv:
        write_placed(ROW.name, placed)


if __name__ == "__main__":
    main()
