"""Runs native steps on arrays: what the tests of tests/native share."""

from contextlib import contextmanager

import numpy as np
import pytest

from nnfast._native import kernels
from nnfast._native.engine import Frame, Program
from nnfast._native.threads import Cancel

every_level = pytest.mark.parametrize("level", kernels.levels())
"""One run of a test for each instruction level of this machine."""

BF16_LEVELS = [level for level in ("avx512bf16", "avx512amx", "neonbf16") if level in kernels.levels()]
"""Those with products in bfloat16."""


@contextmanager
def at_level(level):
    """Kernels are chosen for this level inside the block."""
    kernels.set_level(level)
    try:
        yield
    finally:
        kernels.set_level(None)


def is_fastest(kernel):
    """Whether the level in force has no faster kernel of the same op."""
    return kernel == kernels.picked(kernel.removeprefix("nnf_").partition("__")[0])


def run(steps, arrays, threads=1, parts=0):
    """Run steps with arrays[i] as the memory of slot i; outputs are written in place. parts: as those of a Program, of
    a run that could be cancelled.
    """
    program = Program(steps, parts=parts)
    frame = Frame(len(arrays), {}, 0, dict(enumerate(arrays)), program.scratch, threads)
    assert program.run(frame, threads, Cancel() if parts else None) == ("done", len(steps))


def run_all_ways(make_steps, inputs, outputs, level):
    """Run make_steps() at a level with 1, 2 and 3 threads, and in parts: bit-equal results or it fails; returns the
    outputs.

    inputs: arrays of the first slots; outputs: (shape, dtype) of the following ones.
    """
    with at_level(level):
        steps = make_steps()
    results = []
    for threads, parts in ((1, 0), (2, 0), (3, 0), (2, 5)):
        found = [np.full(shape, 77, dtype) for shape, dtype in outputs]
        run(steps, [*(np.ascontiguousarray(x) for x in inputs), *found], threads, parts)
        results.append(found)
    for other in results[1:]:
        for first, second in zip(results[0], other):
            assert first.tobytes() == second.tobytes()
    return results[0]
