#!/bin/sh
# Runs what needs a GPU on the first one of the machine: the tests of the driver, of stencils and storages, the exchange of memory with
# CuPy and PyTorch, and stencils under the tools of compute-sanitizer. The last lines say what came of each. Without a GPU it is a
# failure. Arguments go to pytest, such as `make test-gpu ARGS=-x`.

set -u
cd "$(dirname "$0")/.." || exit 1
export FIELDSTONE_TEST_DEVICE=cuda
unset FIELDSTONE_DEVICE
failed=0 summary=

found=$(python -c 'import fieldstone; print(*(d for d in fieldstone.devices()[1:] if d.kind == "cuda"), sep="\n")') || exit 1
if [ -z "$found" ]; then
    echo "make test-gpu needs an NVIDIA GPU and its driver, and there is none" >&2
    exit 1
fi
echo "$found"

note() { summary="$summary$(printf '%-34s %s' "$1" "$2")
"; }

# step NAME COMMAND...
step() {
    name=$1
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        note "$name" passed
    else
        note "$name" FAILED
        failed=1
    fi
}

has() { python -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }

# The one of the machine, else that of NVIDIA's package.
sanitizer() {
    command -v compute-sanitizer || python -c '
import importlib.util, pathlib
package = importlib.util.find_spec("nvidia.cuda_sanitizer_api")
print(pathlib.Path(package.submodule_search_locations[0]) / "bin" / "compute-sanitizer")' 2>/dev/null
}

# One of its tests needs two GPUs.
step "driver" cargo test --quiet --locked -p fieldstone-device --test gpu -- --ignored the_promises_hold large_transfers
step "stencils" pytest tests/language tests/backends tests/call tests/gpu/test_blocks.py -k gpu "$@"
step "overlap of transfers and kernels" pytest tests/devices/test_overlap.py -k stale "$@"
for library in cupy torch; do
    if has $library; then
        step "$library" pytest tests -m gpu -k $library "$@"
    else
        note "$library" "not run: it is not installed"
    fi
done

tool=$(sanitizer)
if [ -z "$tool" ]; then
    note compute-sanitizer "not run: it is not installed (pip install nvidia-cuda-sanitizer-api-cu12)"
else
    # The language, and blocks of all shapes, which share memory and wait for each other.
    for check in memcheck racecheck synccheck initcheck; do
        step "compute-sanitizer $check" "$tool" --tool $check --error-exitcode 1 --target-processes all \
            python -m pytest tests/language tests/gpu/test_blocks.py -k gpu "$@"
    done
fi

printf '\n%s\n%s' "$found" "$summary"
exit $failed
