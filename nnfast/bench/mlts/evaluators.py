"""What accuracy means: the benchmark's evaluators [NN 16.8, 16.9]. All work on the first output.

An evaluator takes, for each sequence, our values and the expected ones as arrays [steps, values], and gives
(values by name, problems: a line each). `limits` has those of values: what errors may be at most, shares at least.
Sequences and steps are those of `sequences.Sequence`.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

TOP = 5
MARGIN = 0.05
"""Top-1 may be so much below the published share."""
MEL_CEP_LIMIT, LOG_F0_LIMIT = 4.0, 0.01
PHONE_LIMIT = 5.0
"""Percent of phones."""
FRAME, AMPLITUDES, PITCH, VOICING = 49, slice(1, 40), 47, 48
"""Places in a frame of speech: 40 amplitudes, the first of which does not count, 7 aperiodicities, log F0, voicing."""

TITLES = {**{f"top_{k}": f"top-{k}" for k in range(1, TOP + 1)}, "max_mel_cep_distortion": "mel-cep",
          "max_log_f0_error": "log F0", "max_phone_error_rate": "phones %"}
"""Short names of values."""


@dataclass(frozen=True)
class TopK:
    """Shares of photos whose true class is among the k best scores; of equal scores the lowest class comes first.

    classes: the true class of each sequence; expected: published share for k = 1, or None.
    """

    classes: tuple
    expected: float | None = None

    @property
    def limits(self):
        return {} if self.expected is None else {"top_1": self.expected - MARGIN}

    def __call__(self, outputs, golden=()):
        scores = np.stack([values[0] for values in outputs]).astype(np.float64)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        hits = order == np.array(self.classes)[:, None]
        values = {f"top_{k}": float(hits[:, :k].any(axis=1).mean()) for k in range(1, TOP + 1)}
        if self.expected is None or values["top_1"] >= self.expected - MARGIN:
            return values, []
        return values, [f"top-1 is {values['top_1']:.4f}, must be at least {self.expected:.4f} - {MARGIN}"]


@dataclass(frozen=True)
class MelCepLogF0:
    """Largest distortion of the mel-cepstrum and error of the logarithm of the pitch among sequences of speech.

    mean_std: array [values, 2] that makes outputs real as x * std + mean, or None.
    """

    mean_std: np.ndarray | None = None
    limits = MappingProxyType({"max_mel_cep_distortion": MEL_CEP_LIMIT, "max_log_f0_error": LOG_F0_LIMIT})

    def __call__(self, outputs, golden):
        worst, problems = dict.fromkeys(self.limits, 0.0), []
        for place, (got, expected) in enumerate(zip(outputs, golden)):
            for (name, limit), error in zip(self.limits.items(), self.errors(got, expected)):
                worst[name] = max(worst[name], error)
                if not error <= limit:
                    problems.append(f"sequence {place}: {TITLES[name]} error is {error:.4g}, must be at most {limit}")
        return worst, problems

    def errors(self, got, expected):
        """(mel-cep distortion, log F0 error) of a sequence."""
        pair = [np.asarray(x, np.float64) for x in (got, expected)]
        if self.mean_std is not None:
            mean, std = self.mean_std.T.astype(np.float64)
            pair = [x * std + mean for x in pair]
        got, expected = (x.reshape(-1, FRAME) for x in pair)
        distortion = np.sqrt(((got[:, AMPLITUDES] - expected[:, AMPLITUDES]) ** 2).mean())
        voiced = (got[:, VOICING] > 0) & (expected[:, VOICING] > 0)
        pitch = np.sqrt(((got[voiced, PITCH] - expected[voiced, PITCH]) ** 2).mean()) if voiced.any() else 0.0
        return float(distortion), float(pitch)


@dataclass(frozen=True)
class PhoneErrorRate:
    """Largest edit distance of the best phones of each step from the expected ones, in percent of the steps."""

    limits = MappingProxyType({"max_phone_error_rate": PHONE_LIMIT})

    def __call__(self, outputs, golden):
        rates = [100 * edit_distance(got.argmax(1), expected.argmax(1)) / len(got)
                 for got, expected in zip(outputs, golden)]
        problems = [f"sequence {place}: phone error rate is {rate:.4g} %, must be at most {PHONE_LIMIT:g} %"
                    for place, rate in enumerate(rates) if rate > PHONE_LIMIT]
        return {"max_phone_error_rate": max(rates)}, problems


def edit_distance(a, b):
    """Levenshtein distance of two arrays: fewest insertions, deletions and replacements that make b of a."""
    a, b = np.asarray(a), np.asarray(b)
    steps = np.arange(len(b) + 1)
    row = steps
    for place, value in enumerate(a, 1):
        best = np.empty_like(row)
        best[0] = place
        best[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != value))
        row = np.minimum.accumulate(best - steps) + steps  # insertions: one more for each place to the right
    return int(row[-1])


@dataclass(slots=True)
class Golden:
    """Difference from expected outputs, over all steps and outputs.

    steps: how many; mse: mean over steps of the summed mean squares of the outputs; largest: of |difference|, in codes
    where outputs are quantized; relative: as a share of the largest expected value of the output in all
    sequences; equal: sequences without any.
    """

    steps: int
    mse: float
    largest: float
    relative: float
    equal: int
    sequences: int


def against(outputs, expected):
    """The Golden of outputs, for each sequence a list of arrays [steps, values] of each output. Raises ValueError where
    their shapes differ."""
    steps, squares, equal, most, span = 0, 0.0, 0, {}, {}
    for got, want in zip(outputs, expected, strict=True):
        same = True
        for place, (ours, theirs) in enumerate(zip(got, want, strict=True)):
            if ours.shape != theirs.shape:
                raise ValueError(f"shapes {ours.shape} and {theirs.shape}")
            theirs = theirs.astype(np.float64)
            difference = np.abs(ours - theirs)
            squares += float((difference ** 2).mean(axis=1).sum())
            # numpy's maximum keeps NaN, so that outputs with one never count as near.
            most[place] = np.maximum(most.get(place, 0.0), difference.max(initial=0))
            span[place] = np.maximum(span.get(place, 0.0), np.abs(theirs).max(initial=0))
            same = same and not difference.any()
        steps, equal = steps + len(got[0]), equal + same
    shares = [most[place] / span[place] if span[place] else most[place] for place in most]
    return Golden(steps, squares / max(steps, 1), float(np.max([*most.values()], initial=0)),
                  float(np.max(shares, initial=0)), equal, len(outputs))
