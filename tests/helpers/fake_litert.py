"""A package `ai_edge_litert` whose Interpreter is nnfast's with errors that a test asks for, and fake Pythons."""

import json
import os
import sys

INTERPRETER = '''
import json, os
import nnfast.litert

wanted = json.loads(os.environ["FAKE_LITERT"])
OpResolverType = nnfast.litert.OpResolverType

class Interpreter(nnfast.litert.Interpreter):
    def __init__(self, path, experimental_op_resolver_type, **options):
        name = experimental_op_resolver_type.name
        if name in wanted.get("refuses", ()):
            raise RuntimeError("cannot\\nprepare")
        self.offsets = wanted.get(name, {})
        super().__init__(path, **options)

    def set_tensor(self, index, value):
        super().set_tensor(index, value + value.dtype.type(wanted.get("shift", 0)))

    def get_tensor(self, index):
        value = super().get_tensor(index)
        value.reshape(-1)[-1:] += value.dtype.type(self.offsets.get(str(index), 0))
        return value
'''


def install(folder, monkeypatch, **wanted):
    """Make this Python's child processes find the package, version 9.9.

    wanted: resolver name -> {tensor index: what its last value is off by}; refuses: names of resolvers that run no
    model; shift: what is added to the inputs.
    """
    package, facts = folder / "ai_edge_litert", folder / "ai_edge_litert-9.9.dist-info"
    package.mkdir()
    facts.mkdir()
    (package / "__init__.py").write_text("")
    (package / "interpreter.py").write_text(INTERPRETER)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: ai-edge-litert\nVersion: 9.9\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, sys.path)]))
    monkeypatch.setenv("FAKE_LITERT", json.dumps(wanted))
    monkeypatch.delenv("NNFAST_LITERT_PYTHON", raising=False)


def python(folder, script):
    """Path of a Python that does what a shell script does."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
