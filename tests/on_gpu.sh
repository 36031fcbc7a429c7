#!/bin/sh
# Runs what needs a GPU: the tests of the driver, the language and the storages on the first device of the machine, the exchange of
# memory with CuPy and PyTorch, and compute-sanitizer over a part of it, where that is installed. Without a GPU it is a failure.

set -u
cd "$(dirname "$0")/.." || exit 1
export FIELDSTONE_TEST_DEVICE=cuda
unset FIELDSTONE_DEVICE
failed=0

found=$(python -c 'import fieldstone; print(*(d for d in fieldstone.devices()[1:] if d.kind == "cuda"), sep="\n")')
if [ -z "$found" ]; then
    echo "make test-gpu needs an NVIDIA GPU and its driver, and there is none" >&2
    exit 1
fi
echo "$found"

cargo test --quiet --locked -p fieldstone-device --test gpu -- --ignored the_promises_hold large_transfers || failed=1
pytest tests/language tests/backends tests/call -k gpu "$@" || failed=1
pytest tests -m gpu "$@" || failed=1

if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck initcheck; do
        compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
            python -m pytest tests/language -k gpu -x -q || failed=1
    done
else
    echo "compute-sanitizer is not installed: nothing was run under it"
fi
exit $failed
