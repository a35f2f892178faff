"""The whole benchmark: every model on its data, beside a baseline, with a verdict each."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from math import prod

import numpy as np

from ... import Device
from ..._native import kernels
from ...batch.image import CHANNELS
from ...checks import counted
from ...conformance.litert.compare import BOUND
from ...conformance.verdict import describe
from ...errors import DeadObject, InvalidArgument
from ..levels import at_level
from ..timing import Contestant, take_turns
from . import compilation
from .baseline import run_all
from .driver import inputs_of
from .evaluators import FRAME, MelCepLogF0, PhoneErrorRate, TopK, against
from .latency import Latency
from .loop import walk
from .pictures import Pictures
from .sequences import from_pair, from_pictures

GOOD, FAILED, SKIPPED = "good", "failed", "skipped"
WARM_UP = 0.2
"""Share of the seconds that a model runs before its times count."""
SHOWN = 3
"""Problems of a kind that a result lists; the rest is counted."""


@dataclass(frozen=True)
class Options:
    """seconds: of timed runs of a model, at least, an eighth of it for each kind of compilation and half for all
    levels; limit: photos or sequences of each model at most; levels: time every instruction level too."""

    seconds: float = 1.0
    limit: int | None = None
    levels: bool = False


@dataclass(slots=True)
class Beside:
    """A baseline on the same inputs. name: whose kernels; values: of the evaluator; difference: evaluators.Golden of
    our outputs from its; latency: of its steps. reason: why there is none of all this, or ""."""

    name: str = ""
    values: dict = field(default_factory=dict)
    difference: object = None
    latency: Latency | None = None
    reason: str = ""


@dataclass(slots=True)
class Result:
    """What came of an Entry.

    problems: a line each, for which it fails; skipped: why it did not run, or ""; unit: what a sequence is; quantized:
    whether outputs are codes; evaluator: a member of `evaluators` or None; values: of it; golden: evaluators.Golden or
    None; beside: Beside or None; compilation: compilation.Compilation or None; levels: {level: Latency}.
    """

    entry: object
    problems: list = field(default_factory=list)
    skipped: str = ""
    unit: str = "sequences"
    quantized: bool = False
    sequences: int = 0
    steps: int = 0
    latency: Latency | None = None
    values: dict = field(default_factory=dict)
    golden: object = None
    beside: Beside | None = None
    compilation: object = None
    levels: dict = field(default_factory=dict)
    evaluator: object = None
    # The work, let go of at the end:
    outputs: list = field(default_factory=list)
    make: object = None

    @property
    def verdict(self):
        return FAILED if self.problems else SKIPPED if self.skipped else GOOD


class Suite:
    """Runs entries on a Driver. baseline: a member of `baseline`, or None."""

    def __init__(self, driver, options=None, baseline=None):
        self.driver, self.options, self.baseline = driver, options or Options(), baseline
        self._pictures = {}

    def run(self, entries, progress=lambda done, total, note="": None):
        """A Result for each entry; what goes wrong with one is in its problems. progress: of cli.output.progress."""
        total = len(entries) * (1 if self.baseline is None else 2)
        results = []
        for place, entry in enumerate(entries):
            progress(place, total, entry.name)
            result = Result(entry)
            results.append(result)
            with guarded(result):
                self._measure(result)
        if self.baseline is not None:
            # The longest first: none of them is left alone on one processor at the end.
            ran = sorted((result for result in results if result.outputs), key=_cost, reverse=True)
            jobs = [(result.entry.model, result.make) for result in ran]
            found = run_all(self.baseline, jobs, lambda done, _, note: progress(len(entries) + done, total, note))
            for result, answer in zip(ran, found):
                with guarded(result):
                    _judge(result, answer)
        for result in results:
            result.outputs, result.make = [], None
        return results

    def _measure(self, result):
        entry, options = result.entry, self.options
        if entry.problem:
            raise InvalidArgument(entry.problem)
        model = self.driver.load(entry.model)
        shapes = _fit(model, entry)
        if self.driver.via == "burst" and model.states:
            result.skipped = "a burst carries no state from step to step; use --via local or service"
            return
        runner = self.driver.runner(model, shapes)
        try:
            self._run(result, runner)
        finally:
            runner.close()
        result.compilation = compilation.measure(self.driver.device, model, shapes, options.seconds / 8)
        result.problems += result.compilation.problems
        if options.levels and self.driver.via == "local":
            x = result.make()[0].inputs[0]
            result.levels = time_levels(model, shapes, self.driver.num_threads, x, options.seconds / 2)

    def _run(self, result, runner):
        entry, options = result.entry, self.options
        info, = runner.inputs
        result.quantized = runner.outputs[0].dtype.kind != "f"
        result.make = self._maker(result, info, runner.outputs)
        sequences = result.make()
        result.evaluator = _evaluator(entry, sequences, runner.outputs[0], options.limit is None)
        result.sequences = len(sequences)
        walk(runner, sequences, WARM_UP * options.seconds)
        times, result.outputs = walk(runner, sequences, options.seconds, len(sequences), len(sequences))
        result.steps = sum(len(values[0]) for values in result.outputs)
        result.latency = Latency.of(times)
        outputs = stacked(result.outputs)
        if result.evaluator is not None:
            golden = [] if entry.photos else [sequence.golden[0] for sequence in sequences]
            result.values, problems = result.evaluator([values[0] for values in outputs], golden)
            result.problems += _few(problems)
        if entry.pairs:
            if entry.photos is not None:
                sequences = self._golden_sequences(entry, info, runner.outputs)
                outputs = stacked(walk(runner, sequences, 0, len(sequences), len(sequences))[1])
            if sequences[0].golden:
                result.golden = against(outputs, [sequence.golden for sequence in sequences])
                _tell(result, result.golden, "what is expected", "sequences")

    def _maker(self, result, info, outputs):
        """Function that makes the sequences of an entry, anew each time: together they may be large."""
        entry = result.entry
        if entry.photos is None:
            return partial(self._golden_sequences, entry, info, outputs)
        if len(info.shape) != 4 or info.shape[0] != 1 or info.shape[3] not in CHANNELS:
            raise InvalidArgument(f"{entry.model}: its input has shape {list(info.shape)}, photos need [1, height, "
                                  "width, 1 or 3]")
        pictures = self._photos(entry.photos, info.shape[3])
        result.unit = "photos"
        result.problems += _few(pictures.problems)
        classes, labels = prod(outputs[0].shape), pictures.labels
        if labels is not None and len(labels) != classes:
            raise InvalidArgument(f"{entry.photos.labels}: has {len(labels)} labels, the model has {classes} classes")
        if max(pictures.classes) >= classes:
            raise InvalidArgument(f"{entry.photos.truth}: has class {max(pictures.classes)}, the model has {classes} "
                                  "classes")
        scale = info.scale if entry.input_scale is None else entry.input_scale
        zero_point = info.zero_point if entry.input_zero_point is None else entry.input_zero_point
        return partial(from_pictures, pictures, info, scale, zero_point)

    def _photos(self, photos, channels):
        """Pictures of a data set, decoded at its first model; what was wrong then is told of each model."""
        key = photos, channels
        if key not in self._pictures:
            try:
                self._pictures[key] = Pictures(photos, channels, self.options.limit)
            except InvalidArgument as error:
                self._pictures[key] = error
        if isinstance(self._pictures[key], InvalidArgument):
            raise self._pictures[key]
        return self._pictures[key]

    def _golden_sequences(self, entry, info, outputs):
        return [from_pair(pair, info, outputs) for pair in entry.pairs[:self.options.limit]]


@contextmanager
def guarded(result):
    """Makes what a model raises a problem of its Result, so that the others go on."""
    try:
        yield
    except DeadObject as error:
        result.problems.append(f"the driver's process ended: {error}")
    except InvalidArgument as error:
        result.problems.append(str(error))
    except OSError as error:
        result.problems.append(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:  # a driver bug; the other models go on
        result.problems.append(describe(error))


def _fit(model, entry):
    """Shapes to prepare a model with, as nnfast.Device.prepare takes them, or None; raises InvalidArgument where it
    does not fit its entry."""
    inputs = inputs_of(model)
    if len(inputs) != 1:
        raise InvalidArgument(f"{entry.model}: has {counted(len(inputs), 'input')}, must have one")
    operand = inputs[0]
    size, dims = entry.input_size, operand.dims
    if len(size) != len(dims) or any(dim not in (0, want) for dim, want in zip(dims, size)):
        raise InvalidArgument(f"{entry.model}: its input has shape {list(dims)}, inputSize is {list(size)}")
    if np.dtype(operand.dtype).itemsize != entry.data_size:
        raise InvalidArgument(f"{entry.model}: its input is {np.dtype(operand.dtype)}, dataSize is {entry.data_size}")
    return {0: size} if 0 in dims else None


def _cost(result):
    """Milliseconds of a model on all its data, at the median of its steps."""
    return result.steps * result.latency.percentile(50)


def _evaluator(entry, sequences, output, whole):
    """The evaluator of an entry, or None. whole: all data runs: what was published is no limit for a part of it."""
    if entry.evaluator is None:
        return None
    if entry.evaluator == "TopK":
        if entry.photos is None:
            raise InvalidArgument(f"{entry.name}: TopK needs a dataset")
        return TopK(tuple(sequence.true for sequence in sequences), entry.expected_top1 if whole else None)
    if entry.photos or not all(sequence.golden for sequence in sequences):
        raise InvalidArgument(f"{entry.name}: {entry.evaluator} needs expected outputs")
    if entry.evaluator == "PhoneErrorRate":
        return PhoneErrorRate()
    values, pairs = prod(output.shape), None
    if entry.mean_std is not None:
        pairs = np.fromfile(entry.mean_std, "<f4")
        if pairs.size != 2 * values:
            raise InvalidArgument(f"{entry.mean_std}: has {pairs.size} values, must have 2 for each of {values} "
                                  "outputs")
        pairs = pairs.reshape(-1, 2)
    if values % FRAME:
        raise InvalidArgument(f"{entry.model}: has {counted(values, 'output')}, MelCepLogF0 needs frames of {FRAME}")
    return MelCepLogF0(pairs)


def stacked(outputs):
    """Outputs of loop.walk as arrays [steps, values]."""
    return [[np.stack(steps) for steps in values] for values in outputs]


def _judge(result, answer):
    """Fill in `beside` from an answer of baseline.run_all."""
    if isinstance(answer, str):
        result.beside = Beside(reason=answer)
        return
    times, outputs, name = answer
    ours, theirs = stacked(result.outputs), stacked(outputs)
    result.beside = beside = Beside(name, latency=Latency.of(times))
    if result.evaluator is not None:
        golden = [] if result.entry.photos else [sequence.golden[0] for sequence in result.make() if sequence.golden]
        beside.values, _ = result.evaluator([values[0] for values in theirs], golden)
    beside.difference = against(ours, theirs)
    _tell(result, beside.difference, f"those of {name}", result.unit)


def _tell(result, difference, whom, unit):
    """Add a problem where outputs are not those of somebody: codes must be equal, floats within the bound."""
    if result.quantized:
        if difference.equal < difference.sequences:
            result.problems.append(f"outputs are not {whom} on {difference.sequences - difference.equal} of "
                                   f"{difference.sequences} {unit}, by up to {difference.largest:.0f} codes")
    elif not difference.relative <= BOUND:
        result.problems.append(f"outputs are not {whom}: they differ by up to {difference.relative:.2g} of the largest "
                               f"value, must be at most {BOUND:g}")


def _few(problems):
    """The first lines of many."""
    more = len(problems) - SHOWN
    return [*problems[:SHOWN], f"and {more} more"] if more > 0 else problems


def time_levels(model, shapes, threads, x, seconds):
    """{instruction level: Latency} of one step, lowest level first; the levels take turns."""
    known, top, contestants = kernels.levels(), kernels.level(), []
    for level in known[:known.index(top) + 1] if top in known else known:
        with at_level(level):
            prepared = Device(num_threads=threads).prepare(model, input_shapes=shapes)
        contestants.append(Contestant(level, partial(prepared.run, [x])))
    take_turns(contestants, runs=None if seconds else 1, seconds=seconds / len(contestants), at_least=2)
    return {c.name: Latency(np.array(c.times_ms)) for c in contestants}
