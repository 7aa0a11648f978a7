#!/usr/bin/env bash
# On a machine with an NVIDIA card: everything that is marked `gpu`, and the benchmarks that want a card; a table for benchmarks/RESULTS.md.
#   tools/gpu_run.sh OUT [MODEL...]        with the network
#   WHEELS=FOLDER tools/gpu_run.sh OUT ... with a folder of wheels and no network
# The folder is filled where there is a network: pip download -d FOLDER '.[test,gpu]' setuptools wheel
# A MODEL is what bench and verify take; without one the small network of models/digits is timed.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:?the folder for the results}"); shift
mkdir -p "$out"
pip=(install --quiet ${WHEELS:+--no-index --find-links "$WHEELS"})
python3 -m venv "$out/env"
"$out/env/bin/pip" "${pip[@]}" ${WHEELS:+--no-build-isolation} setuptools wheel
"$out/env/bin/pip" "${pip[@]}" --no-build-isolation -e '.[test]'
# The two share a module: the GPU's build takes the place of the CPU's.
"$out/env/bin/pip" uninstall --quiet --yes onnxruntime
"$out/env/bin/pip" "${pip[@]}" 'onnxruntime-gpu[cuda,cudnn]'
graphir=$out/env/bin/graphir
"$graphir" providers | tee "$out/providers.txt"
failed=0
GRAPHIR_PROVIDER=cuda GRAPHIR_REQUIRE_GPU=1 "$out/env/bin/python" -m pytest -q -n 4 -m gpu --full tests/devices >"$out/tests.txt" 2>&1 || failed=1
tail -1 "$out/tests.txt"
if [ $# -eq 0 ]; then "$graphir" convert models/digits "$out/digits.onnx"; set -- "$out/digits.onnx"; fi
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
{
    printf '### On %s\n\n| model | how | p50 ms | items/s |\n|---|---|---|---|\n' "$card"
    for model in "$@"; do
        "$graphir" verify "$model" "$model" --provider cuda --per-layer >"$out/verify-$(basename "$model").txt" 2>&1 || failed=1
        for how in "--provider cuda" "--provider cuda --tf32" "--provider cuda --io-binding off" "--provider cpu"; do
            # shellcheck disable=SC2086
            "$graphir" bench "$model" $how --seconds 20 --json >"$out/bench.json" || { failed=1; continue; }
            "$out/env/bin/python" - "$out/bench.json" "$(basename "$model")" "$how" <<'PYTHON'
import json
import sys

(row,) = json.load(open(sys.argv[1], encoding="utf-8"))["rows"]
print(f"| {sys.argv[2]} | {sys.argv[3]} | {1000 * row['p50']:.3f} | {row['items_per_second'] or 0:,.0f} |")
PYTHON
        done
    done
} >"$out/RESULTS.md"
cat "$out/RESULTS.md"
exit $failed
