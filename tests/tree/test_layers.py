"""The layout itself: who imports whom, names of kernels, one place for the environment and for threads."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nnfast"

MAY = {
    "alignment": set(),
    "digests": {"forks"},
    "errors": set(),
    "extras": {"errors", "forks"},
    "forks": set(),
    "checks": {"errors"},
    "version": set(),
    "config": {"errors", "record"},
    "observe": {"forks"},
    "pace": set(),
    "record": {"forks"},
    "seals": {"_native"},
    "typed": set(),
    "vlog": {"checks", "forks", "errors", "config", "observe", "typed"},
    "trace": {"checks", "errors", "forks", "observe", "typed"},
    "model": {"alignment", "checks", "errors", "extras", "forks", "pace", "record", "typed", "vlog", "_native"},
    "_native": {"digests", "errors", "config"},
    "ops": {"checks", "forks", "errors", "record", "model", "_native"},
    "fmq": {"checks", "errors", "seals", "typed", "vlog", "_native"},
    "engine": {"alignment", "forks", "errors", "pace", "record", "vlog", "model", "_native"},
    "extensions": {"checks", "forks", "errors", "typed", "vlog", "model", "ops"},
    "compiler": {"digests", "extras", "forks", "errors", "pace", "record", "trace", "model", "ops", "engine",
                 "_native"},
    "tflite": {"checks", "extras", "forks", "errors", "pace", "record", "typed", "vlog", "trace", "model", "ops",
               "_native"},
    "driver": {"alignment", "checks", "digests", "extras", "forks", "errors", "version", "config", "observe", "pace",
               "record", "seals", "typed", "vlog", "trace", "model", "_native", "engine", "compiler", "ops",
               "extensions", "fmq"},
}
"""Part of the package -> the parts it may import; what is not listed (the faces and the commands) may import all."""

COMMANDS = {"cli", "bench", "conformance", "fuzz"}
"""Parts that run as programs of their own, whose processes nobody forks."""

LEVELS = re.findall(r'"(\w+)"', re.search(r"names\[\] = \{([^}]*)\}", (ROOT / "csrc/base/cpu.c").read_text())[1])

KERNEL = re.compile(
    r"nnf_[a-z][a-z0-9]*(?:_[a-z0-9]+)*?(?:_(?:f32|f16|bf16|qu8|qs8|qs8c|qs8z|qs16|qu16|s8|s16|s32|s64|b8|x8|x16|x32|x64))*"
    r"_(?:flat|rows|nhwc|nchw|io|oi|tile)"
    rf"__(?:scalar|(?:{'|'.join(LEVELS[1:])})(?:_\d+(?:[xp]\d+)?(?:k\d+)?)?)$")


def part(path):
    """Top-level part of the package that a file belongs to."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py") if len(relative.parts) > 1 or relative.stem in MAY else ""


