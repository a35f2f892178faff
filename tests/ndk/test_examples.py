"""The example programs compile against the library as their reader would compile them, and print what they promise."""

import pytest

from helpers.tree import ROOT

EXAMPLES = ROOT / "examples" / "ndk"
PRINTED = {"add": "11 22 33 44 55 66\n",
           "mobilenet": "nnfast: the left half is brighter (1.000)\nnnfast: the right half is brighter (1.000)\n",
           "fibonacci": "1 1 2 3 5 8 13 21 34 55\n"}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.c")))
def test_example(name, program, run, extended_driver):
    assert run(program(EXAMPLES / f"{name}.c"), socket=extended_driver) == PRINTED[name]


def test_the_extension_is_not_there(program, run):
    assert run(program(EXAMPLES / "fibonacci.c"), code=1) == ""
