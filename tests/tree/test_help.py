"""help(): every public name says what it is, and names what it takes."""

import inspect
import pydoc
import re

import nnfast
from helpers.face import functions, public

OBVIOUS = {"self", "cls", "args", "options", "error"}
FEW = 2
"""Parameters that a signature explains by itself: their names and types are enough."""
MADE_BY_OTHERS = ("Buffer.__init__", "Buffer.check_role", "MessageQueue.__init__", "PreparedModel.__init__",
                  "Results.__init__", "SignatureRunner.__init__", "Stream.perform", "profile.copied")
"""What programs do not call."""
ELSEWHERE = ("nnfast.typed.", "nnfast.service.")
"""Protocols, whose classes have the text, and what says that it is as of another class."""


def documented():
    """(path, thing, name, function, is a property) of what programs call and read."""
    return [(path, thing, *found) for path, thing in public().items() if not path.startswith(ELSEWHERE)
            for found in functions(thing)]


def test_everything_has_a_docstring():
    silent = [path for path, thing in public().items() if not inspect.getdoc(thing)]
    silent += [name for _, _, name, function, _ in documented()
               if not re.search(r"__(init|enter|exit|call)__$", name) and not inspect.getdoc(function)]
    assert not silent, silent


def test_docstrings_name_the_parameters():
    missing = []
    for path, thing, name, function, is_property in documented():
        parameters = [p for p in inspect.signature(function).parameters if p not in OBVIOUS]
        is_record = function.__code__.co_filename == "<string>"
        if is_property or is_record or len(parameters) <= FEW or name in MADE_BY_OTHERS:
            continue
        text = f"{inspect.getdoc(function)} {inspect.getdoc(thing)}"
        unnamed = [p for p in parameters if not re.search(rf"\b{p}s?\b", text) and not p.startswith("experimental_")]
        if unnamed:
            missing.append(f"{path} {name}: {', '.join(unnamed)}")
    assert not missing, missing


def test_help_shows_names_and_types():
    text = pydoc.plain(pydoc.render_doc(nnfast.Device.prepare))
    text = text.replace("'", "")  # which Python 3.14 leaves out
    assert "cache_dir: typed.FilePath | None = None" in text and "-> PreparedModel" in text
    text = pydoc.plain(pydoc.render_doc(nnfast.hal.v1_3.Device.prepareModel_1_3)).replace("'", "")
    assert "deadline: int | None" in text


def test_the_first_names_have_an_example():
    for name in ("Device", "PreparedModel", "ModelBuilder", "Interpreter", "Request", "Memory", "Fence", "profile",
                 "load", "connect", "to_tflite"):
        assert re.search(r"\n {4,}\S+.*[(\[=]", getattr(nnfast, name).__doc__), name
