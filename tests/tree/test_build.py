"""The build as a program: what its own processes do."""

from helpers.processes import fresh
from helpers.tree import ROOT


def test_processes_that_are_not_forked_may_import_setup():
    """Cython translates in several processes; from Python 3.14 on each imports the main program first."""
    fresh("import runpy, sys; runpy.run_path(sys.argv[1], run_name='__mp_main__')", str(ROOT / "setup.py"))
