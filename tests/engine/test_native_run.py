"""A run that is all native: no Python inside, no allocation but the arrays it returns."""

import os
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import nnfast
from helpers import models
from helpers.processes import fresh


@pytest.fixture
def chain():
    prepared = nnfast.Device(2).prepare(models.wide_model(4, 32))
    assert prepared.explain().native
    x = np.ones((1, 32, 32, 16), np.float32)
    prepared.run([x])
    return prepared, x


def test_no_python_frame_inside(chain):
    prepared, x = chain
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        prepared.run([x])
    finally:
        sys.setprofile(None)
    assert set(seen) <= {"run", "active_profile"}


def test_large_results_lie_apart_from_inputs(chain):
    """A load waits for stores before it whose addresses differ from its own by a multiple of a page."""
    prepared, x = chain
    memory = np.ones(x.size + 1024, np.float32)
    kept = []
    for start in range(0, 1024, 100):
        kept += prepared.run([memory[start:start + x.size].reshape(x.shape)])
        assert 512 <= (memory[start:].ctypes.data - kept[-1].ctypes.data) % 4096 <= 3584
        assert kept[-1].ctypes.data % 64 == 0


COUNTER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static long calls;
long allocation_calls(void) { return calls; }
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
void *malloc(size_t n) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); return __libc_realloc(p, n); }
"""

PROGRAM = """
import ctypes, sys
import numpy as np
import nnfast
from helpers import models
count = ctypes.CDLL(None).allocation_calls
count.restype = ctypes.c_long
prepared = nnfast.Device(2).prepare(models.wide_model(4, 32))
x, out = np.ones((1, 32, 32, 16), np.float32), [np.empty((1, 32, 32, 16), np.float32)]
inputs = [x]
run = prepared.run
for _ in range(20):
    run(inputs, out)
before = count()
for _ in range(200):
    run(inputs, out)
into = count() - before
before = count()
for _ in range(200):
    run(inputs)
print(into, count() - before)
"""


def test_a_warm_run_allocates_only_what_it_returns(tmp_path):
    if os.environ.get("LD_PRELOAD") or not sysconfig.get_platform().startswith("linux"):
        pytest.skip("another library is preloaded")
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    if subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)],
                      capture_output=True).returncode:
        pytest.skip("no gcc with glibc's malloc names")
    into, returned = map(int, fresh(PROGRAM, LD_PRELOAD=str(library)).split())
    # Python's own small objects come from its arenas; a stray arena in 200 runs is not ours.
    assert into <= 2
    assert returned <= 200 + 2
