"""The inner loop: sequences of steps, each timed by itself."""

import time
from itertools import count


def walk(runner, sequences, seconds=0.0, at_least=1, keep=0):
    """(seconds of each step, outputs of the first `keep` sequences).

    runner: driver.Runner. Sequences run in turn, from the first again after the last, until there were `at_least` of
    them and their steps took `seconds`; a sequence is never cut. Only `run` is timed. outputs: for each sequence a list
    of the outputs' steps: [[array of step 0, ...] of output 0, ...], each array flat.
    """
    times, outputs, total = [], [], 0.0
    for place in count():
        if place >= at_least and total >= seconds:
            return times, outputs
        sequence, kept = sequences[place % len(sequences)], []
        runner.reset()
        for x in sequence.inputs:
            start = time.perf_counter()
            found = runner.run([x])
            spent = time.perf_counter() - start
            times.append(spent)
            total += spent
            if place < keep:
                kept.append([array.reshape(-1) for array in found])
        if place < keep:
            outputs.append(list(map(list, zip(*kept))))
