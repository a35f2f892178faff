"""What a device reports about its speed [NN 1.8]: measured once per machine, constant from then on.

`nnfast info --calibrate` (bench/calibration.py) measures and stores a file; a process reads it at the first query.
Without a file for this driver, level and processor every value is 1.0: by definition the speed of a CPU.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import threading

from .. import config, vlog
from .._native import kernels
from ..errors import InvalidArgument
from ..forks import importing, renewed
from ..model.types import DTYPES, OperandType
from ..record import record

FORMAT = 1
OTHERS = ("relaxed_scalar", "relaxed_tensor", "branch", "loop")
"""Names of the performance values that do not belong to an operand type."""

_NO_OPERANDS = (OperandType.SUBGRAPH, OperandType.OEM, OperandType.TENSOR_OEM_BYTE)
OPERANDS = tuple(sorted(kind for kind in DTYPES if kind not in _NO_OPERANDS))
"""Operand types that have a performance value, ascending."""

_lock = renewed(threading.Lock())
_answers = {}


@record(frozen=True, slots=True)
class Performance:
    """Execution time and power of a workload relative to the reference CPU: 1.0 = the same, lower is better."""

    time: float
    power: float


@record(frozen=True, slots=True)
class Capabilities:
    """Performance per operand type (ascending), of relaxed float32 on scalars and tensors, and of one IF and WHILE.

    source: path of the file with the measured numbers, "" if nothing was measured. digest: of these numbers, or "".
    """

    operands: dict
    relaxed_scalar: Performance
    relaxed_tensor: Performance
    branch: Performance
    loop: Performance
    source: str = ""

    @property
    def digest(self) -> str:
        if not self.source:
            return ""
        pairs = [(int(kind), *_pair(info)) for kind, info in self.operands.items()]
        text = repr([pairs, [_pair(getattr(self, name)) for name in OTHERS]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


_AS_REFERENCE = Performance(1.0, 1.0)


def capabilities() -> Capabilities:
    """Capabilities of this process's devices at the current instruction level: the same on every call.

    A calibration by another process is seen only by processes that start after it.
    """
    level = kernels.level()
    with _lock:
        if level not in _answers:
            _answers[level] = _read(path_of(level)) or Capabilities(
                dict.fromkeys(OPERANDS, _AS_REFERENCE), *[_AS_REFERENCE] * len(OTHERS))
        return _answers[level]


def device_version() -> str:
    """Version string of a device [NN 3.4]: the driver's version, the instruction level and the calibration's digest.

    Equal version strings mean equal capabilities, in any two processes.
    """
    with importing:
        from .cache_files import version_string

    return f"{version_string()} {kernels.level()} {capabilities().digest or 'uncalibrated'}"


def store(operands, others):
    """Store measured numbers for the current level and use them from now on; returns the path of the file.

    operands: {operand type: Performance} of all OPERANDS; others: {name: Performance} of OTHERS.
    """
    level = kernels.level()
    path = path_of(level)
    document = {"format": FORMAT, **_identity(level),
                "operands": {OperandType(kind).name: _pair(operands[kind]) for kind in OPERANDS},
                **{name: _pair(others[name]) for name in OTHERS}}
    _parse(document, level, path)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=1)
        stream.write("\n")
    os.replace(fresh, path)
    with _lock:
        _answers.pop(level, None)
    return path


def path_of(level):
    """File with the numbers of a level."""
    return os.path.join(config.data_folder(), f"capabilities_{level}.json")


def processor(path="/proc/cpuinfo"):
    """Name of the processor."""
    try:
        with open(path, encoding="utf-8") as lines:
            found = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()


def _identity(level):
    """What measured numbers are valid for."""
    with importing:
        from .cache_files import version_string

    return {"driver": version_string(), "level": level, "processor": processor()}


def _pair(performance):
    return [performance.time, performance.power]


def _read(path):
    """Capabilities from a file, or None if there is no file that is valid here."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
        return _parse(document, kernels.level(), path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:  # InvalidArgument is a ValueError
        vlog.log(vlog.DRIVER, "capabilities: %s is not used: %s", path, error)
        return None


def _parse(document, level, path):
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidArgument(f"format must be {FORMAT}")
    for name, wanted in _identity(level).items():
        if document.get(name) != wanted:
            raise InvalidArgument(f"it was measured with another {name}: {document.get(name)}")
    operands = document.get("operands")
    names = [OperandType(kind).name for kind in OPERANDS]
    if not isinstance(operands, dict) or operands.keys() != set(names):
        raise InvalidArgument(f"operands must be {', '.join(names)}")
    return Capabilities({kind: _performance(name, operands[name]) for kind, name in zip(OPERANDS, names)},
                        *(_performance(name, document.get(name)) for name in OTHERS), path)


def _performance(name, pair):
    if not isinstance(pair, list) or len(pair) != 2 or not all(
            isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value) and value > 0
            for value in pair):
        raise InvalidArgument(f"{name} is {pair}, must be two positive numbers")
    return Performance(*map(float, pair))
