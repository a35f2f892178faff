"""One target under libFuzzer, in a process of its own; fuzz.py starts it.

    python -m fuzzing.worker TARGET seeds FOLDER               write the seeds of a target
    python -m fuzzing.worker TARGET fuzz [FLAG...] FOLDER...   libFuzzer with its flags and corpus folders
"""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import atheris

NOT_FUZZED = ("cli", "bench", "conformance", "_native", "__main__", "hal")


def instrumented():
    """Import the package with counters in its functions, those that are imported late included."""
    with atheris.instrument_imports(include=["nnfast"]):
        package = import_module("nnfast")
        for module in walk_packages(package.__path__, "nnfast."):
            if module.name.split(".")[1] not in NOT_FUZZED:
                import_module(module.name)


def main():
    name, act, *rest = sys.argv[1:]
    if act == "fuzz":
        instrumented()
    target = import_module("fuzzing.targets").TARGETS[name]()
    if act == "seeds":
        for number, data in enumerate(target.seeds()):
            Path(rest[0], f"seed{number}").write_bytes(data)
        return
    options = {"custom_mutator": target.mutate} if hasattr(target, "mutate") else {}
    atheris.Setup([sys.argv[0], *rest], target.one, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
