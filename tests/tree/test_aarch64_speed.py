"""The hot loops of aarch64 kernels: how they are found in assembly, and that a slow one is told."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers.tree import ROOT

sys.path.insert(0, str(ROOT / "ci"))
import aarch64_loops

MULTIPLY_ADD = re.compile(r"fmla\s")
# Two loops, one in the other, and a second one with fewer multiply-adds; a switch whose cases jump back to common code.
NESTED = """
kernel:
    cbz x0, .L9
    adrp x7, .L4
    br x7
.L1:                      // outer
    mov x3, x1
.L2:                      // inner
    ldr q0, [x2], #16
    cbz x4, .L3
    fmla v1.4s, v0.4s, v2.4s
    fmla v3.4s, v0.4s, v2.4s
.L3:
    fmla v4.4s, v0.4s, v2.4s
    subs x3, x3, #1
    b.ne .L2
    subs x0, x0, #1
    b.ne .L1
    b .L8
.L5:
    fmla v8.4s, v9.4s, v10.4s
    fmla v8.4s, v9.4s, v10.4s
    fmla v8.4s, v9.4s, v10.4s
    fmla v8.4s, v9.4s, v10.4s
    b .L7
.L6:
    fmla v8.4s, v9.4s, v10.4s
    b .L7
.L7:
    b .L8
.L8:
    fmla v5.4s, v6.4s, v7.4s
    subs x5, x5, #1
    b.ne .L8
    b helper
.L9:
    ret
    .size kernel, .-kernel
helper:
.L20:
    add x1, x1, #1
    cmp x1, x2
    bne .L20
    ret
    .size helper, .-helper
"""


def test_the_inner_loop_with_the_most_multiply_adds_is_hot():
    functions = aarch64_loops.functions(NESTED)
    assert sorted(functions) == ["helper", "kernel"]
    one = aarch64_loops.hot_round(functions, "kernel", MULTIPLY_ADD)
    assert one.function == "kernel" and len(one.needed) == 3
    assert one.lines[0] == "ldr q0, [x2], #16" and one.lines[-1] == "b.ne .L2"


def test_a_round_that_branches_is_its_fullest_way():
    longer = NESTED.replace("cbz x4, .L3", "cbz x4, .L3\n    cbz x5, .L30").replace("\n.L3:", "\n.L30:\n    nop\n.L3:")
    one = aarch64_loops.hot_round(aarch64_loops.functions(longer), "kernel", MULTIPLY_ADD)
    assert len(one.needed) == 3 and "nop" in one.lines  # a round by .L3 has none of the two, one by .L30 neither
    shorter = longer.replace("    fmla v3.4s, v0.4s, v2.4s\n", "    fmla v3.4s, v0.4s, v2.4s\n    b .L3\n")
    one = aarch64_loops.hot_round(aarch64_loops.functions(shorter), "kernel", MULTIPLY_ADD)
    assert len(one.needed) == 3 and "nop" not in one.lines


def test_loops_of_called_functions_count():
    one = aarch64_loops.hot_round(aarch64_loops.functions(NESTED), "kernel", re.compile(r"add\s"))
    assert one.function == "helper" and len(one.lines) == 3


def test_loops_of_functions_whose_address_is_taken_count():
    address = "    adrp x0, helper\n    add x0, x0, :lo12:helper\n    b elsewhere\n"
    by_address = NESTED.replace("    b helper\n", address)
    one = aarch64_loops.hot_round(aarch64_loops.functions(by_address), "kernel", re.compile(r"add\s+x1"))
    assert one is not None and one.function == "helper" and len(one.lines) == 3


def test_of_several_loops_the_one_that_holds_an_instruction_is_taken():
    functions = aarch64_loops.functions(NESTED)
    one = aarch64_loops.hot_round(functions, "kernel", MULTIPLY_ADD, re.compile(r"fmla v5"))
    assert len(one.needed) == 1 and "fmla v5.4s, v6.4s, v7.4s" in one.lines
    assert aarch64_loops.hot_round(functions, "kernel", MULTIPLY_ADD, re.compile(r"smlal")) is None


def test_a_kernel_without_such_a_loop_has_no_round():
    assert aarch64_loops.hot_round(aarch64_loops.functions(NESTED), "helper", MULTIPLY_ADD) is None


def speed(*arguments, **environment):
    return subprocess.run([sys.executable, "ci/aarch64_speed.py", *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})


def test_without_llvm_mca_it_says_so(tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho aarch64-linux-gnu\n")
    compiler.chmod(0o755)
    done = speed(PATH=str(tmp_path), CC="cc")
    assert done.returncode == 0 and "no llvm-mca" in done.stdout and "skipped" in done.stdout


def test_a_compiler_that_is_not_there_is_one_line():
    done = speed(CC="nowhere-gcc -O2")
    assert done.returncode == 1 and done.stderr.startswith("CC=nowhere-gcc -O2: no such program")


def test_a_compiler_for_another_processor_is_one_line():
    done = speed(CC=f"{sys.executable} -c print('x86_64-linux-gnu')")
    if "no llvm-mca" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 2 and "builds for x86_64" in done.stderr.splitlines()[-1]


def test_a_name_that_no_kernel_has_is_one_line():
    done = speed("--kernel", "conv9d", CC=f"{sys.executable} -c print('aarch64-linux-gnu')")
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith("without it all are shown")


def test_a_share_that_is_too_low_fails():
    compiler = "aarch64-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    named = ("--kernel", "gemv_f32_tile")
    done = speed(*named, CC=compiler)
    if "no llvm-mca" in done.stdout:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout
    assert "0 shares too low" in done.stdout and "gemv_f32_tile__neon_1x32" in done.stdout
    low = speed(*named, "--share", "1.01", CC=compiler)
    assert low.returncode == 1 and "must be 101%" in low.stdout
