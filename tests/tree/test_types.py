"""Annotations of the public face: complete, and known to type checkers, which see none of the lazy imports."""

import ast
import inspect
from pathlib import Path

import pytest

import nnfast
from helpers.face import functions, public

ROOT = Path(__file__).resolve().parents[2]

def reach(path):
    """A name inside the package."""
    found = nnfast
    module, _, name = path.rpartition(".")
    for part in filter(None, module.split(".")):
        __import__(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return getattr(found, name)


def test_annotations_are_complete():
    """Of every parameter and result of the face; ci/check_types.py has pyright look at attributes too."""
    wrong, walked = [], 0
    for path, thing in public().items():
        for name, function, _ in functions(thing):
            parameters = list(inspect.signature(function).parameters.values())
            bare = [p.name for p in parameters if p.annotation is p.empty and p.name not in ("self", "cls")]
            if bare or "return" not in function.__annotations__:
                wrong.append(f"{path} {name}({', '.join(bare)})")
            walked += 1
    assert walked > 450 and not wrong, wrong


def test_type_checkers_see_every_lazy_name():
    tree = ast.parse((ROOT / "nnfast/__init__.py").read_text())
    block, = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname: getattr(node, "module", None) for node in block.body for alias in node.names}
    assert {"__version__", *seen} == set(nnfast.__all__)
    for name, module in seen.items():
        if module is not None:  # a module itself otherwise
            assert reach(f"{module}.{name}") is getattr(nnfast, name)


SIDES = {"Preparing": ("driver.device.Device", "service.client.device.RemoteDevice"),
         "Prepared": ("driver.prepared.PreparedModel", "service.client.prepared.RemotePreparedModel"),
         "StateStream": ("driver.stream.Stream", "service.client.prepared.RemoteStream"),
         "DeviceBuffer": ("driver.buffers.Buffer", "service.client.buffers.RemoteBuffer")}
"""Protocols of nnfast.typed, and the classes that have them: in this process, and of a driver's."""


def members(kind):
    """Public names of a class: methods, properties, and attributes that it annotates."""
    classes = [c for c in kind.__mro__ if c.__module__.startswith("nnfast")]
    return {name for c in classes for name in (*vars(c), *c.__annotations__)
            if not name.startswith("_") or name in ("__enter__", "__exit__")}


@pytest.mark.parametrize("name", SIDES)
def test_protocols_are_what_both_sides_have(name):
    """tests/face/programs.py has type checkers compare the annotations."""
    here, there = map(reach, SIDES[name])
    assert members(reach(f"typed.{name}")) == members(here) & members(there)


def test_names_for_annotations_exist_at_run_time():
    import nnfast.typed

    assert nnfast.typed.Array and nnfast.typed.Tensor and nnfast.typed.Pool
