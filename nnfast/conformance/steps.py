"""The steps that the kinds of conformance tests share: prepare, execute in every way, check what came back."""

from ..checks import counted
from ..errors import Error, ErrorStatus
from .compare import compare_case
from .verdict import Fail, Skip, describe

FENCED, BURST = "fenced", "burst"
"""Names of the ways that go through fences, and through the queues of a burst."""

UNPREPARED = "not every operation is supported, so a failed preparation skips the test [NN 16.2]"
NO_DYNAMIC = "GENERAL_FAILURE where outputs are not plainly specified skips the test [NN 16.5]"
NO_BUFFERS = "a test is skipped when every allocation gives GENERAL_FAILURE [NN 16.5]"
SKIP_RULES = (UNPREPARED, NO_DYNAMIC, NO_BUFFERS)
"""What the standard lets a driver refuse; the reason of a skip starts with one of these."""


def claims_all(face, model):
    """Ask which operations are supported; True when all are."""
    supported = face.supported_operations(model)
    if not supported or len(supported) != len(model.main.operations):
        raise Fail(f"supported_operations gave {len(supported)} flags, must be one for each of the "
                   f"{len(model.main.operations)} operations")
    return all(supported)


def prepare(face, model):
    """Prepared model, or Skip / Fail by what the driver had claimed."""
    claimed = claims_all(face, model)
    try:
        return face.prepare(model)
    except Error as error:
        if claimed:
            raise Fail(f"every operation is claimed as supported, but prepare gave {describe(error)}") from None
        raise Skip(f"{UNPREPARED}: {error}") from None


def check_timing(timing, measured, label):
    times = timing.on_device_us, timing.in_driver_us
    if not measured:
        if times != (None, None):
            raise Fail(f"{label}: times {times} are reported, must be None when they are not asked for")
    elif None in times:
        raise Fail(f"{label}: times are {times}, both were asked for")
    elif not 0 <= times[0] <= times[1]:
        raise Fail(f"{label}: time on device {times[0]} us must not exceed time in driver {times[1]} us")


def check_shapes(shapes, case, label, required):
    """Shapes after a success: none (if not required) or one per output, sufficient and exact."""
    if not shapes and not required:
        return
    if len(shapes) != len(case.expected):
        raise Fail(f"{label}: {len(shapes)} output shapes for {counted(len(case.expected), 'output')}")
    for place, (shape, value) in enumerate(zip(shapes, case.expected)):
        if not shape.is_sufficient:
            raise Fail(f"{label}: output {place} is reported as insufficient, its buffer has the right size")
        if tuple(shape.dims) != value.shape:
            raise Fail(f"{label}: output {place} has dims {list(shape.dims)}, must be {list(value.shape)}")


def runs(face, prepared, bursts=False):
    """(label, function of a request, measured) of every way to execute, without and with timing.

    bursts: the kind's row in the standard lists them.
    """
    for name, execute in face.ways(prepared).items():
        if name == BURST and not bursts:
            continue
        for measured in face.timings:
            def run(request, execute=execute, measured=measured, **limits):
                return execute(request, measure_timing=measured, **limits)

            yield f"{name}, timing {'YES' if measured else 'NO'}", run, measured


def perform(face, run, label, case, measured, shapes_required, memory=None, **limits):
    """One execution on memory pools, checked but for the values of its outputs; returns the Memory."""
    memory = memory or face.memory(case)
    result = run(memory.request, **limits)
    check_timing(result.timing, measured, label)
    check_shapes(result.shapes, case, label, shapes_required)
    if memory.damage():
        raise Fail(f"{label}: {memory.damage()}")
    return memory


def execute(face, run, label, case, measured, shapes_required, memory=None, **limits):
    """One execution on memory pools, fully checked; returns the Comparison. limits: as the ways of a face take them."""
    memory = perform(face, run, label, case, measured, shapes_required, memory, **limits)
    comparison = compare_case(case, memory.outputs())
    if comparison.reason:
        comparison.reason = f"{label}: {comparison.reason}"
    return comparison


def needs_known_outputs(label):
    """True for the way that must refuse outputs of unknown or zero size [NN 3.9]."""
    return label.startswith(FENCED)


def has_zero_sized(case):
    """True when some output has no elements."""
    return any(value.size == 0 for value in case.expected)


def must_refuse(run, label, request):
    try:
        run(request)
    except Error as error:
        if error.status != ErrorStatus.INVALID_ARGUMENT:
            raise Fail(f"{label}: gave {describe(error)}, must be INVALID_ARGUMENT") from None
    else:
        raise Fail(f"{label}: succeeded, must be INVALID_ARGUMENT")


def skip_general_failure(error):
    if error.status == ErrorStatus.GENERAL_FAILURE:
        raise Skip(f"{NO_DYNAMIC}: {error}") from None
