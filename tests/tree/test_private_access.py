"""Names with a leading underscore belong to the module that defines them: nobody else reads or writes them."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "nnfast"

DOCUMENTED = {"_replace", "_fields", "_asdict", "_make", "_field_defaults", "_exit"}
"""Names that are public in spite of the underscore: of named tuples, and os._exit."""

ALLOWED = {("forks.py", "_at_fork_reinit")}
"""CPython has no public way to free a lock whose holder is not there after a fork; its own modules call this."""

OWN_BASES = {"self", "cls"}

_CYTHON_USE = re.compile(r"(?P<base>[\w\])]+)\._(?P<name>[A-Za-z]\w*)")
_CYTHON_TEXT = re.compile(r'"""[\s\S]*?"""|\'[^\'\n]*\'|"[^"\n]*"|#[^\n]*')
_CYTHON_NAME = re.compile(r"^ *(?:(?:cdef|cpdef|def)\b[^=\n(]*?|self\.)_(\w+)\b *[(=:]|^ *cdef [^=\n(]*", re.M)


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def own_names(tree):
    """Private attributes that the classes of a module have: methods, fields, slots, and what methods set on self."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    found.add(inner.name)
                targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
                for target in targets:
                    found.update(name.id for name in ast.walk(target) if isinstance(name, ast.Name)) if target else ()
                if any(getattr(target, "id", "") == "__slots__" for target in targets):
                    found.update(text.value for text in ast.walk(inner.value) if isinstance(text, ast.Constant))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            found.add(node.attr)
    return found


def is_own(base):
    """Whether an expression is the object of the method it stands in, or its base class's part."""
    return getattr(base, "id", "") in OWN_BASES or \
        isinstance(base, ast.Call) and getattr(base.func, "id", "") == "super"


def foreign_in_python(text):
    """(line, name) of private attributes and imports that the text does not define."""
    tree = ast.parse(text)
    own = own_names(tree)
    modules = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
               for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in DOCUMENTED and \
                not is_own(node.value) and (node.attr not in own or getattr(node.value, "id", "") in modules):
            yield node.lineno, node.attr
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("__"):
            yield from ((node.lineno, alias.name) for alias in node.names
                        if is_private(alias.name) and alias.name != "_native")


def foreign_in_cython(text, own_text):
    """(line, name) of private attributes of others in a Cython file. own_text: of all files of its extension, which
    share one scope."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    own = set(re.findall(r"\b_\w+", "\n".join(re.findall(
        r"^ *(?:cdef|cpdef|def|class)\b[^\n]*|\bself\._\w+ *=[^=]", _CYTHON_TEXT.sub(blank, own_text), re.M))))
    text = _CYTHON_TEXT.sub(blank, text)
    for match in _CYTHON_USE.finditer(text):
        name = "_" + match["name"]
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if match["base"] in OWN_BASES or name in own or name in DOCUMENTED or \
                re.match(r" *(?:from|cimport|import)\b", line):
            continue
        yield text.count("\n", 0, match.start()) + 1, name


def extension_of(path):
    """Name of the extension that a Cython file belongs to."""
    return path.relative_to(PACKAGE / "_native").parts[0].split(".")[0]


def cython_files():
    return [path for path in sorted((PACKAGE / "_native").rglob("*.p*")) if path.suffix in (".pyx", ".pxi", ".pxd")]


def test_python_uses_no_private_names_of_others():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        wrong += [f"{where}:{line}: {name}" for line, name in foreign_in_python(path.read_text())
                  if (where, name) not in ALLOWED]
    assert not wrong, "\n".join(wrong)


def test_cython_uses_no_private_names_of_others():
    files, texts = cython_files(), {}
    for path in files:
        texts[extension_of(path)] = texts.get(extension_of(path), "") + path.read_text()
    wrong = [f"{path.relative_to(PACKAGE)}:{line}: {name}" for path in files
             for line, name in foreign_in_cython(path.read_text(), texts[extension_of(path)])]
    assert len(files) > 20 and not wrong, "\n".join(wrong)


def test_the_allow_list_is_needed():
    used = {(path.relative_to(PACKAGE).as_posix(), name) for path in PACKAGE.rglob("*.py")
            for _, name in foreign_in_python(path.read_text())}
    assert used == ALLOWED


@pytest.mark.parametrize("text", [
    "def f(prepared):\n    return prepared._runner", "def f(x):\n    x.a._b = 1", "import os\nos._exists(1)",
    "from .pools import _shape", "class A:\n    def f(self):\n        return self.other._runner",
    "_runner = 1\ndef f(prepared):\n    return prepared._runner", "def f(x):\n    return x()._y[0]"])
def test_what_is_foreign_in_python(text):
    assert len(list(foreign_in_python(text))) == 1


@pytest.mark.parametrize("text", [
    "class A:\n    def __init__(self):\n        self._x = 1\n    def same(self, other):\n        return other._x",
    "class A:\n    __slots__ = ('_x',)\ndef f(a):\n    return a._x", "class A(B):\n    def f(self):\n        self._x()",
    "class A:\n    _x, _y = 1, 2\ndef f(a):\n    return a._y", "def f(t):\n    return t._replace(a=1).__class__",
    "class A(B):\n    def f(self):\n        super()._f()", "from . import _native\nfrom .._native.engine import Frame",
    "import os\nos._exit(0)"])
def test_what_is_not_foreign_in_python(text):
    assert list(foreign_in_python(text)) == []


def test_what_is_foreign_in_cython():
    text = 'cdef class A:\n    cdef int _own\n    def f(self, other, b):\n        """Not b._this."""\n' \
           '        return other._own + self._any + b._theirs  # nor b._that\n'
    assert list(foreign_in_cython(text, text)) == [(5, "_theirs")]
