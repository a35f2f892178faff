#!/usr/bin/env bash
# The wheel for aarch64 as a user has it, under an emulator: a Python of Debian's for arm64, packages from wheels, then the
# demo, conformance vectors, benchmark models against their goldens and a part of the suite.
#   bash ci/aarch64_package.sh WHEEL [CPU]      CPU: a processor of qemu-user's (max), as cortex-a72 or neoverse-n1
# Skipped, with the reason, where there is no qemu-user or no apt. Needs no root: nothing is installed.
set -euo pipefail
case ${1-} in
*_aarch64.whl) [ -f "$1" ] || { echo "$1: no such wheel; bash ci/build_wheels.sh --arch aarch64 makes one in dist/"; exit 2; } ;;
*) echo "usage: bash ci/aarch64_package.sh WHEEL [CPU], a wheel for aarch64"; exit 2 ;;
esac
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$PWD
export QEMU_CPU=${2-max} NNFAST_SHARED=${NNFAST_SHARED-$root/../shared}
tag=${wheel##*-cp3}
version=3.${tag%%-*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bash ci/aarch64_system.sh "$work" "$version" "$wheel" numpy scipy pytest hypothesis pillow msgspec flatbuffers tflite || {
    [ $? = 3 ] || exit 1
    echo "aarch64 package: skipped"
    exit 0
}
mkdir "$work/suite"
ln -s "$root/tests" "$root/pyproject.toml" "$root/examples" "$work/suite"
cd "$work/suite"
export PYTHONDONTWRITEBYTECODE=1
"$work/python" -m nnfast info | sed -n 1,2p
"$work/python" -m nnfast demo --output "$work/demo.png"
if [ -d "$NNFAST_SHARED/vts" ]; then
    "$work/python" -m nnfast vts --sample 60 "$NNFAST_SHARED/vts" | tail -n 1
else
    echo "no folder $NNFAST_SHARED/vts: vectors are skipped"
fi
"$work/python" -m pytest -q -p no:cacheprovider tests/models/test_goldens.py tests/native/test_conv2d.py \
    tests/native/test_packets.py tests/ops/test_activation.py tests/ops/test_softmax.py tests/tflite/test_tflite_files.py
