"""The speed benchmarks: each kernel family has one, each runs, and what it times is native."""

import inspect
import os
import re
import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "asv_bench" / "benchmarks").glob("bench_*.py"))

sys.path.insert(0, str(ROOT / "asv_bench"))
common = import_module("benchmarks.common")
MODULES = [import_module(f"benchmarks.{path.stem}") for path in FILES]
sys.path.remove(str(ROOT / "asv_bench"))

CLASSES = [kind for module in MODULES for _, kind in inspect.getmembers(module, inspect.isclass)
           if kind.__module__ == module.__name__]
OPERATIONS = [kind for kind in CLASSES if issubclass(kind, common.Operation)]
OTHERS = [kind for kind in CLASSES if kind not in OPERATIONS and "model" not in kind.param_names]


@pytest.fixture(autouse=True)
def own_environment():
    """Benchmarks have a process of their own and leave variables set: here they are undone."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def measured(module):
    """Paths in the first line of a benchmark file."""
    return re.findall(r"(?:csrc|nnfast)/[\w/.]*\w", module.__doc__.splitlines()[0])


def timers(kind):
    return [getattr(kind, name) for name in dir(kind) if re.match("(time|peakmem|track)_", name)]


def finish(bench, *params):
    """As asv does after the last sample: processes of the benchmark end."""
    if hasattr(bench, "teardown"):
        bench.teardown(*params)


def test_every_kernel_family_is_measured():
    paths = [path for module in MODULES for path in measured(module)]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    families = {f"csrc/kernels/{folder.name}" for folder in (ROOT / "csrc" / "kernels").iterdir() if folder.is_dir()}
    assert families - set(paths) == set()


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
def test_operations_run_natively(kind):
    assert len(kind.params) == len(kind.param_names)
    for *choice, shape in product(*kind.params):
        bench = kind()
        bench.setup(*choice, shape)
        assert bench.prepared.explain().native, (choice, shape, str(bench.prepared.explain()))
        if shape == kind.params[-1][0]:
            for timer in timers(kind):
                timer(bench, *choice, shape)
        finish(bench, *choice, shape)


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_other_benchmarks_run(kind):
    assert len(kind.params) == len(kind.param_names)
    for params in product(*kind.params):
        bench = kind()
        bench.setup(*params)
        for timer in timers(kind):
            result = timer(bench, *params)
            assert result is None or not result <= 0  # not a number: is not measured
        finish(bench, *params)


@pytest.mark.skipif(not common.MODELS.is_dir(), reason="no shared models (NNFAST_SHARED)")
@pytest.mark.parametrize("kind", [k for k in CLASSES if k not in OPERATIONS + OTHERS], ids=lambda kind: kind.__name__)
def test_model_benchmarks_run(kind):
    assert set(common.MODEL_NAMES) == {path.stem for path in common.MODELS.glob("*.tflite")}
    bench, params = kind(), ["mobilenet_v1_0.25_128_int8", *(values[0] for values in kind.params[1:])]
    if hasattr(bench, "setup"):
        try:
            bench.setup(*params)
        except NotImplementedError as reason:
            pytest.skip(str(reason))
    for timer in timers(kind):
        timer(bench, *params)
    finish(bench, *params)


def test_absent_models_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(common, "MODELS", tmp_path)
    with pytest.raises(NotImplementedError):
        common.model_path("mobilenet_v1_0.25_128_f32")


@pytest.mark.skipif(not common.MODELS.is_dir(), reason="no shared models (NNFAST_SHARED)")
def test_first_result_is_a_program():
    module = import_module("benchmarks.bench_import")
    exec(compile(module.timeraw_first_result("mobilenet_v1_0.25_128_int8"), "first result", "exec"), {})
