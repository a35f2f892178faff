"""The example programs compile against the library as their reader would compile them, and print what they promise."""

import shutil
import subprocess

import pytest

from helpers.tree import ROOT
from nnfast.cli.library import CMAKE, PKG_CONFIG

EXAMPLES = ROOT / "examples" / "ndk"
PRINTED = {"add": "11 22 33 44 55 66\n",
           "burst": "2000 4000 6000 8000 after 2000 runs\n",
           "device_memory": "10 100 1000 45\n",
           "fences": "50 51 52 53\n",
           "mobilenet": "nnfast: the left half is brighter (1.000)\nnnfast: the right half is brighter (1.000)\n",
           "fibonacci": "1 1 2 3 5 8 13 21 34 55\n"}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.c")))
def test_example(name, program, run, extended_driver):
    assert run(program(EXAMPLES / f"{name}.c"), socket=extended_driver) == PRINTED[name]


def built(folder, *commands):
    """Runs commands in an empty folder beside the examples; returns it."""
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.skipif(not shutil.which("cmake"), reason="there is no cmake")
def test_cmake(run, tmp_path):
    folder = built(tmp_path, ["cmake", f"-Dneuralnetworks_DIR={CMAKE}", str(EXAMPLES)],
                   ["cmake", "--build", ".", "--target", "add"])
    assert run(folder / "add") == PRINTED["add"]


@pytest.mark.skipif(not shutil.which("pkg-config") or not shutil.which("cc"), reason="there is no pkg-config")
def test_pkg_config(run, tmp_path):
    folder = built(tmp_path, ["sh", "-c", f"cc {EXAMPLES}/add.c -o add $(PKG_CONFIG_PATH={PKG_CONFIG} pkg-config "
                                          f"--cflags --libs 'neuralnetworks >= 8')"])
    assert run(folder / "add") == PRINTED["add"]


def test_the_extension_is_not_there(program, run):
    assert run(program(EXAMPLES / "fibonacci.c"), code=1) == ""
