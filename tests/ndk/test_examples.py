"""The example programs compile against the library as their reader would compile them, and print what they promise."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import nnfast
from helpers.shared import SHARED
from helpers.tree import ROOT
from nnfast.cli.library import CMAKE, PKG_CONFIG

EXAMPLES = ROOT / "examples" / "ndk"
DATA = ROOT / "nnfast" / "data"
MLTS = SHARED / "models" / "mlts"
PRINTED = {"add": "11 22 33 44 55 66\n",
           "burst": "2000 4000 6000 8000 after 2000 runs\n",
           "device_memory": "10 100 1000 45\n",
           "fences": "50 51 52 53\n",
           "mobilenet": "nnfast: the left half is brighter (1.000)\nnnfast: the right half is brighter (1.000)\n",
           "fibonacci": "1 1 2 3 5 8 13 21 34 55\n"}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.c") if path.stem != "tflite"))
def test_example(name, program, run, extended_driver):
    assert run(program(EXAMPLES / f"{name}.c"), socket=extended_driver) == PRINTED[name]


def picture(path, pixels):
    """Writes pixels [height, width] or [height, width, 3] as .pgm or .ppm; returns the path."""
    height, width = pixels.shape[:2]
    path.write_bytes(b"P%d\n%d %d\n255\n" % (5 if pixels.ndim == 2 else 6, width, height) + pixels.tobytes())
    return path


def test_a_picture_is_classified_by_a_file(program, run, tmp_path):
    digits, labels = np.load(DATA / "digits.npz"), tmp_path / "labels.txt"
    labels.write_text("".join(f"digit {i}\n" for i in range(10)))
    rows = [run(program(EXAMPLES / "tflite.c"), DATA / "digits_int8.tflite",
                picture(tmp_path / "digit.pgm", (image * 15.9375).astype(np.uint8)), labels).splitlines()
            for image in digits["images"][:12]]
    assert all(len(lines) == 3 for lines in rows)
    found = [lines[0].split() for lines in rows]
    assert [int(words[0]) for words in found] == digits["labels"][:12].tolist()
    assert all(words[2:] == ["digit", words[0]] and float(words[1]) > 0.5 for words in found)


@pytest.mark.skipif(not MLTS.is_dir(), reason="there are no models of MLTS")
@pytest.mark.parametrize("name", ["mobilenet_v1_0.25_128", "mobilenet_v1_0.5_160_quant", "mobilenet_v2_1.0_224_quant"])
def test_mobilenet_of_a_file(name, program, run, tmp_path):
    prepared = nnfast.Device().prepare(nnfast.load(MLTS / f"{name}.tflite", arithmetic="nnapi"))
    image = pytest.importorskip("PIL.Image").open(MLTS / "photos" / "image-1.jpeg").convert("RGB")
    info = prepared.inputs[0]
    pixels = np.asarray(image.resize(info.shape[2:0:-1]))
    values = pixels[None] if info.dtype == np.uint8 else pixels[None] / np.float32(127.5) - np.float32(1)
    scores = prepared.run([values])[0].ravel()
    lines = run(program(EXAMPLES / "tflite.c"), MLTS / f"{name}.tflite", picture(tmp_path / "photo.ppm", pixels),
                MLTS / "photos" / "labels.txt")
    best = np.argsort(-scores.astype(float), kind="stable")[:3]
    assert [int(line.split()[0]) for line in lines.splitlines()] == best.tolist()
    assert lines.splitlines()[0].endswith(" golden retriever")


@pytest.mark.parametrize("model,photo,what", [
    ("README.md", "digit.pgm", "is no .tflite file"), ("no", "digit.pgm", "cannot be read"),
    ("nnfast/data/digits_int8.tflite", "README.md", "must be a binary .pgm or .ppm")])
def test_files_that_are_none(model, photo, what, program, tmp_path):
    picture(tmp_path / "digit.pgm", np.zeros((8, 8), np.uint8))
    path = ROOT / photo if photo == "README.md" else tmp_path / photo
    done = subprocess.run([program(EXAMPLES / "tflite.c"), ROOT / model, path], capture_output=True, text=True)
    assert done.returncode == 1 and what in done.stderr and not done.stdout


def test_a_damaged_file_is_refused(program, driver, tmp_path):
    content, photo = (DATA / "digits_int8.tflite").read_bytes(), tmp_path / "digit.pgm"
    picture(photo, np.zeros((8, 8), np.uint8))
    rng, path = np.random.default_rng(3), tmp_path / "cut.tflite"
    changed = [content[:size] for size in rng.integers(8, len(content), 20).tolist()]
    for at in rng.integers(8, len(content) - 8, 20).tolist():  # an offset or count that leads far away
        changed.append(content[:at] + b"\xff\xff\xff\x7f" + content[at + 4:])
    codes = []
    for case in changed:
        path.write_bytes(case)
        done = subprocess.run([program(EXAMPLES / "tflite.c"), path, photo], capture_output=True, text=True,
                              timeout=300, env=os.environ | {"NNFAST_SOCKET": str(driver)})
        assert done.returncode == 0 or done.returncode == 1 and done.stderr.strip(), done
        codes.append(done.returncode)
    assert codes.count(1) >= 20  # a changed weight is none of the program's business


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
