"""The example programs compile against the library as their reader would compile them, and print what they promise."""

import pytest

from helpers.tree import ROOT

PRINTED = {"add": "11 22 33 44 55 66\n",
           "mobilenet": "nnfast: the left half is brighter (1.000)\nnnfast: the right half is brighter (1.000)\n"}


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples" / "ndk").glob("*.c")))
def test_example(name, program, run):
    assert run(program(ROOT / "examples" / "ndk" / f"{name}.c")) == PRINTED[name]
