"""Measures nnfast/bench/peers.py, nnfast/bench/timing.py: models in turns with LiteRT, where it is installed."""

import nnfast
from nnfast.bench import peers
from nnfast.bench.timing import Contestant, take_turns

from . import common


class AgainstLiteRT:
    """How many times as long LiteRT takes; both in turns, so that what slows the machine slows both."""

    params = (common.MODEL_NAMES, [1, 2])
    param_names = ("model", "threads")
    unit = "x"

    def setup(self, model, threads):
        if peers.find() is None:
            raise NotImplementedError("LiteRT is not installed")
        path = common.model_path(model)
        self.inputs = [common.model_input(model)]
        self.prepared = nnfast.Device(num_threads=threads).prepare(nnfast.load(path))
        self.out = self.prepared.run(self.inputs)
        self.peer = peers.LiteRT(path, threads)

    def track_ahead(self, model, threads):
        ours = Contestant("nnfast", lambda: self.prepared.run(self.inputs, self.out))
        theirs = Contestant("LiteRT", lambda: self.peer.run(self.inputs))
        take_turns([ours, theirs], seconds=1.0)
        return theirs.summary()["median_ms"] / ours.summary()["median_ms"]
