"""A compiled model and its executions [NN 3.8, 2.5].

What the first result does not need is imported by the method that needs it: a cold start is half imports.
"""

from typing import NamedTuple
from weakref import ref

from .. import trace, vlog
from .._native.engine import trim
from .._native.threads import now_ns
from ..checks import flag
from ..compiler.check import check_model, require_supported
from ..compiler.resolve import resolve
from ..engine.resources import counted
from ..engine.segment import check_go_on
from ..errors import Error
from ..forks import importing
from ..model.mapped import release
from ..model.types import is_raw
from ..model.validate import check_structure
from ..model.withheld import Withheld, withholding
from .arguments import find_operand, in_list, named, plain_keys, resized
from .closing import Closing
from .durations import deadline_to_ns, duration_to_ns, loop_timeout_to_ns
from .execution import limits_of
from .executor import Executor
from .pools import bind_request, failed
from .real import run_real
from .signature import signature_of
from .stream import Stream
from .watchdog import watch


class Options(NamedTuple):
    """What a model is prepared with, as Device.prepare has it."""

    preference: str = "fast_single_answer"
    priority: str = "medium"
    input_shapes: object = None
    keep: object = None


class PreparedModel(Closing):
    """A model compiled for one device. Immutable; any number of threads may run it at once.

    Large constants that only packing has read are not kept: they go with the caller's Model.

    executor: the Executor that plans and runs it. options: Options; source: the model that was prepared, as it was
    given; spare: constants of that which nothing reads any more, so that they may be Withheld; None: all are needed.
    """

    def __init__(self, device, model, preference="fast_single_answer", priority="medium", input_shapes=None,
                 keep=None, deadline=None, cancel=None, packing=None):
        """cancel: a Cancel flag that stops the preparation, or None; packing: a StoredPacking, to plan with, where the
        model comes from a cache (driver/cache.py), who finishes it. See Device.prepare for the rest."""
        began = now_ns()
        deadline_ns = deadline_to_ns(deadline, began, "prepare")

        def go_on(path):
            check_go_on(cancel, deadline_ns, path)

        source, options = model, Options(preference, priority, input_shapes, keep)
        with counted("prepare"):
            with trace.span("LU", "PU", "validateModel"):
                if packing is None:
                    check_model(model, extensions=device.extensions, go_on=go_on)
                else:
                    check_structure(model, go_on)
            model = resolve(model, device.extensions)
            graph = model.main
            if any(is_raw(graph.operands[operand].type) for operand in (*graph.inputs, *graph.outputs)):
                require_supported(model, go_on)  # what it is cannot be said: some operation on it will not run
            self._set_up(device, resized(model, input_shapes), source, options)
            self._whole = ref(source) if packing is None else _gone
            with trace.span("LD", "PC", "plan"):
                self.executor.plan(deadline_ns, cancel, go_on, packing)
            self._start()
        if vlog.mask & vlog.COMPILATION:
            _tell_plan(self, now_ns() - began)

    def twin(self, device, priority):
        """The same model on another device: with the plan and the packed weights of this one, which has a plan, and
        working memory, priority and budget of its own.
        """
        twin = type(self).__new__(type(self))
        twin._set_up(device, self.model, self.model, self.options._replace(priority=priority))
        twin.executor.adopt(self.executor.segment.shared(twin.executor.resources))
        twin._start()
        return twin

    def _set_up(self, device, model, source, options):
        """What can be said of a checked model before it is planned."""
        self.device, self.num_threads, self.options = device, device.num_threads, options
        self.preference, self.priority = options.preference, options.priority
        self.source, self._whole, self.spare = source, _gone, None
        self.executor = Executor(device, model, options.priority,
                                 tuple(find_operand(model.main, key) for key in plain_keys(options.keep) or ()))
        self.inputs, self.outputs = self.executor.inputs, self.executor.outputs

    def _start(self):
        """Be ready to run: what only planning has needed is let go."""
        if self.executor.segment is not None:
            release(self.model)
            if "drop_constants" not in self.device.without_passes:
                with importing:
                    from ..compiler.passes.drop_constants import spare

                self._withhold(spare(self.source, self.model, self.executor.segment, self.executor.kept))
            trim()
        self.device.models.add(self)
        watch(self.executor)

    def _withhold(self, operands):
        """Do without the values of these constants. None: all of them are needed."""
        self.spare = operands
        operands = [o for o in operands or () if not isinstance(self.source.main.operands[o].data, Withheld)]
        if operands:
            is_source = self.model is self.source
            self.source = withholding(self.source, operands)
            self.executor.replace_model(self.source if is_source else withholding(self.model, operands))

    @property
    def model(self):
        """The model that runs: with the shapes and definitions that it was prepared with."""
        return self.executor.model

    @property
    def is_plain(self):
        """True when a request has exactly `inputs` and `outputs`: no states, no intermediate operands beside them."""
        return self.executor.is_plain

    @property
    def result_shapes(self):
        """Shapes of `outputs` where every run has the same, else None."""
        return self.executor.result_shapes

    # -- running -------------------------------------------------------------------------------------------------
    def run(self, inputs, out=None, quantize=False, dequantize=False):
        """Run on arrays: a list in model order gives a list, a dict by name gives a dict by name.

        inputs: arrays of exactly the dtype and shape of `self.inputs` (None omits an optional input): numpy's, or
        objects with `__array__`, DLPack or a buffer. Arrays that are not C-contiguous are copied, which a profile tells
        of. out: numpy arrays to write into (same order or names), instead of fresh ones. quantize: arrays of floats
        become the codes of quantized inputs (TensorInfo.quantize). dequantize: quantized outputs are returned as
        float32 (TensorInfo.dequantize). State inputs start from their initial value every time; use stream() to carry
        them. Raises InvalidArgument, GeneralFailure.
        """
        if quantize is not False or dequantize is not False:
            return run_real(self.run, self, inputs, out, flag(quantize, "run quantize:"),
                            flag(dequantize, "run dequantize:"))
        results = self.executor.quick(inputs, out)
        return self._run(inputs, out) if results is None else results

    def _run(self, inputs, out):
        """As run, where the fast path cannot: by name, or with arguments that it does not take as they are."""
        if not isinstance(inputs, dict):
            if out is not None and type(out) is not list:
                out = in_list(out, "run", "out")
            return self.executor.perform(in_list(inputs, "run"), out)
        results = self.executor.perform(*self._in_order(inputs, out))
        return dict(zip((o.name for o in self.outputs), results))

    @vlog.log_errors(vlog.EXECUTION, "run")
    def _in_order(self, inputs, out):
        return named(inputs, self.inputs, "input"), None if out is None else named(out, self.outputs, "output")

    @vlog.log_errors(vlog.EXECUTION, "execute")
    def execute(self, request, measure_timing=False, deadline=None, loop_timeout=None):
        """Canonical execution on memory pools [NN 2.5, 3.8].

        request: nnfast.Request. deadline: absolute time.monotonic() seconds, checked between steps. loop_timeout:
        seconds that each WHILE may take; 2 where not given, 15 at most. Returns ExecutionResult. Raises
        InvalidArgument for a bad request, OutputInsufficientSize (with shapes) when a buffer is too small,
        GeneralFailure for bad values.
        """
        if measure_timing is not False:
            measure_timing = flag(measure_timing, "execute measure_timing:")
        began = now_ns()
        try:
            with trace.span("LD", "PE", "execute") as mark:
                mark.switch("LD", "PIO", "request")
                arguments = bind_request(self.executor.form, request)
                mark.switch("LD", "PE", "execute")
                limits = limits_of(deadline, loop_timeout, began)
                return self.executor.perform_request(arguments, limits, began, measure_timing)
        except Error as error:
            failed(request, error)
            raise

    def submit_request(self, request, done, **options):
        """Launch execute(request, **options); done(result, error) is called exactly once, in the background, with one
        of them None. Raises InvalidArgument for a bad request, GeneralFailure when nothing can be started; `done` is
        not called then.
        """
        with importing:
            from .launch import submit_request

        submit_request(self, request, done, **options)

    @vlog.log_errors(vlog.EXECUTION, "execute_fenced")
    def execute_fenced(self, request, wait_for=(), measure_timing=False, deadline=None, loop_timeout=None,
                       duration=None):
        """Launch an execution that starts when all fences of `wait_for` have signalled [NN 3.9].

        duration: seconds it may take from then on; the rest as execute. Returns a FencedExecution with `.fence` and
        `.info()`. Every output must be of a known size. Raises InvalidArgument at once for a bad request or a fence in
        error; what fails later puts the fence into the error state.
        """
        with importing:
            from .fenced import execute_fenced

        loop_timeout_ns = loop_timeout_to_ns(loop_timeout)
        duration_ns = duration_to_ns(duration, "execute_fenced duration")
        try:
            deadline_ns = deadline_to_ns(deadline, now_ns(), "execute_fenced")
            return execute_fenced(self, request, wait_for, measure_timing, deadline_ns, loop_timeout_ns, duration_ns)
        except Error as error:
            failed(request, error)
            raise

    def release_idle(self):
        """Give working memory that no execution uses back to the system; the next execution takes it anew."""
        self.executor.release_idle()

    @vlog.log_errors(vlog.EXECUTION, "submit")
    def submit(self, inputs, timeout=None):
        """Run in the background; returns a Future (result(), cancel(), timing). timeout: seconds from now."""
        with importing:
            from .submit import submit

        return submit(self, inputs, timeout)

    @vlog.log_errors(vlog.EXECUTION, "burst")
    def burst(self, capacity=1024, spin_us=None):
        """A Controller, whose execute and run go through queues in shared memory to a thread of this model's.

        capacity: elements of the queues; spin_us: how long a waiting call polls before it sleeps, None takes
        NNFAST_BURST_CONTROLLER_WINDOW.
        """
        with importing:
            from .controller import Controller

        return Controller(self, capacity, spin_us)

    @vlog.log_errors(vlog.EXECUTION, "configure_burst")
    def configure_burst(self, get_memories, requests, results, spin_us=None, memories=None):
        """Serve a burst [NN 4]: a Burst, whose thread reads request packets and writes result packets.

        get_memories(slots): the Memory of each slot, or an Error. requests, results: fmq.Descriptor of queues with an
        event flag, or the queues. spin_us: how long the thread polls before it sleeps, None takes
        NNFAST_BURST_DRIVER_WINDOW. memories: {slot: Memory} that need not be asked for. The burst ends with its
        `close`. Raises InvalidArgument for what is no such queue or memory.
        """
        with importing:
            from .burst import Burst

        return Burst(self, get_memories, requests, results, spin_us, memories)

    def signature(self, key=None):
        """The model's signature of that name as a function: signature(x=array) gives {output name: array}.

        None: the only one. Its `inputs` and `outputs` are {name: TensorInfo}. Raises InvalidArgument for a signature
        that the model has not.
        """
        return signature_of(self, key)

    def stream(self):
        """A Stream, which carries state (LSTM, RNN, TFLite variables) from call to call."""
        return Stream(self.executor)

    def explain(self):
        """What runs: kernel, shapes and bytes of every operation, or why numpy does it."""
        with importing:
            from .explain import Explanation

        return Explanation(self)

    def __reduce__(self):
        made = type(self.device), self.num_threads, self.device.precision, sorted(self.device.without_passes)
        model = self.source if self.spare is None else self._whole()
        if model is not None:
            return _prepare_again, (*made, model, *self.options)
        with importing:
            from .cache import to_memory

        return _restore_again, (*made, *to_memory(self))

    def close(self):
        """Give the plan, the packed weights and working memory back; later calls raise InvalidArgument.

        Executions that run now end as they would; bursts of the model end. Closing twice does no harm.
        """
        self.executor.close()

    def __repr__(self):
        return repr(self.executor)


def _tell_plan(prepared, spent_ns):
    """Lines of the tag compilation: what came of a prepare, operation by operation."""
    vlog.log(vlog.COMPILATION, "%r: prepared in %.3f ms, %s, priority %s, %d threads", prepared, spent_ns / 1e6,
              prepared.preference, prepared.priority, prepared.num_threads)
    for line in str(prepared.explain()).splitlines():
        vlog.log(vlog.COMPILATION, "%s", line)


def _gone():
    """In place of a weak reference to the model with all its constants."""
    return None


def _restore_again(device, num_threads, precision, without_passes, model, data):
    with importing:
        from .cache import from_memory

    return from_memory(device(num_threads, precision=precision, without_passes=without_passes), model, data)


def _prepare_again(device, num_threads, precision, without_passes, model, *options):
    device = device(num_threads, precision=precision, without_passes=without_passes)
    return device.prepare(model, *options)
