"""Others on the same inputs: LiteRT's reference kernels, or the scalar kernels that define nnfast's own."""

import os
from concurrent.futures import ThreadPoolExecutor

from ... import Device, load
from ...conformance.litert.peer import Peer
from ...conformance.verdict import describe
from ...errors import InvalidArgument
from ...tflite.reader import ModelFile
from ..levels import at_level
from .driver import Runner, inputs_of
from .loop import walk

CHUNK_BYTES = 64 << 20
"""Inputs that a process of LiteRT gets at once."""


class LiteRT:
    """LiteRT's reference kernels in processes of their own, as many at a time as there are processors. python: as of
    conformance.litert.peer.Peer."""

    def __init__(self, python=None):
        self._python = python
        self.workers = os.cpu_count() or 1

    def run(self, path, sequences):
        """(seconds of each step, outputs as of loop.walk, whose kernels ran). Raises InvalidArgument where LiteRT is
        not there, or does not run the model."""
        graph = ModelFile(path).graph(0)
        source, = graph.inputs
        peer, times, outputs = Peer(self._python), [], []
        for part in _chunks(sequences):
            calls, starts = [], []
            for sequence in part:
                starts.append(len(calls))
                calls += [{source: x} for x in sequence.inputs]
            found = peer.run(path, calls, graph.outputs, preserve=False, starts=starts)
            times += peer.seconds
            for sequence, start in zip(part, starts):
                steps = found[start:start + len(sequence.inputs)]
                outputs.append([[step[tensor].reshape(-1) for step in steps] for tensor in graph.outputs])
        return times, outputs, f"{peer.version}, {peer.resolver}"


class Reference:
    """The scalar kernels, which define every other one, in this process."""

    workers = 1

    def __init__(self, threads=None):
        self._device = Device(num_threads=threads)

    def run(self, path, sequences):
        """As LiteRT.run."""
        model = load(path)
        shapes = {0: sequences[0].inputs.shape[1:]} if 0 in inputs_of(model)[0].dims else None
        with at_level("scalar"):
            prepared = self._device.prepare(model, input_shapes=shapes)
        with prepared:
            return *walk(Runner(prepared, bool(model.states)), sequences, at_least=len(sequences),
                         keep=len(sequences)), "scalar kernels"


def run_all(baseline, jobs, progress=lambda done, total, note="": None):
    """[result of `run`, or the text of what went wrong] for jobs, each a path and a function that gives sequences."""
    done = []

    def one(job):
        path, sequences = job
        try:
            found = baseline.run(path, sequences())
        except InvalidArgument as error:
            found = str(error)
        except Exception as error:  # of the baseline, whatever it is: the other models go on
            found = describe(error)
        done.append(path)
        progress(len(done), len(jobs), os.path.basename(path))
        return found

    with ThreadPoolExecutor(baseline.workers) as pool:
        return list(pool.map(one, jobs))


def _chunks(sequences):
    """Lists of consecutive sequences whose inputs are not too large together."""
    part, size = [], 0
    for sequence in sequences:
        if part and size + sequence.inputs.nbytes > CHUNK_BYTES:
            yield part
            part, size = [], 0
        part.append(sequence)
        size += sequence.inputs.nbytes
    yield part
