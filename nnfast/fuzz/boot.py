"""What the runner starts as a process: counters go into the functions of the package while it is imported.

    python boot.py PATHS PLACE ACT [ARGUMENT...]    PATHS: sys.path as JSON; the rest: as for worker.main

This file is run by its path: importing it as a part of the package would import the package without counters.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

COUNTED = ("compiler", "driver", "engine", "fmq", "hal", "model", "ops", "service", "tflite")
"""Parts whose functions get counters, with the modules at the top."""


def import_with_counters(atheris):
    """Import the package, what is imported late included."""
    with atheris.instrument_imports(include=["nnfast"]):
        package = import_module("nnfast")
        for name in COUNTED:
            for path in package.__path__:
                import_module(f"nnfast.{name}")
                for module in walk_packages([str(Path(path, name))], f"nnfast.{name}."):
                    import_module(module.name)


def main():
    sys.path[:] = json.loads(sys.argv.pop(1))
    try:
        import atheris
    except ImportError:
        atheris = None
    if atheris is not None and sys.argv[2] == "fuzz":
        import_with_counters(atheris)
    import_module("nnfast.fuzz.worker").main(sys.argv[1:], atheris)


if __name__ == "__main__":
    main()
