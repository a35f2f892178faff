"""NNFAST_POISON: what is never written shows, whatever runs the program."""

import subprocess
import sys

import numpy as np
import pytest

from helpers import models
from helpers.processes import environment
from nnfast import Device, ModelBuilder, profile
from nnfast._native.engine import Frame, Poison, Program, aligned_bytes, poison, set_poison
from nnfast.compiler.lowering import Lowering
from nnfast.errors import InvalidArgument

FLOAT = "TENSOR_FLOAT32"


@pytest.fixture(autouse=True)
def unpoisoned():
    yield
    set_poison(None)


@pytest.fixture
def unwritten(monkeypatch):
    """A model whose output no step writes, because the step that should is left out."""
    monkeypatch.setattr(Lowering, "_clear", lambda self, tensor: None)
    b = ModelBuilder()
    x, none, y = b.input(FLOAT, (4,)), b.operand(FLOAT, (0,)), b.output(FLOAT, (3,))
    b.operation("SLICE", [x, b.constant(np.int32([0])), b.constant(np.int32([0]))], [none])
    return b.operation("RELU", [none], [y]).build()


X = np.ones(4, np.float32)


@pytest.mark.parametrize("byte", [0x5A, 0xFF])
def test_an_output_that_nothing_writes(byte, unwritten):
    set_poison(byte)
    prepared = Device(2).prepare(unwritten)
    for _ in range(2):
        out = np.zeros(3, np.float32)
        prepared.run([X], [out])
        assert out.tobytes() == bytes([byte]) * 12  # the short way
        with profile() as seen:
            (out,) = prepared.run([X])
        assert out.tobytes() == bytes([byte]) * 12 and len(seen.rows) == 2  # the long way, and no row for the poison
    with prepared.burst() as burst:
        assert burst.run([X])[0].tobytes() == bytes([byte]) * 12


def test_working_memory_before_each_run():
    arena, scratch = {0: 0, 1: 64}, 100
    program = Program([], Poison((0, 2), (128, 8), 0x5A, 3))
    frame, y = Frame(3, arena, 128, {}, scratch, 3), np.zeros(4, np.float32)
    frame.bind(2, y)
    assert program.steps == ()
    for _ in range(2):
        frame.view(0, (128,), np.dtype(np.uint8))[:] = 1
        y[:] = 1
        assert program.run(frame, 3) == ("done", 0)
        assert (frame.view(0, (128,), np.dtype(np.uint8)) == 0x5A).all()
        assert y.tobytes() == b"\x5a" * 8 + np.ones(2, np.float32).tobytes()


def test_large_tensors_that_begin_within_a_page():
    """None of them need be where the working memory begins."""
    model, x = models.wide_model(4, 32), np.ones((1, 32, 32, 16), np.float32)
    expected = Device(2, without_passes=["row_fusion"]).prepare(model).run([x])
    set_poison(0xFF)
    prepared = Device(2, without_passes=["row_fusion"]).prepare(model)
    assert "arena 0 B" not in str(prepared.explain())
    assert np.array_equal(prepared.run([x]), expected)


def test_new_memory_holds_it():
    set_poison(0)
    assert poison() == 0 and not aligned_bytes(1000).any()
    set_poison(255)
    assert poison() == 255 and (aligned_bytes(1000) == 255).all()


def test_nothing_is_added_where_nobody_asks():
    b = ModelBuilder()
    model = b.operation("RELU", [b.input(FLOAT, (4,))], [b.output(FLOAT, (4,))]).build()
    (program,) = Device(1).prepare(model).executor.segment.items
    assert program.head is None and len(program.steps) == 1


def test_only_a_byte_will_do():
    for value in (-1, 256):
        with pytest.raises(InvalidArgument, match="^NNFAST_POISON: "):
            set_poison(value)


@pytest.mark.parametrize("text, told", [("0x5A", "InvalidArgument"), ("256", "InvalidArgument"), ("90", "90"),
                                        ("", "None")])
def test_the_environment_says_it(text, told):
    code = "from nnfast._native.engine import poison; print(poison())"
    done = subprocess.run([sys.executable, "-c", code], env=environment(NNFAST_POISON=text),
                          capture_output=True, text=True, timeout=600)
    assert told in done.stdout + done.stderr
