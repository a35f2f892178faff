#!/usr/bin/env bash
# The C sources for aarch64: every file with warnings as errors, kernel checks under an emulator with and without the
# dot product, hot loops beside the limits of processors. Skipped, with the reason, where there is no cross compiler, no
# qemu-user or no llvm-mca. `quick` leaves out the scalar rows, which run as twins of the others anyway.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

links() { # compiler...
    command -v "$1" >/dev/null && echo 'int main(void) { return 0; }' | "$@" -x c - -static -o "$folder/hello" 2>/dev/null
}

if [ "$(uname -m)" = aarch64 ]; then
    echo "aarch64: this machine, checked as such"
    exit 0
elif links aarch64-linux-gnu-gcc; then
    export CC=aarch64-linux-gnu-gcc
elif links clang --target=aarch64-linux-gnu; then
    export CC="clang --target=aarch64-linux-gnu"
else
    echo "aarch64: no compiler that links for it (gcc-aarch64-linux-gnu, or clang and libc6-dev-arm64-cross): skipped"
    exit 0
fi
export NNFAST_WERROR=1
python3 ci/check_objects.py
status=0
python3 ci/aarch64_speed.py --brief || status=1
if ! command -v qemu-aarch64 >/dev/null; then
    echo "aarch64: compiled; qemu-aarch64 is not installed: kernel checks skipped"
    exit $status
fi
python3 ci/build_checkkernels.py -o "$folder/checkkernels" -- -static
check() { # processor, level expected, options...
    local cpu=$1 level=$2 name
    shift 2
    printf -v name '%-28s' "aarch64 $cpu $level"
    if ! qemu-aarch64 -cpu "$cpu" "$folder/checkkernels" "$@" >"$folder/report" 2>&1; then
        grep -v '^ok\|^skip' "$folder/report" || true
        status=1
    elif ! grep -q "level $level," "$folder/report"; then
        echo "the processor was not found to be of level $level"
        status=1
    fi
    echo "$name $(tail -n 1 "$folder/report")"
}
# Each row once, under the oldest processor that may run it.
[ "${1:-}" = quick ] || check cortex-a72 scalar --isa scalar
check cortex-a72 neon -k __neon_
check max neonbf16 -k __neondot_
check max neonbf16 -k __neoni8mm_
check max neonbf16 -k __neonbf16_
exit $status
