"""What counts instructions under an emulator: where blocks lie, and what it refuses. Counting itself needs a wheel."""

import subprocess
import sys

from helpers.tree import ROOT

sys.path.insert(0, str(ROOT / "ci"))
import aarch64_instructions

MAPS = """\
00400000-00500000 r-xp 00000000 00:01 1 /usr/bin/python3
7f0000000000-7f0000010000 r--p 00000000 00:01 2 /site/kernels.so
7f0000020000-7f0000090000 r-xp 00010000 00:01 2 /site/kernels.so
7f0000100000-7f0000200000 rw-p 00000000 00:00 0
"""


def test_blocks_are_counted_by_the_address_in_their_file():
    blocks = "7f0000020010 5 100\n7f0000020010 5 1\n7f0000100000 3 2\n400008 2 7\n10 1 1\n"
    found = aarch64_instructions.by_place(blocks, MAPS)
    assert found == {("/site/kernels.so", 0x20010): 505, ("", 0x7f0000100000): 6, ("/usr/bin/python3", 8): 14,
                     ("", 0x10): 1}


def test_functions_are_named_by_the_symbol_before(monkeypatch):
    monkeypatch.setattr(aarch64_instructions, "symbols_of", lambda file: [(0x100, "first"), (0x20000, "hot")])
    file = "/site/kernels.so"
    places = {(file, 0x20010): 505, (file, 0x20000): 1, (file, 8): 2, ("", 9): 3}
    assert aarch64_instructions.functions_of(places) == {"hot kernels.so": 506, "? kernels.so": 2, "? ": 3}


def test_the_plugin_compiles_without_warnings(tmp_path):
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "blocks.so",
                    ROOT / "ci/qemu_blocks.c"], check=True)


def refused(*arguments):
    done = subprocess.run([sys.executable, "ci/aarch64_instructions.py", *arguments], cwd=ROOT, capture_output=True,
                          text=True)
    assert done.returncode == 2
    return done.stderr.splitlines()[-1]


def test_what_is_no_wheel_for_aarch64_is_one_line(tmp_path):
    wheel = tmp_path / "nnfast-0.2.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    assert "no such file" in refused(str(wheel), "pyproject.toml")
    for name in (wheel.name, "nnfast_aarch64.whl"):
        (tmp_path / name).touch()
        assert "must be a wheel for aarch64; bash ci/build_wheels.sh" in refused(str(tmp_path / name), "pyproject.toml")
