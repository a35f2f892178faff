"""Native WHILE: iterations without planning, binding or allocation, if condition and body are one native program each.

The state is double-buffered. One frame of the body reads the first copy and writes the second, another the reverse.
"""

from contextlib import ExitStack, contextmanager

from ..engine.segment import Segment


def native_rounds(condition, body, first, limits, check):
    """The state after the last iteration, in fresh arrays; first: the arrays it starts from.

    None if the loop does not qualify: shapes change or depend on values, operations run in numpy, or there are inner
    subgraphs. condition, body: GraphRunners; check(): called before each iteration, may raise.
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
    """The native Segment that covers a graph for inputs like these arrays, or None."""
    shapes = {operand: array.shape for operand, array in zip(runner.graph.inputs, arrays)}
    try:
        segment = runner.planner.segment(0, shapes, {}.__getitem__)
    except KeyError:  # the plan depends on values
        return None
    is_whole = isinstance(segment, Segment) and segment.complete and segment.native and segment.items
    return segment if is_whole and set(segment.outputs) == set(runner.graph.outputs) else None


@contextmanager
def _bound(segment, values):
    """Context manager: a frame of a segment, bound to arrays."""
    frame = segment.frame()
    try:
        for operand, slot in (*segment.inputs.items(), *segment.outputs.items()):
            frame.bind(slot, values[operand])
        for slot, root in segment.aliases:
            frame.alias(slot, root)
        yield frame
    finally:
        segment.give_back(frame)
