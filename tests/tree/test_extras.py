"""What an installation without extras can do, and the one line that it says of the rest."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nnfast.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOUND = {"ai_edge_litert", "atheris", "openvino", "tensorflow", "tflite_runtime", "typing_extensions"}
"""Peers and tools that are used where somebody has installed them; the last is known to every type checker."""

DIGITS = "nnfast/data/digits_int8.tflite"
WITHOUT = f"""
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import numpy as np
import nnfast
"""


def without_extras(program, *arguments):
    """The finished process of a program that sees no package of EXTRAS."""
    return subprocess.run([sys.executable, "-c", WITHOUT + program, *map(str, arguments)], cwd=ROOT,
                          capture_output=True, text=True)


def packages(names):
    """Names of packages that these requirements bring, those of our own extras included."""
    for line in names:
        own = re.match(r"nnfast\[([\w,]+)\]", line)
        if own:
            for extra in own[1].split(","):
                yield from packages(PROJECT["optional-dependencies"][extra])
        else:
            yield re.match(r"[\w-]+", line)[0].lower()


def test_numpy_is_the_only_hard_dependency():
    assert list(packages(PROJECT["dependencies"])) == ["numpy"]


@pytest.mark.parametrize("package", EXTRAS)
def test_the_named_extra_brings_the_package(package):
    called, extra, _ = EXTRAS[package]
    for name in (extra, "all", *(["test"] if extra != "distributed" else [])):
        assert called.lower() in packages(PROJECT["optional-dependencies"][name]), name


def test_every_foreign_import_is_known():
    known = {"numpy", "nnfast", *EXTRAS, *FOUND, *sys.stdlib_module_names}
    wrong = []
    for path in ROOT.glob("nnfast/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            wrong += [f"{path.relative_to(ROOT)}:{node.lineno}: {name}" for name in names
                      if name.partition(".")[0] not in known]
    assert not wrong, "\n".join(wrong)


def test_models_run_with_numpy_alone():
    ran = without_extras("""
prepared = nnfast.Device().prepare(nnfast.load("nnfast/data/digits_int8.tflite"))
y, = prepared.run([np.zeros(prepared.inputs[0].shape, prepared.inputs[0].dtype)])
print(y.shape, *sorted({name.partition(".")[0] for name in sys.modules} & {"msgspec", "rich", "PIL", "flatbuffers"}))
""")
    assert (ran.stdout, ran.stderr) == ("(1, 10)\n", "")


@pytest.mark.parametrize("call, line", [
    ("nnfast.connect('none.sock')", "needs msgspec; pip install 'nnfast[service]'"),
    ("model.save('model.nnapi')", "needs msgspec; pip install 'nnfast[service]'"),
    ("nnfast.Device().prepare(model, cache_dir=sys.argv[1])", "needs msgspec; pip install 'nnfast[service]'"),
    ("nnfast.to_tflite(model)", "needs flatbuffers; pip install 'nnfast[tflite]'"),
    ("import nnfast.distributed", "needs dask; pip install 'nnfast[distributed]'"),
])
def test_what_needs_more_says_so_in_one_line(call, line, tmp_path):
    ran = without_extras(f"""
model = nnfast.load("nnfast/data/digits_int8.tflite")
try:
    {call}
except (nnfast.Error, ImportError) as error:
    print(type(error).__name__, isinstance(error, nnfast.Error), error)
""", tmp_path)
    assert ran.stderr == ""
    kind, ours, text = ran.stdout.split(maxsplit=2)
    assert (kind, ours) == ("MissingPackage", "True") and text.endswith(line + "\n") and text.count("\n") == 1


@pytest.mark.parametrize("arguments, line", [
    (["benchmark", DIGITS, "--runs", "1"], "needs rich; pip install 'nnfast[cli]'"),
    (["run", DIGITS, "--image", "nnfast_demo.png"], "needs Pillow; pip install 'nnfast[image]'"),
    (["benchmark", "--rings", "--plot", "r.png"], "--plot: needs matplotlib; pip install 'nnfast[plot]'"),
    (["mlts", "--models", "x", "--report", "r.html"], "--report: needs matplotlib; pip install 'nnfast[plot]'"),
    (["serve", "--socket", "none.sock"], "needs msgspec; pip install 'nnfast[service]'"),
])
def test_commands_say_so_too(arguments, line):
    ran = without_extras("from nnfast.cli.main import main\nsys.exit(main(sys.argv[1:]))", *arguments)
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.startswith("nnfast: error: ") and line in ran.stderr and ran.stderr.count("\n") == 1


@pytest.mark.parametrize("program", [
    "from nnfast.cli.main import main\nsys.exit(main(['info']))",
    "from nnfast.cli.main import main\nsys.exit(main(['run', 'nnfast/data/digits_int8.tflite']))",
    "import nnfast\nassert nnfast.__version__\n"
    "try:\n    nnfast.Device\nexcept nnfast.errors.MissingPackage as error:\n"
    "    print('nnfast: error:', error, file=sys.stderr)\n    sys.exit(2)",
])
def test_without_numpy_one_line_says_so(program):
    hidden = WITHOUT.replace(str(set(EXTRAS)), "{'numpy'}").replace("import numpy as np\nimport nnfast\n", "")
    ran = subprocess.run([sys.executable, "-c", hidden + program], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "nnfast: error: needs numpy; pip install numpy\n"


def test_the_demo_runs_with_numpy_alone(tmp_path):
    ran = without_extras("from nnfast.cli.main import main\nsys.exit(main(sys.argv[1:]))", "demo", "--output",
                         tmp_path / "demo.png")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "int8" in ran.stdout and "no picture drawn; pictures: needs Pillow" in ran.stdout
