"""Run the tests that are marked `gpu` on a device: `python tools/device_tests.py webgpu|openvino|cuda [ARGUMENTS]`.

Each of onnxruntime's packages has providers of its own and all share one module. So an environment is made that sees
every package of this interpreter, with another onnxruntime before them, and the tests run there. WebGPU runs on
software Vulkan where VK_ICD_FILENAMES names no driver: SwiftShader, from Debian's package `chromium`, and the loader
`libvulkan1`.
What cannot be installed is an error under CI=1, and else a message. `--wheels FOLDER` takes packages from a folder,
without a network.
"""

from __future__ import annotations

import argparse
import ctypes.util
import os
import site
import subprocess
import sys
import tempfile
import venv
from glob import glob
from pathlib import Path

# The versions that tests/devices/placed and tests/devices/exceptions.py were measured with; CUDA's is the newest.
PACKAGES = {
    "webgpu": "onnxruntime-webgpu==1.27.0",
    "openvino": "onnxruntime-openvino==1.24.1",
    "cuda": "onnxruntime-gpu[cuda,cudnn]",
}
SWIFTSHADER = "/usr/lib*/chromium*/vk_swiftshader_icd.json"
DEBIAN = ("libvulkan1", "chromium")


class CannotInstall(Exception):
    """Something that the device needs is not there and cannot be installed."""


def make_environment(folder: Path, package: str, wheels: str | None) -> Path:
    """Make an environment with the package before all that this interpreter sees; return its interpreter."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    (own,) = folder.glob("lib/python*/site-packages")
    lines = (f"import site; site.addsitedir({path!r})" for path in site.getsitepackages())
    (own / "behind.pth").write_text("".join(f"{line}\n" for line in lines))
    source = ["--no-index", "--find-links", wheels] if wheels else []
    dependencies = [] if "[" in package else ["--no-deps"]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *dependencies, *source, package]
    if subprocess.run(pip, check=False).returncode:
        raise CannotInstall(f"pip cannot install {package}")
    return python


def find_vulkan() -> dict[str, str]:
    """Return the variables that name a Vulkan driver, after installing the software one where there is none."""
    if os.environ.get("VK_ICD_FILENAMES"):
        return {}
    if not (glob(SWIFTSHADER) and ctypes.util.find_library("vulkan")):
        for command in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *DEBIAN]):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            if subprocess.run(["apt-get", *command], check=False, stdout=subprocess.DEVNULL, env=quiet).returncode:
                raise CannotInstall(f"apt-get cannot install {' '.join(DEBIAN)}")
    drivers = glob(SWIFTSHADER)
    if not drivers:
        raise CannotInstall(f"{' '.join(DEBIAN)} brought no {SWIFTSHADER}")
    return {"VK_ICD_FILENAMES": drivers[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("provider", choices=PACKAGES)
    parser.add_argument("--wheels", metavar="FOLDER")
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="graphir-device-") as folder:
        try:
            python = make_environment(Path(folder) / "env", PACKAGES[options.provider], options.wheels)
            variables = find_vulkan() if options.provider == "webgpu" else {}
        except (CannotInstall, OSError) as error:
            print(f"\nNOTHING RAN ON {options.provider.upper()}: {error}\n", file=sys.stderr, flush=True)
            return int(os.environ.get("CI") == "1")
        own = {"GRAPHIR_PROVIDER": options.provider, "GRAPHIR_REQUIRE_GPU": "1", "XDG_RUNTIME_DIR": folder, **variables}
        command = [str(python), "-m", "pytest", "-q", "-m", "gpu", *(rest or ["tests/devices"])]
        return subprocess.run(command, check=False, env={**os.environ, **own}).returncode


if __name__ == "__main__":
    sys.exit(main())
