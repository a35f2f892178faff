"""The asynchronous launch protocol [NN 3.1]: preparations and executions that end in a callback."""

from .. import trace, vlog
from ..driver.cache_files import CacheFiles
from ..errors import ErrorStatus, InvalidArgument
from . import convert, models, requests
from .refusals import log
from .types import ExecutionPreference, Handle, MeasureTiming, Priority, Timing
from .values import fail, is_integer, member, nanoseconds, octets, record, vec

_NOTIFY = {"1.0": ("notify",), "1.1": ("notify",), "1.2": ("notify_1_2", "notify"),
           "1.3": ("notify_1_3", "notify_1_2", "notify")}
_FOREVER_NS = (1 << 63) - 1


class Callback:
    """A client's callback object: tells it once, through the newest notify method that both sides know.

    short: True where `notify` of 1.0 takes the status alone. Raises InvalidArgument for a null callback.
    """

    def __init__(self, target, hal, short):
        if target is None:
            fail("callback", "is null")
        name = next((name for name in _NOTIFY[hal] if callable(getattr(target, name, None))), None)
        if name is None:
            fail("callback", f"{type(target).__name__} has no method {' or '.join(_NOTIFY[hal])}")
        self._hal = name[-3:].replace("_", ".") if name != "notify" else "1.0"
        self._notify, self._short = getattr(target, name), short and name == "notify"

    def tell(self, status, *results):
        """Call it; what it raises is its own affair and ends in the log."""
        if vlog.mask & vlog.DRIVER:
            vlog.log(vlog.DRIVER, "HAL %s: callback: %s", self._hal, status.name)
        try:
            self._notify(convert.status(status, self._hal), *(() if self._short else results))
        except Exception:
            log.exception("a callback raised")


def prepare(face, hal, callback, model, preference=ExecutionPreference.FAST_SINGLE_ANSWER, priority=Priority.MEDIUM,
            deadline=None, cache=None):
    """Launch a preparation by the rules of version `hal`; the status of the launch.

    cache: (model cache, data cache, token) as the client gave them, or None.
    """
    refusals = face.refusals

    def done(prepared, error):
        if error is None:
            tell.tell(ErrorStatus.NONE, face.prepared_model(prepared))
        else:
            tell.tell(refusals.status(error, hal), None)

    def launch():
        canonical = models.to_canonical(model, hal)
        options = {"preference": member(preference, ExecutionPreference, "prepare preference").name.lower(),
                   "priority": member(priority, Priority, "prepare priority").name.lower()}
        face.device.check(canonical, hal)
        if cache is not None:
            options |= cache_options(*cache)
        face.device.submit_prepare(canonical, done, deadline=seconds(deadline, "prepare deadline"), **options)

    try:
        tell = Callback(callback, face.hal, short=False)
    except InvalidArgument as error:
        return refusals.status(error, hal)
    return _launch(refusals, hal, "prepareModel", "PC", launch, lambda status: tell.tell(status, None))


def prepare_from_cache(face, hal, callback, model_cache, data_cache, token, deadline=None):
    """Launch a preparation from cache files: they are checked before the launch [NN 7.3]."""
    refusals = face.refusals

    def launch():
        files = CacheFiles(_descriptors(model_cache, "modelCache"), _descriptors(data_cache, "dataCache"))
        by = seconds(deadline, "prepareModelFromCache deadline")
        load = face.device.cached(files, octets(token, "token"))

        def done(prepared, error):
            if error is None:
                tell.tell(ErrorStatus.NONE, face.prepared_model(prepared))
            else:
                tell.tell(refusals.status(error, hal), None)

        face.device.submit_load(load, done, by)

    try:
        tell = Callback(callback, face.hal, short=False)
    except InvalidArgument as error:
        return refusals.status(error, hal)
    return _launch(refusals, hal, "prepareModelFromCache", "PC", launch, lambda status: tell.tell(status, None))


