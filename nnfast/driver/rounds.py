"""A WHILE whose condition and body each are one native program: rounds without planning, binding or new arrays.

The state lies twice in memory. A frame of the body reads the one and writes the other, a second frame goes back.
"""

from contextlib import ExitStack, contextmanager

from ..engine.segment import Segment


def native_rounds(condition, body, first, limits, check):
    """The state after the last round, from the arrays it starts with; None where the loop has no such form: shapes that
    change or that values give, operations in numpy, graphs inside.

    condition, body: GraphRunners; check(): called before each round, may raise. What the body gives is in fresh arrays.
    """
    tests, works = (_whole(runner, first) for runner in (condition, body))
    if tests is None or works is None:
        return None
    inputs, outputs = body.graph.inputs, body.graph.outputs
    if any(works.tensors[operand] != (array.shape, array.dtype) for operand, array in zip(outputs, first)):
        return None
    with ExitStack() as frames:
        sides = [[*map(works.output_array, outputs), *first[len(outputs):]] for _ in range(2)]
        for mine, theirs in zip(sides[0], first[:len(outputs)]):
            mine[...] = theirs
        (flag,) = map(tests.output_array, condition.graph.outputs)
        asked = [frames.enter_context(_bound(tests, {**dict(zip(condition.graph.inputs, side)),
                                                     condition.graph.outputs[0]: flag})) for side in sides]
        moved = [frames.enter_context(_bound(works, {**dict(zip(inputs, old)), **dict(zip(outputs, new))}))
                 for old, new in (sides, sides[::-1])]
        here, cancel, deadline_ns = 0, limits.cancel, limits.deadline_ns
        truth = flag.reshape(-1)
        while True:
            tests.run_items(asked[here], cancel, deadline_ns)
            if not truth[0]:
                return sides[here]
            check()
            works.run_items(moved[here], cancel, deadline_ns)
            here = 1 - here


def _whole(runner, arrays):
    """The Segment that is all of a graph for inputs like these arrays; None where no native one is."""
    shapes = {operand: array.shape for operand, array in zip(runner.graph.inputs, arrays)}
    try:
        segment = runner.planner.segment(0, shapes, {}.__getitem__)
    except KeyError:  # the plan is for one value
        return None
    is_whole = isinstance(segment, Segment) and segment.complete and segment.native and segment.items
    return segment if is_whole and set(segment.outputs) == set(runner.graph.outputs) else None


@contextmanager
def _bound(segment, values):
    """A frame of a segment, bound to arrays, until the end of the block."""
    frame = segment.frame()
    try:
        for operand, slot in (*segment.inputs.items(), *segment.outputs.items()):
            frame.bind(slot, values[operand])
        for slot, root in segment.aliases:
            frame.alias(slot, root)
        yield frame
    finally:
        segment.give_back(frame)
