"""One target in a process of its own, which boot.py begins. PLACE: that of a Target.

    PLACE seeds FOLDER              write the seeds of a target, where they are not there yet
    PLACE fuzz [FLAG...] FOLDER     libFuzzer with its flags and a corpus folder; without atheris the same by chance
    PLACE replay -timeout=N FILE... one input after the other, telling what it does; each has N seconds
"""

import faulthandler
import sys
from pathlib import Path
from random import Random

from .chance import fuzz_by_chance, mutated
from .targets import load


def main(arguments, atheris):
    """Entry point; atheris: the module or None."""
    place, act, *rest = arguments
    target = load(place)
    if atheris is None or act != "fuzz":
        faulthandler.enable()  # libFuzzer has handlers of its own, unless there are others
    if act == "seeds":
        for number, data in enumerate(target.seeds()):
            Path(rest[0], f"seed{number}").write_bytes(data)
    elif act == "replay":
        target.tell = lambda text: print(f"  {text}", flush=True)
        patience = int(rest[0].removeprefix("-timeout="))
        for path in rest[1:]:
            print(f"{Path(path).name}: {Path(path).stat().st_size} bytes", flush=True)
            faulthandler.dump_traceback_later(patience, exit=True)
            target.one(Path(path).read_bytes())
        faulthandler.cancel_dump_traceback_later()
    elif atheris is None:
        fuzz_by_chance(target, rest)
    else:
        _fuzz(target, rest, atheris)


def _fuzz(target, flags, atheris):
    def mutate(data, size, seed):
        return mutated(target, bytes(data), size, Random(seed), atheris.Mutate)

    options = {"custom_mutator": mutate} if hasattr(target, "mutate") else {}
    atheris.Setup([sys.argv[0], *flags], lambda data: target.one(bytes(data)), **options)
    atheris.Fuzz()
