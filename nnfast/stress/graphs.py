"""Random graphs (nnfast/conformance/randgraph), one after the other."""

import time

import numpy as np

from ..conformance.judge import DIFFERS, judge
from ..conformance.randgraph import draw_case
from ..errors import Error, InvalidArgument
from .outcome import Failure, reason_of
from .workers import chance_of

PAUSE_SECONDS = 0.3
MOST_SEED = 1 << 32


def work_on_graphs(report, name, paths, seed, way, size, is_executed, seconds):
    """Draw, compile and, where asked for, execute graphs of a size for so long, one at least. Returns counts.

    paths: not used; size: of randgraph.SIZES. Raises Failure for a graph that the driver claims to support and does not
    compile or execute, and for one whose outputs are not what the definitions compute.
    """
    chance, device = chance_of(seed, name), way.open()
    draw_case(0, size)  # reads the tables
    report.begin()
    until, counts = time.monotonic() + seconds, {"graphs": 0, "refused": 0}
    while time.monotonic() < until or not any(counts.values()):
        drawn = chance.randrange(MOST_SEED)
        try:
            case = draw_case(drawn, size)
        except InvalidArgument:
            continue
        if not all(device.supported_operations(case.model)):
            counts["refused"] += 1
            continue
        try:
            problem = _problem(device, case, is_executed)
        except Error as error:
            problem = reason_of(error)
        if problem:
            raise Failure(f"{problem}; nnfast randgraph --seed {drawn} --ops {size} draws the same graph")
        counts["graphs"] += 1
        time.sleep(PAUSE_SECONDS)
    device.close()
    return counts


def _problem(device, case, is_executed):
    """What is wrong with a graph, or ""."""
    if not is_executed:
        device.prepare(case.model).close()
        return ""
    verdict, text = judge(case, _outputs(device, case), lambda shown: _outputs(device, shown))
    return text if verdict == DIFFERS else ""


def _outputs(device, case):
    with device.prepare(case.model) as prepared:
        return [np.asarray(array) for array in prepared.run(list(case.inputs))]
