#!/usr/bin/env bash
# On a machine with an NVIDIA card: everything that is marked `gpu`, and the benchmarks that want a card. Their table stands in
# OUT/RESULTS.md and replaces the one in benchmarks/RESULTS.md.
#   tools/gpu_run.sh OUT [MODEL...]        with the network
#   WHEELS=FOLDER tools/gpu_run.sh OUT ... with a folder of wheels and no network
# The folder is filled where there is a network, by a Python of the same version:
#   pip download -d FOLDER '.[test,gpu]' setuptools wheel
# A MODEL is what bench and verify take; without one ResNet-50, BERT-base and an SSD are written and timed.
# PROVIDER and PACKAGE name another provider and its onnxruntime, to try the script without a card; SECONDS_EACH is the time of a row,
# TESTS are other arguments for pytest:
#   PROVIDER=openvino PACKAGE=onnxruntime-openvino==1.24.1 SECONDS_EACH=1 TESTS=tests/devices/test_sessions.py tools/gpu_run.sh OUT
set -euo pipefail
out=$(realpath -m "${1:?the folder for the results}"); shift
models=()
for model in "$@"; do models+=("$(realpath -e "$model")"); done
wheels=${WHEELS:+$(realpath -e "$WHEELS")}
provider=${PROVIDER:-cuda}
cd "$(dirname "$0")/.."
mkdir -p "$out"

python3 -m venv "$out/env"
python=$out/env/bin/python
graphir=$out/env/bin/graphir
pip=("$python" -m pip install --quiet ${wheels:+--no-index --find-links "$wheels"})
"${pip[@]}" 'setuptools>=77' wheel
"${pip[@]}" --no-build-isolation -e '.[test]'
# The two share a module: the GPU's build takes the place of the CPU's.
"$python" -m pip uninstall --quiet --yes onnxruntime
"${pip[@]}" "${PACKAGE:-onnxruntime-gpu[cuda,cudnn]}"
"$graphir" providers | tee "$out/providers.txt"

failed=0
read -ra tests <<<"${TESTS:--n 4 --full tests/devices}"
GRAPHIR_PROVIDER=$provider GRAPHIR_REQUIRE_GPU=1 "$python" -m pytest -q -m gpu "${tests[@]}" >"$out/tests.txt" 2>&1 || failed=1
tail -1 "$out/tests.txt"

if [ ${#models[@]} -eq 0 ]; then
    PYTHONPATH=. "$python" tools/gpu_models.py "$out/models"
    models=("$out/models"/*.onnx)
fi
card=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo "$(uname -m), no card")
rows=("--provider $provider" "--provider $provider --io-binding off" "--provider cpu")
case $provider in cuda | tensorrt) rows+=("--provider $provider --tf32") ;; esac

# A row of the table: bench FILE NAME HOW, where HOW is options of `graphir bench`.
bench() {
    # shellcheck disable=SC2086
    "$graphir" bench "$1" $3 --seconds "${SECONDS_EACH:-20}" --json >"$out/bench.json" || { failed=1; return; }
    "$python" - "$out/bench.json" "$2" "$3" <<'PYTHON'
import json
import sys

(row,) = json.load(open(sys.argv[1], encoding="utf-8"))["rows"]
print(f"| {sys.argv[2]} | {sys.argv[3]} | {1000 * row['p50']:.3f} | {row['items_per_second'] or row['runs_per_second']:,.0f} |")
PYTHON
}

{
    printf '## tools/gpu_run.sh: on %s\n\n' "${card//$'\n'/; }"
    printf 'tests marked `gpu`: %s\n\n' "$(tail -1 "$out/tests.txt")"
    printf '| model | how | p50 ms | items/s |\n|---|---|---:|---:|\n'
    for model in "${models[@]}"; do
        name=$(basename "$model")
        "$graphir" verify "$model" "$model" --provider "$provider" --per-layer >"$out/verify-$name.txt" 2>&1 || failed=1
        for how in "${rows[@]}"; do bench "$model" "$name" "$how"; done
        if "$graphir" convert "$model" "$out/half.onnx" --dtype float16 --quiet; then
            bench "$out/half.onnx" "$name, float16" "--provider $provider"
        else
            failed=1
        fi
    done
} >"$out/RESULTS.md"
cat "$out/RESULTS.md"

"$python" - "$out/RESULTS.md" benchmarks/RESULTS.md <<'PYTHON'
import sys
from pathlib import Path

begin, end = "<!-- gpu: begin, written by tools/gpu_run.sh -->\n", "<!-- gpu: end -->"
table, page = Path(sys.argv[1]), Path(sys.argv[2])
before, _, rest = page.read_text(encoding="utf-8").partition(begin)
_, _, after = rest.partition(end)
page.write_text(before + begin + table.read_text(encoding="utf-8") + end + after, encoding="utf-8")
PYTHON
exit $failed
