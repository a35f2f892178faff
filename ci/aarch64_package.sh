#!/usr/bin/env bash
# The wheel for aarch64 as a user has it, under an emulator: a Python of Debian's for arm64, packages from wheels, then the
# demo, conformance vectors, benchmark models against their goldens and a part of the suite.
#   bash ci/aarch64_package.sh WHEEL [CPU]      CPU: a processor of qemu-user's (max), as cortex-a72 or neoverse-n1
# Skipped, with the reason, where there is no qemu-user or no apt. Needs no root: nothing is installed.
set -euo pipefail
for tool in qemu-aarch64 apt-get dpkg-deb; do
    command -v "$tool" > /dev/null || { echo "aarch64 package: no $tool: skipped"; exit 0; }
done
case ${1-} in
*_aarch64.whl) [ -f "$1" ] || { echo "$1: no such wheel; bash ci/build_wheels.sh --arch aarch64 makes one in dist/"; exit 2; } ;;
*) echo "usage: bash ci/aarch64_package.sh WHEEL [CPU], a wheel for aarch64"; exit 2 ;;
esac
wheel=$(realpath "$1")
cpu=${2-max}
cd "$(dirname "$0")/.."
root=$PWD
shared=${NNFAST_SHARED-$root/../shared}
tag=${wheel##*-cp3}
version=3.${tag%%-*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The system: packages of Debian's, taken apart in a folder.
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/system"
touch "$work/status"
apt() { # command...
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}
apt update > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
if ! apt download --print-uris "python$version-minimal" > /dev/null 2>&1; then
    echo "aarch64 package: this distribution has no python$version: skipped"
    exit 0
fi
(cd "$work/debs" && apt download libc6 libgcc-s1 libstdc++6 libgomp1 zlib1g libbz2-1.0 liblzma5 libffi8 libssl3 libexpat1 \
    libsqlite3-0 libuuid1 "libpython$version-minimal" "libpython$version-stdlib" "python$version-minimal") \
    > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
for package in "$work"/debs/*.deb; do
    dpkg-deb -x "$package" "$work/system"
done

# Its Python, which starts others of its kind by the same script.
cat > "$work/python" << EOF
#!/bin/sh
exec qemu-aarch64 -cpu $cpu -L "$work/system" -E PYTHONHOME="$work/system/usr" -E PYTHONPATH="$work/site" \\
    -E PYTHONDONTWRITEBYTECODE=1 -E NNFAST_SHARED="$shared" "$work/system/usr/bin/python$version" "\$@"
EOF
chmod +x "$work/python"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --target "$work/site" --python-version "$version" --implementation cp \
    --abi "cp${version/./}" --abi abi3 --abi none --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --only-binary=:all: \
    "$wheel" numpy scipy pytest hypothesis pillow msgspec flatbuffers tflite 2> "$work/log" || { tail "$work/log"; exit 1; }
echo "import sys; sys.executable = '$work/python'" > "$work/site/sitecustomize.py"

mkdir "$work/suite"
ln -s "$root/tests" "$root/pyproject.toml" "$root/examples" "$work/suite"
cd "$work/suite"
export PYTHONDONTWRITEBYTECODE=1
"$work/python" -m nnfast info | sed -n 1,2p
"$work/python" -m nnfast demo --output "$work/demo.png"
if [ -d "$shared/vts" ]; then
    "$work/python" -m nnfast vts --sample 60 "$shared/vts" | tail -n 1
else
    echo "no folder $shared/vts: vectors are skipped"
fi
"$work/python" -m pytest -q -p no:cacheprovider tests/models/test_goldens.py tests/native/test_conv2d.py \
    tests/native/test_packets.py tests/ops/test_activation.py tests/ops/test_softmax.py tests/tflite/test_tflite_files.py
