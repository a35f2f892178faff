#!/usr/bin/env bash
# A system for arm64 in a folder, to run under an emulator: Debian's packages taken apart, with its Python, and what pip has.
#   bash ci/aarch64_system.sh FOLDER VERSION REQUIREMENT...     VERSION: of Python, as 3.11; a requirement may be a wheel
# FOLDER/python then runs it: on the processor of qemu-user's that QEMU_CPU names (max), with the plugin of QEMU_PLUGIN, and
# with the files of QEMU_LD_PREFIX (FOLDER/system). Needs no root. Exit code 3, with the reason, where it cannot be made.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: bash ci/aarch64_system.sh FOLDER VERSION REQUIREMENT..."; exit 2; }
for tool in qemu-aarch64 apt-get dpkg-deb; do
    command -v "$tool" > /dev/null || { echo "aarch64 system: no $tool"; exit 3; }
done
mkdir -p "$1"
work=$(realpath "$1")
version=$2
shift 2

mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/system"
touch "$work/status"
apt() { # command...
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}
apt update > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
if ! apt download --print-uris "python$version-minimal" > /dev/null 2>&1; then
    echo "aarch64 system: this distribution has no python$version"
    exit 3
fi
(cd "$work/debs" && apt download libc6 libgcc-s1 libstdc++6 libgomp1 zlib1g libbz2-1.0 liblzma5 libffi8 libssl3 libexpat1 \
    libsqlite3-0 libuuid1 "libpython$version-minimal" "libpython$version-stdlib" "python$version-minimal") \
    > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
for package in "$work"/debs/*.deb; do
    dpkg-deb -x "$package" "$work/system"
done

# Python starts others of its kind by the same script.
cat > "$work/python" << EOF
#!/bin/sh
exec qemu-aarch64 -cpu "\${QEMU_CPU-max}" -L "\${QEMU_LD_PREFIX-$work/system}" -E PYTHONHOME="$work/system/usr" \\
    -E PYTHONPATH="$work/site" -E PYTHONDONTWRITEBYTECODE=1 "$work/system/usr/bin/python$version" "\$@"
EOF
chmod +x "$work/python"
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --target "$work/site" --python-version "$version" --implementation cp \
    --abi "cp${version/./}" --abi abi3 --abi none --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --only-binary=:all: "$@" 2> "$work/log" ||
    { tail "$work/log"; exit 1; }
echo "import sys; sys.executable = '$work/python'" > "$work/site/sitecustomize.py"
