"""Stand-ins for prepared models, so that the commands' own work is tested alone."""

import json

import numpy as np

import nnfast


def entry(name, shape, dtype="float32", scale=0.0, zero_point=0):
    return nnfast.TensorInfo(name, shape, np.dtype(dtype), 0, scale, zero_point, None, 0)


class FakeStream:
    def __init__(self):
        self.total = 0

    def run(self, arrays):
        self.total = self.total + arrays[0].sum()
        return [np.full((1, 2), self.total, np.float32)]


class FakePrepared:
    """Output: scores, by default the flat input; a stream sums up what it has seen."""

    def __init__(self, inputs, outputs, compute):
        self.inputs, self.outputs, self.compute, self.seen = inputs, outputs, compute, []

    def run(self, arrays, out=None):
        self.seen.append(arrays)
        return self.compute(arrays)

    def stream(self):
        return FakeStream()

    def explain(self):
        return FakeExplanation()


class FakeExplanation:
    def __str__(self):
        return "0  CONV_2D  a_kernel"

    def to_json(self):
        return json.dumps({"rows": [{"kernel": "a_kernel"}]})
