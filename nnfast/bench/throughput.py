"""Items per second of a model, in batches and by several clients at once, beside LiteRT and ONNX Runtime with the same,
and OpenVINO with its hint for throughput."""

import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat

import numpy as np

from ..driver.batches import batched
from ..driver.execution import NO_LIMITS
from . import peers
from .timing import Contestant, take_turns

BATCHES = (1, 2, 4, 8, 16, 32)
TURN_SECONDS = 0.1
"""A contestant gets as many items at a time as take about so long."""
MOST_EXECUTIONS = 1 << 20


@dataclass
class Row:
    """What was measured. clients: executions at once, each of `threads`; count: executions in a turn; rates: items per
    second, turn by turn."""

    engine: str
    batch: int
    clients: int
    threads: int
    count: int
    rates: list = field(default_factory=list)

    def summary(self):
        """Plain values: median and best rate, spread of the middle half in percent of the median."""
        rates = sorted(self.rates)
        median = statistics.median(rates)
        low, _, high = statistics.quantiles(rates, n=4, method="inclusive") if len(rates) > 1 else rates * 3
        return {"engine": self.engine, "batch": self.batch, "clients": self.clients, "threads": self.threads,
                "items_per_second": median, "best": rates[-1], "spread_percent": 100 * (high - low) / median,
                "turns": len(rates)}


def ways(threads):
    """[(clients, threads of each)] to use so many threads: from one client with all to one for each."""
    return sorted({(clients, threads // clients) for clients in (1, 2, threads // 2, threads)
                   if clients and threads % clients == 0})


def measure(path, prepared, inputs, turns=5, batches=BATCHES, progress=None):
    """([Row], notes): nnfast, first by one client of one thread, and, where they are installed, LiteRT, ONNX Runtime
    (if there is a conversion of the model, see peers.onnx_file) and OpenVINO with its hint for throughput, in turns.

    prepared: the model, whose nnfast.Model is kept, on all threads; inputs: of one item.
    progress(done, total): called after each turn.
    """
    threads, notes, contestants = prepared.num_threads, [], []
    found = {"LiteRT": peers.find(), "ONNX Runtime": peers.find_onnxruntime(), "OpenVINO": peers.find_openvino()}
    notes += [f"{name} is not installed" for name, module in found.items() if module is None]
    others = {"LiteRT": _litert, "ONNX Runtime": _onnxruntime, "OpenVINO": _openvino}
    others = {name: others[name] for name, module in found.items() if module is not None}
    if "ONNX Runtime" in others and peers.onnx_file(path) is None:
        del others["ONNX Runtime"]
        notes.append("ONNX Runtime has no .onnx of the model's name to run")
    made = []
    narrow = prepared.narrowed(1)
    if narrow is not prepared:  # what the others are multiples of
        made.append(narrow)
        contestants.append(_contestant("nnfast", 1, 1, 1, _mapped(narrow, inputs, 1)))
    for batch in batches:
        wide, values = prepared, inputs
        if batch > 1:
            several, reason = batched(prepared, prepared, batch, NO_LIMITS)
            if several is None:
                notes.append(f"no batches: {reason}")
                break
            wide, values = several.prepared, [np.concatenate([array] * batch) for array in inputs]
            made.append(wide)
        for clients, each in ways(threads):
            contestants.append(_contestant("nnfast", batch, clients, each, _mapped(wide, values, clients)))
        for name in list(others):
            try:
                contestants += others[name](path, values, batch, threads)
            except (RuntimeError, ValueError) as error:
                notes.append(f"{name} does not run batches of {batch}: {' '.join(str(error).split())}")
                del others[name]
    take_turns([contestant for _, contestant in contestants], turns, progress=progress)
    for row, contestant in contestants:
        row.rates = [1e3 * row.count * row.batch / spent for spent in contestant.times_ms]
    for wide in made:
        wide.close()
    return [row for row, _ in contestants], notes


def _contestant(engine, batch, clients, threads, run):
    """(Row, Contestant) of run(count), which makes so many executions: as many in a turn as take TURN_SECONDS."""
    row = Row(engine, batch, clients, threads, count=clients)
    while True:
        trial = Contestant(engine, partial(run, row.count))
        take_turns([trial], 1)
        if trial.times_ms[0] >= 1e3 * TURN_SECONDS / 2 or row.count >= MOST_EXECUTIONS:
            return row, Contestant(engine, partial(run, row.count))
        row.count *= 2


def _mapped(prepared, values, clients):
    def run(count):
        for _ in prepared.map(repeat(values, count), clients=clients):
            pass

    return run


def _litert(path, values, batch, threads):
    """LiteRT: an interpreter for each client, which share the executions."""
    return [_clients(peers.LiteRT, path, values, batch, clients, each) for clients, each in ways(threads)]


def _onnxruntime(path, values, batch, threads):
    """ONNX Runtime: a session for each client."""
    file = peers.onnx_file(path)
    return [_clients(peers.OnnxRuntime, file, values, batch, clients, each) for clients, each in ways(threads)]


def _openvino(path, values, batch, threads):
    engine = peers.OpenVINO(path, threads, [array.shape for array in values])
    clients = engine.requests
    return [_contestant(engine.name, batch, clients, max(1, threads // clients), partial(engine.run_many, values))]


def _clients(engine, path, values, batch, clients, threads):
    engines = [engine(path, threads, [array.shape for array in values]) for _ in range(clients)]
    engines[0].run(values)  # raises: it does not run this
    pool = ThreadPoolExecutor(clients)

    def runs(engine, count):
        for _ in range(count):
            engine.run(values)

    def run(count):
        list(pool.map(runs, engines, [count // clients] * clients))

    return _contestant(engines[0].name, batch, clients, threads, run)
