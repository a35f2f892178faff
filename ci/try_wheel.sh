#!/usr/bin/env bash
# A wheel in an empty environment, with no compiler on PATH: the demo, the levels of the machine, a part of the suite.
# Where the machine has a compiler, C programs with the library of the wheel.
#   bash ci/try_wheel.sh WHEEL [PYTHON]      a name or a full path; default: the python3.N that the wheel is for
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$PWD
tag=${wheel##*-cp3}
python=${2-python3.${tag%%-*}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
mkdir "$work/bin" "$work/suite"
ln -s "$(command -v rm)" "$(command -v ls)" "$work/bin"
ln -s "$root/tests" "$root/pyproject.toml" "$root/examples" "$work/suite"
tools=$PATH
export PATH="$work/venv/bin:$work/bin"
pip install --quiet "$wheel"
cd "$work"
nnfast demo --output demo.png # with numpy alone: says that there is no picture
pip install --quiet "nnfast[test] @ file://$wheel" 2> "$work/pip.log" || { echo "see $work/pip.log"; exit 1; }
nnfast demo --output demo.png
ls demo.png
python - << 'EOF'
import importlib.metadata, pathlib, subprocess, nnfast
from nnfast._native import kernels
said = subprocess.run(["nnfast", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
assert said == nnfast.__version__ == importlib.metadata.version("nnfast"), "versions differ"
root = pathlib.Path(nnfast.__file__).parent
assert (root / "py.typed").exists(), "py.typed is missing from the wheel"
print("nnfast", nnfast.__version__, "at", kernels.level(), "of", *kernels.levels())
EOF
if PATH=$tools command -v gcc > /dev/null; then
    export NNFAST_SOCKET=$work/driver.sock # a driver of this installation, which the first program starts
    for name in add mobilenet; do
        PATH=$tools gcc "$root/examples/ndk/$name.c" -o "$name" $("$work/venv/bin/nnfast" library --cflags --libs)
        "./$name"
    done
    unset NNFAST_SOCKET
else
    echo "no gcc: C programs with libneuralnetworks.so are not tried"
fi
cd "$work/suite"
pytest -q -p no:cacheprovider tests/ops/test_activation.py tests/ops/test_softmax.py tests/tflite/test_tflite_files.py \
    tests/native/test_conv2d.py tests/native/test_packets.py tests/service/test_faces.py
