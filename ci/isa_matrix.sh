#!/usr/bin/env bash
# Kernel checks at every instruction level this machine has, and under emulated processors where qemu-user is there.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 ci/build_checkkernels.py -o "$folder/checkkernels"
for level in scalar avx2 avxvnni avx512 avx512vnni avx512vbmi avx512bf16 avx512amx; do
    printf '%-28s ' "$level"
    "$folder/checkkernels" --isa "$level" | tail -n 1
done
if [ "$(uname -m)" = x86_64 ]; then
    printf '%-28s ' "tiles in C"
    python3 ci/build_checkkernels.py --family conv2d -o "$folder/tiles" -- -DNNF_EMULATE_TILES
    "$folder/tiles" -k avx512amx | tail -n 1
fi
if command -v qemu-x86_64 >/dev/null; then
    for cpu in Nehalem Haswell; do
        printf '%-28s ' "qemu $cpu"
        # This emulator reads the whole operand of a masked load, so that guard pages would stop correct code.
        qemu-x86_64 -cpu "$cpu" "$folder/checkkernels" --no-guard 2>/dev/null | tail -n 1
    done
else
    echo "qemu-x86_64 is not installed: emulated processors skipped"
fi
bash ci/aarch64.sh
