"""The programs in examples/litert: what they print, here and with LiteRT, to which one import changes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import example_models, litert_models
from helpers.shared import SHARED

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "litert"
OURS, THEIRS = "import nnfast.litert as tflite", "import ai_edge_litert.interpreter as tflite"
NUMBER = re.compile(r"-?\d+\.\d+|-?\d+")
TOLERANCE = 2e-3
"""Of numbers that are printed with three digits behind the point."""

EXPECTED = {
    "classify": ["picture 0: "], "batch": ["100 pictures, outputs of shape [100, 10]", "60 pictures", " of 360 right"],
    "quantized": ["image: int8 [1, 8, 8, 1], scale 0.003922, zero point -128", "16 scales along dimension 0"],
    "detect": [" detections", "class 0 "], "keyword_stream": ["recording 0: 12 frames", "recording 1: 12 frames"],
    "lstm": ["frequency 4: best "], "text": ["'the film was very good': 7 tokens"],
    "segment": ["class 2: "],
    "signatures": ["blend(left, right, share) -> mixed", "  parts: float32 [1, 8], sum 8.000"],
    "float16": ["2 tensors with 288 values in float16", "float32 in, float32 [1, 4] out"],
}
REAL = [
    ("lstm", "real/trained_lstm.tflite"),
    ("float16", "real/model_lite_age_q.tflite"), ("float16", "real/face_blendshapes.tflite"),
    ("signatures", "real/two_signatures.tflite"), ("signatures", "real/weight_sharing_fcs.tflite"),
    ("signatures", "real/simple_add_model.tflite"), ("keyword_stream", "models/asr_like_f32.tflite"),
]
"""Program, and a model of other people's that it runs as well."""

needs_litert = pytest.mark.skipif(not litert_models.litert_python(), reason="ai_edge_litert is not installed and "
                                                                            "NNFAST_LITERT_PYTHON not set")


def arguments(name, folder):
    """Arguments of a program: its model, where it has none of its own."""
    if name not in example_models.MAKERS:
        return []
    path = folder / f"{name}.tflite"
    path.write_bytes(example_models.MAKERS[name]())
    return [str(path)]


def ours(name, given):
    """What a program prints with nnfast."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, EXAMPLES / f"{name}.py", *given], check=True, text=True, timeout=300,
                          stdout=subprocess.PIPE, env=environment).stdout


def theirs(name, given, folder):
    """What it prints with LiteRT, one import changed; its data are found from the same place."""
    changed = folder / "examples" / "litert" / f"{name}.py"
    changed.parent.mkdir(parents=True)
    changed.write_text((EXAMPLES / f"{name}.py").read_text().replace(OURS, THEIRS))
    (folder / "nnfast").mkdir()
    (folder / "nnfast" / "data").symlink_to(ROOT / "nnfast" / "data")
    return litert_models.run_litert(changed, *given)


def assert_same(ours, theirs):
    """Texts are equal, and so are their numbers: whole ones exactly, others within the tolerance."""
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    for first, second in zip(NUMBER.findall(ours), NUMBER.findall(theirs)):
        if "." in first:
            assert float(first) == pytest.approx(float(second), rel=TOLERANCE, abs=TOLERANCE)
        else:
            assert first == second, (ours, theirs)


def test_there_are_ten():
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(EXPECTED)
    assert all((EXAMPLES / f"{name}.py").read_text().count(OURS) == 1 for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_runs(name, tmp_path):
    printed = ours(name, arguments(name, tmp_path))
    for line in EXPECTED[name]:
        assert line in printed


@needs_litert
@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_prints_what_it_prints_with_litert(name, tmp_path):
    given = arguments(name, tmp_path)
    assert_same(ours(name, given), theirs(name, given, tmp_path))


@needs_litert
@pytest.mark.parametrize(("name", "model"), REAL)
def test_a_program_on_other_people_s_models(name, model, tmp_path):
    path = SHARED / model
    if not path.exists():
        pytest.skip(f"{path} is not there")
    given = [str(path)]
    assert_same(ours(name, given), theirs(name, given, tmp_path))