def imported(path):
    """Parts of the package that a Python file imports, be it for annotations."""
    depth = len(path.relative_to(PACKAGE).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            yield from ((name, node.lineno) for name in names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("nnfast."):
            yield node.module.split(".")[1], node.lineno


def test_nothing_imports_upward():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        here = part(path)
        if here in MAY:
            wrong += [f"{path.relative_to(ROOT)}:{line}: {here} imports {name}" for name, line in imported(path)
                      if name != here and name not in MAY[here]]
    assert not wrong, "\n".join(wrong)


def test_commands_are_the_top():
    """What a command has and others need belongs to a part below."""
    wrong = [f"{path.relative_to(ROOT)}:{line}" for path in PACKAGE.rglob("*.py") if part(path) != "cli"
             and path.name != "__main__.py" for name, line in imported(path) if name == "cli"]
    assert wrong == []


def modules_of(path):
    """Files of the package that one of its Python files imports, wherever in it; a package itself is none."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = (*package[:len(package) - node.level + 1],) if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            for name in ("", *[f"/{alias.name}" for alias in node.names]):
                found = ROOT / f"{'/'.join(base)}{name}.py"
                if found.is_file():
                    yield found


def test_no_file_imports_itself_by_others():
    """Imports inside functions and for annotations count: they put off a circle, and do not open it."""
    uses = {path: set(modules_of(path)) for path in PACKAGE.rglob("*.py")}
    assert sum(map(len, uses.values())) > 500
    reach = {path: set(found) for path, found in uses.items()}
    grown = True
    while grown:
        grown = False
        for found in reach.values():
            more = set().union(*(reach[other] for other in found)) - found
            found |= more
            grown |= bool(more)
    assert sorted(str(path.relative_to(ROOT)) for path, found in reach.items() if path in found) == []


def executed(path):
    """The syntax tree of a file without what only type checkers read."""
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body
                 if not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING")]
    return tree


def inherited_badly(tree):
    """Lines with a lock that stays locked in a forked child, or with an import that may stand still there."""
    fine = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "renewed":
            fine.update(map(id, node.args))
        if isinstance(node, ast.With) and any(getattr(item.context_expr, "id", "") == "importing"
                                              for item in node.items):
            fine.update(id(inner) for inner in ast.walk(node))
        if isinstance(node, ast.Module):
            fine.update(map(id, node.body))
    for node in ast.walk(tree):
        makes_lock = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "Lock", "RLock", "Condition")
        if (makes_lock or isinstance(node, ast.Import | ast.ImportFrom)) and id(node) not in fine:
            yield node.lineno


def test_forked_children_inherit_no_lock_and_no_import():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path.stem != "forks" and path.relative_to(PACKAGE).parts[0] not in COMMANDS:
            wrong += [f"{path.relative_to(ROOT)}:{line}: use nnfast.forks"
                      for line in inherited_badly(executed(path))]
    assert not wrong, "\n".join(wrong)


def test_the_environment_is_read_in_one_place():
    found = [str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.p*") if p.suffix in (".py", ".pyx", ".pxi")
             and "os.environ" in p.read_text()]
    assert found == ["config.py"]


def test_threads_have_one_door():
    door = {"threads.pyx", "threads.pxd", "openmp.pyx"}
    for path in (PACKAGE / "_native").rglob("*.p*"):
        if path.name not in door and path.suffix in (".pyx", ".pxi", ".pxd"):
            assert "nnf_team" not in path.read_text() and "openmp" not in path.read_text(), path.name
    for path in (ROOT / "csrc" / "kernels").rglob("*.[ch]"):
        text = path.read_text()
        assert not re.search(r"\b(malloc|calloc|realloc|free|pthread_\w+|getenv)\s*\(", text), path.name


def test_tests_import_helpers_only():
    wrong = [f"{path.relative_to(ROOT)}: {line}" for path in (ROOT / "tests").rglob("*.py")
             for line in re.findall(r"^\s*(?:from|import) test_\w+.*", path.read_text(), re.M)]
    assert wrong == []


def test_no_list_comprehension_in_cython():
    """Where a list cannot grow, Cython 3.3 releases the element twice: append in a loop instead."""
    made = [path.name for path in (PACKAGE / "_native").rglob("*.pyx") if path.with_suffix(".c").exists()
            and "__Pyx_ListComp_AppendAndDecref(__pyx_t" in path.with_suffix(".c").read_text()]
    assert made == []


def rows():
    """(kernel name, family) of every row of the kernel lists."""
    for path in sorted((ROOT / "csrc" / "kernels").glob("*/*.inc")):
        for name in re.findall(r"NNF_K\((\w+)", path.read_text()):
            yield name, path.parent.name


@pytest.mark.parametrize("bad", ["nnf_conv2d_nhwc_f32__avx2", "nnf_conv2d_f32_nhwc__avx2_v2", "nnf_add_f32__avx2_8",
                                 "nnf_add_f32_flat__sse", "add_f32_flat__scalar", "nnf_add_f32_flat_scalar"])
def test_the_grammar_refuses(bad):
    assert not KERNEL.match(bad)


def test_kernel_names_follow_the_grammar():
    names = [name for name, _ in rows()]
    assert len(names) == len(set(names)) > 20
    assert [name for name in names if not KERNEL.match(name)] == []


def test_memory_order_of_rings_has_one_place():
    """csrc/fmq orders memory in the four functions of order.h only."""
    folder = ROOT / "csrc" / "fmq"
    assert len(re.findall(r"^static inline .*nnf_order_\w+\(", (folder / "order.h").read_text(), re.M)) == 4
    ordering = re.compile(r"memory_order_(?!relaxed)\w+|atomic_(?:load|store|exchange|fetch_\w+)\(")
    found = {p.name: ordering.findall(p.read_text()) for p in folder.glob("*.[ch]") if p.name != "order.h"}
    assert not any(found.values()), found


def test_kernels_live_in_the_file_of_their_level():
    """By name or in a row `MACRO(op, ...)`; or so in a header of the family, under a KERNEL(op) of the level's file."""
    for name, family in rows():
        op, how = name.split("__")
        folder, isa = ROOT / "csrc" / "kernels" / family, how.split("_")[0]
        shared = "".join(p.read_text() for p in folder.glob("*.h"))
        row = re.compile(rf"^[A-Z]\w*\({op}, ", re.M)
        for text in [p.read_text() for p in folder.glob(f"*_{isa}.c")]:
            macros = re.findall(rf"^#define (KERNEL\w*)\(op\) op##__{how}$", text, re.M)
            by_header = any(f" {macro}({op})(" in shared for macro in macros) or macros and row.search(shared)
            if re.search(rf"\b{name}\(", text) or row.search(text) or by_header:
                break
        else:
            raise AssertionError(f"{name} is in no *_{isa}.c of {family}")


def test_every_family_has_its_companions():
    """What a family of operations, and one of kernels, has beside it: files of its name."""
    from nnfast.ops.registry import FAMILIES

    wanted = [f"nnfast/ops/{family}.py" for family in FAMILIES]
    for folder in (ROOT / "csrc" / "kernels").iterdir():
        if folder.is_dir():
            name = folder.name
            wanted += [f"csrc/checkkernels/check_{name}.c", f"nnfast/_native/*/{name}.pxi",
                       f"csrc/kernels/{name}/{name}.h", f"csrc/kernels/{name}/{name}_scalar.c",
                       f"tests/native/test_{name}*.py"]
    assert [pattern for pattern in wanted if not any(ROOT.glob(pattern))] == []


def test_headers_compile_alone(tmp_path):
    import subprocess

    for header in sorted((ROOT / "csrc").rglob("*.h")):
        if re.search("_(avx|neon|simd|kernels)", header.name):
            continue  # the level, the vector type, or the bodies, are the including file's
        unit = tmp_path / "unit.c"
        unit.write_text(f'#include "{header.relative_to(ROOT / "csrc")}"\n')
        result = subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
                                 "-Werror", "-Icsrc",
                                 "-Icsrc/include", "-Icsrc/kernels", "-Icsrc/checkkernels", str(unit)],
                                capture_output=True, text=True, cwd=ROOT)
        assert result.returncode == 0, f"{header.name}: {result.stderr}"
