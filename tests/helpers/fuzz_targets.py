"""Targets with a finding on purpose, which the processes of nnfast.fuzz load, and a session with a planted bug."""

import os
import time

import pytest

from helpers.planted_bugs import BUGS
from nnfast.fuzz import TARGETS, runner
from nnfast.fuzz.sessions import Session
from nnfast.fuzz.targets import Target

WORD = b"NNF"


class _Seeded:
    """Input "NN" to begin with; what holds "F" behind it is wrong."""

    tell = None

    @staticmethod
    def seeds():
        yield WORD[:2]

    @staticmethod
    def mutate(data, size, random):
        """A letter more now and then."""
        return data + random.choice((b"A", WORD[2:])) if data == WORD[:2] else None

    def one(self, data):
        if self.tell is not None:
            self.tell(f"looks at {len(data)} bytes")
        if data.startswith(WORD):
            self.fail()


class Raises(_Seeded):
    """Raises something."""

    @staticmethod
    def fail():
        raise ValueError("the word is there")


class Dies(_Seeded):
    """Takes the process along."""

    @staticmethod
    def fail():
        os.abort()


class Hangs(_Seeded):
    """Does not end."""

    @staticmethod
    def fail():
        while True:
            time.sleep(1)


class Fine(_Seeded):
    """Has nothing to find."""

    @staticmethod
    def fail():
        """Nothing is wrong."""


class WrongSession(Session):
    """Sessions beside definitions of which one has a zero point off by one."""

    def __init__(self):
        super().__init__()
        BUGS["zero point off by one"].plant(pytest.MonkeyPatch())


def without_atheris(monkeypatch, folder):
    """Have processes of nnfast.fuzz run as if atheris were not installed."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / "atheris.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(modules)


BOOT = """
import runpy
import sys
sys.argv[0] = {boot!r}
main = runpy.run_path({boot!r})["main"]
main.__globals__["COUNTED"] = ("fmq",)
main()
"""


def count_little(monkeypatch, folder):
    """Put counters into few parts of the package: into all of them takes 12 s for each process."""
    (folder / "boot").mkdir()
    (folder / "boot" / "boot.py").write_text(BOOT.format(boot=str(runner.HERE / "boot.py")))
    monkeypatch.setattr(runner, "HERE", folder / "boot")


def plant(monkeypatch, *names):
    """Add targets of this module by the names of their classes."""
    for name in names:
        monkeypatch.setitem(TARGETS, name, Target(f"{__name__}:{name}", "planted", TARGETS["session"].most))