def cache_options(model_cache, data_cache, token):
    """Options of Device.prepare for a client's cache; none where it is empty or not as it should be [NN 7.2]."""
    try:
        files = CacheFiles(_descriptors(model_cache, "modelCache"), _descriptors(data_cache, "dataCache"))
        return {"cache": files, "token": octets(token, "token")} if files.model or files.data else {}
    except InvalidArgument as error:
        log.info("compilation cache: not used: %s", error)
        return {}


def _descriptors(handles, path):
    """The descriptors of cache handles, one each; the files of a handle with any other number cannot be used."""
    descriptors = []
    for place, handle in enumerate(vec(handles, path)):
        fds = vec(record(handle, Handle, f"{path}[{place}]").fds, f"{path}[{place}] fds")
        if len(fds) != 1:
            fail(f"{path}[{place}]", f"has {len(fds)} descriptors, must have 1")
        if not is_integer(fds[0]):
            fail(f"{path}[{place}] fds", f"is {fds[0]!r}, must be an open descriptor")
        descriptors.append(fds[0])
    return tuple(descriptors)


def execute(face, hal, callback, request, measure=MeasureTiming.NO, deadline=None, loop_timeout=None):
    """Launch an execution by the rules of version `hal`; the status of the launch."""
    refusals = face.refusals

    def done(result, error):
        if error is None:
            tell.tell(ErrorStatus.NONE, requests.shapes_of(result), requests.timing_of(result.timing))
        else:
            tell.tell(refusals.status(error, hal), requests.shapes_of(error), Timing())

    def launch():
        canonical, options = _execution(face, hal, request, measure, deadline, loop_timeout)
        face.prepared.submit_request(canonical, done, **options)

    try:
        tell = Callback(callback, face.hal, short=True)
    except InvalidArgument as error:
        return refusals.status(error, hal)
    return _launch(refusals, hal, "execute", "PE", launch, lambda status: tell.tell(status, [], Timing()))


def execute_synchronously(face, hal, request, measure, deadline=None, loop_timeout=None):
    """Execute by the rules of version `hal`: (status, output shapes, timing)."""
    face.refusals.reason = ""
    told(hal, "executeSynchronously")
    try:
        with trace.span("LD", "PE", "executeSynchronously"):
            canonical, options = _execution(face, hal, request, measure, deadline, loop_timeout)
            result = face.prepared.execute(canonical, **options)
    except Exception as error:
        return face.refusals.status(error, hal), requests.shapes_of(error), Timing()
    return ErrorStatus.NONE, requests.shapes_of(result), requests.timing_of(result.timing)


def _launch(refusals, hal, call, phase, launch, tell):
    """Run the launch; an error goes to the callback first and is then returned. phase: of its mark."""
    refusals.reason = ""
    told(hal, call)
    try:
        with trace.span("LD", phase, call):
            launch()
    except Exception as error:
        status = refusals.status(error, hal)
        tell(status)
        return status
    return ErrorStatus.NONE


def told(hal, call):
    """The line of the tag driver for a call."""
    if vlog.mask & vlog.DRIVER:
        vlog.log(vlog.DRIVER, "HAL %s: %s", hal, call)


def _execution(face, hal, request, measure, deadline, loop_timeout):
    """Canonical request and the options of PreparedModel.execute."""
    canonical = requests.for_prepared(request, hal, face.prepared)
    return canonical, {
        "measure_timing": member(measure, MeasureTiming, "execute measure") == MeasureTiming.YES,
        "deadline": seconds(deadline, "execute deadline"),
        "loop_timeout": duration(loop_timeout, "execute loopTimeoutDuration"),
    }


def seconds(deadline, path):
    """A time point of the steady clock in seconds; None for none and for the largest [NN 3.16]."""
    deadline = nanoseconds(deadline, path)
    return None if deadline is None or deadline >= _FOREVER_NS else deadline / 1e9


def duration(value, path):
    """A duration in seconds, never 0: that would be no limit."""
    value = nanoseconds(value, path)
    return None if value is None else max(value, 1) / 1e9
