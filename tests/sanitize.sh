#!/bin/sh
# Runs the tests of the crates whose unsafe code owns memory and threads under what sees its mistakes: AddressSanitizer with
# LeakSanitizer, ThreadSanitizer and valgrind. What this machine has no tool for is skipped, and said; to run nothing at all
# is a failure. `tests/sanitize.sh address miri` runs only these; Miri is slow, and runs only when it is named.

set -u
cd "$(dirname "$0")/.." || exit 1

CRATES="--package fieldstone-device --package fieldstone-storage"
HOST=$(rustc -vV | sed -n 's/^host: //p')
RUNNER=CARGO_TARGET_$(echo "$HOST" | tr 'a-z-' 'A-Z_')_RUNNER
OUT=${CARGO_TARGET_DIR:-target}/sanitize
ran=0 failed=0

# Watched code is slow: optimise it, as far as stack traces still mean something.
export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_TEST_OPT_LEVEL=1

nightly() { cargo +nightly --version >/dev/null 2>&1; }
component() { rustup component list --toolchain nightly --installed 2>/dev/null | grep -q "^$1"; }

# under NAME COMMAND...: runs the tests; what they print is shown if one fails.
under() {
    name=$1 log=$OUT/$1.log
    shift
    if env CARGO_TARGET_DIR="$OUT/$name" "$@" >"$log" 2>&1; then
        ran=$((ran + 1))
        printf '%-9s %s tests pass\n' "$name" "$(awk '/^test result: ok/ { n += $4 } END { print n }' "$log")"
    else
        failed=$((failed + 1))
        cat "$log"
        printf '%-9s FAILED, the above is in %s\n' "$name" "$log"
    fi
}

skip() { printf '%-9s skipped: %s\n' "$1" "$2"; }

address() {
    nightly || { skip address "there is no nightly toolchain (rustup toolchain install nightly)"; return; }
    under address RUSTFLAGS=-Zsanitizer=address RUSTDOCFLAGS=-Zsanitizer=address \
        ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_init_order=1 \
        cargo +nightly test --quiet --locked --no-fail-fast --target "$HOST" $CRATES
}

# The standard library is built as well: locks of one that is not watched look like races.
thread() {
    nightly || { skip thread "there is no nightly toolchain (rustup toolchain install nightly)"; return; }
    component rust-src || { skip thread "the nightly toolchain has no source of the standard library (rustup component add rust-src --toolchain nightly)"; return; }
    # One test forks and starts threads in the child.
    under thread RUSTFLAGS=-Zsanitizer=thread RUSTDOCFLAGS=-Zsanitizer=thread TSAN_OPTIONS=die_after_fork=0 \
        cargo +nightly test --quiet --locked --no-fail-fast -Zbuild-std --target "$HOST" $CRATES
}

valgrind() {
    command -v valgrind >/dev/null || { skip valgrind "there is no valgrind"; return; }
    # Threads that wait at the end are reachable through pointers into their stacks; those leaks are called possible.
    under valgrind "$RUNNER=valgrind --quiet --error-exitcode=99 --fair-sched=yes --child-silent-after-fork=yes --num-callers=30 --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect" \
        cargo test --quiet --locked --no-fail-fast $CRATES
}

# Miri knows neither vector instructions nor much of Linux: it runs the plain code, as a machine that has neither would.
miri() {
    nightly || { skip miri "there is no nightly toolchain (rustup toolchain install nightly)"; return; }
    component miri || { skip miri "the nightly toolchain has no Miri (rustup component add miri --toolchain nightly)"; return; }
    under miri MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance" PROPTEST_CASES=8 \
        cargo +nightly miri test --quiet --locked --no-fail-fast --target aarch64-apple-darwin --lib --tests $CRATES -- \
        --skip fork --skip environment --skip cannot_be_allocated --skip bad_specs --skip large_copies --skip every_kernel --skip every_task --skip many_callers
}

mkdir -p "$OUT"
for tool in ${*:-address thread valgrind}; do
    "$tool"
done
[ "$ran" -gt 0 ] || echo "nothing could be run"
[ "$failed" -eq 0 ] && [ "$ran" -gt 0 ]
