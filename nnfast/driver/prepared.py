"""A compiled model and its executions [NN 3.8, 2.5].

Modules that the first result does not need are imported where they are used: imports are half of a cold start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, overload
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
from ..model import proof
from ..model.mapped import release
from ..model.types import is_raw
from ..model.validate import check_structure
from ..model.withheld import Withheld, withholding
from .arguments import find_operand, in_list, named, plain_keys, resized
from .closing import Closing
from .durations import deadline_to_ns, duration_to_ns, loop_timeout_to_ns
from .execution import limits_of
from .executor import Executor
from .real import run_real
from .signature import signature_of
from .stream import Stream
from .watchdog import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Literal

    from .. import typed
    from ..model.types import Model
    from .burst import Burst
    from .controller import Controller
    from .execution import Limits
    from .explain import Explanation
    from .fence import Fence
    from .fenced import FencedExecution
    from .mapping import Results
    from .memory import Memory
    from .request import ExecutionResult, Request
    from .signature import SignatureRunner
    from .submit import Execution
    from .tensors import TensorInfo


WORTH_TRIMMING = 1 << 20
"""Bytes of packed weights from which packing leaves enough freed memory to give it back to the system at once."""


class Options(NamedTuple):
    """Options of Device.prepare."""

    preference: str = "fast_single_answer"
    priority: str = "medium"
    input_shapes: object = None
    keep: object = None


class PreparedModel(Closing):
    """A model compiled for one device; made by Device.prepare. Immutable; any number of threads may run it at once.

        y, = prepared.run([x])
        prepared.inputs[0].shape, prepared.inputs[0].dtype

    inputs, outputs: tuples of TensorInfo in model order, without states; operands kept by `keep` follow the outputs.
    model: the Model that runs. num_threads: threads per run. preference, priority: as prepared.

    As a context manager it is closed at the end of the block.

    Internal: executor plans and runs it; options: Options; source: the model as given, of which the constants `spare`
    are not read after packing and may be Withheld (None: all are needed).
    """

    device: typed.Preparing
    num_threads: int
    preference: typed.Preference
    priority: typed.Priority
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    options: Any
    source: Model
    spare: Any
    executor: Any

    def __init__(self, device: Any, model: Model, preference: typed.Preference = "fast_single_answer",
                 priority: typed.Priority = "medium", input_shapes: typed.InputShapes | None = None,
                 keep: typed.Keys | None = None, deadline: float | None = None, cancel: Any = None,
                 packing: Any = None) -> None:
        """As Device.prepare. cancel: Cancel flag that stops the preparation, or None; packing: StoredPacking to plan
        with, for a model from a cache (driver/cache.py), which finishes it."""
        began = now_ns()
        deadline_ns = deadline_to_ns(deadline, began, "prepare")

        def go_on(path):
            check_go_on(cancel, deadline_ns, path)

        source, options = model, Options(preference, priority, input_shapes, keep)
        with counted("prepare"):
            with trace.span("LU", "PU", "validateModel"):
                if packing is None:
                    check_model(model, extensions=device.extensions, go_on=go_on)
                elif proof.of(model) is None:
                    check_structure(model, go_on)
            model = resolve(model, device.extensions)
            graph = model.main
            if any(is_raw(graph.operands[operand].type) for operand in (*graph.inputs, *graph.outputs)):
                require_supported(model, go_on)  # raises: no definition of this type, so none of its operations runs
            model = resized(model, input_shapes)
            kept = tuple(find_operand(model.main, key) for key in plain_keys(keep) or ())
            self._set_up(device, Executor(device, model, priority, kept), source, options)
            self._whole = ref(source) if packing is None else _gone
            with trace.span("LD", "PC", "plan"):
                self.executor.plan(deadline_ns, cancel, go_on, packing)
            self._start()
        if vlog.mask & vlog.COMPILATION:
            _tell_plan(self, now_ns() - began)

    def twin(self, device: Any, preference: typed.Preference, priority: typed.Priority) -> PreparedModel:
        """The same model on another device. It shares the plan (there must be one) and packed weights, but has its own
        working memory, preference, priority and budget.
        """
        twin = type(self).__new__(type(self))
        options = self.options._replace(preference=preference, priority=priority)
        twin._set_up(device, self.executor.twin(device, priority), self.model, options)
        if self.source is self.model:
            twin.spare = self.spare
        else:
            twin._drop_constants()
        twin._enter()
        return twin

    def remember(self, model: Model) -> None:
        """Take constants that were not kept from the Model as given, as long as that lives."""
        self._whole = ref(model)

    def narrowed(self, num_threads: int) -> PreparedModel:
        """The same model with at most so many threads per run: a twin, or itself if that is no change or if only
        executions can plan it."""
        if num_threads >= self.num_threads or self.executor.segment is None:
            return self
        return self.twin(self.device.narrowed(num_threads), self.preference, self.priority)

    def _set_up(self, device, executor, source, options):
        """Set what does not depend on the plan."""
        self.device, self.num_threads, self.options = device, device.num_threads, options
        self.preference, self.priority = options.preference, options.priority
        self.source, self._whole, self.spare = source, _gone, None
        self.executor, self.inputs, self.outputs = executor, executor.inputs, executor.outputs

    def _start(self):
        """Make it ready to run, and free what only planning needed."""
        segment = self.executor.segment
        if segment is not None:
            release(self.model)
            self._drop_constants()
            if segment.constant_bytes >= WORTH_TRIMMING:
                trim()
        self._enter()

    def _enter(self):
        self.device.models.add(self)
        watch(self.executor)

    def _drop_constants(self):
        if "drop_constants" not in self.device.without_passes:
            with importing:
                from ..compiler.passes.drop_constants import spare

            self._withhold(spare(self.source, self.model, self.executor.segment, self.executor.kept))

    def _withhold(self, operands):
        """Drop the values of these constants. None: all are needed."""
        self.spare = operands
        operands = [o for o in operands or () if not isinstance(self.source.main.operands[o].data, Withheld)]
        if operands:
            is_source = self.model is self.source
            self.source = withholding(self.source, operands)
            self.executor.replace_model(self.source if is_source else withholding(self.model, operands))

    @property
    def model(self) -> Model:
        """The Model that runs, with the input shapes and extension definitions it was prepared with."""
        return self.executor.model

    @property
    def whole(self) -> Model | None:
        """The Model as given, with all constants; None if only what was packed of them is left."""
        return self._whole() if self.spare else self.source

    @property
    def is_plain(self) -> bool:
        """True if requests have exactly `inputs` and `outputs`: there are no states and no kept operands."""
        return self.executor.is_plain

    @property
    def result_shapes(self) -> list[tuple[int, ...]] | None:
        """Shapes of `outputs` if every run has the same, else None."""
        return self.executor.result_shapes

    # -- running -------------------------------------------------------------------------------------------------
    @overload
    def run(self, inputs: Sequence[typed.Tensor | None], out: Sequence[typed.Array] | None = None,
            quantize: bool = False, dequantize: bool = False) -> list[typed.Array]: ...

    @overload
    def run(self, inputs: dict[str, Any], out: dict[str, Any] | None = None, quantize: bool = False,
            dequantize: bool = False) -> dict[str, typed.Array]: ...

    def run(self, inputs: Sequence[typed.Tensor | None] | dict[str, Any],
            out: Sequence[typed.Array] | dict[str, Any] | None = None, quantize: bool = False,
            dequantize: bool = False) -> Any:
        """Run on arrays. A list in model order returns a list, a dict by name returns a dict by name.

            y, = prepared.run([x])
            y = prepared.run({"image": x})["scores"]

        inputs: arrays of exactly the dtype and shape of `self.inputs` (None omits an optional input): numpy arrays, or
        objects with `__array__`, DLPack or a buffer. Arrays that are not C-contiguous are copied, which a profile
        reports. out: numpy arrays to write the outputs into (same order or names). quantize: convert float arrays for
        quantized inputs (TensorInfo.quantize). dequantize: return quantized outputs as float32 (TensorInfo.dequantize).

        States start from their initial values every time; use stream() to carry them over. Outputs are new arrays, of
        which those of 16 KiB or more begin at a cache line, and are views of slightly larger ones.

        Raises InvalidArgument for arrays that do not match, GeneralFailure if values make the execution fail,
        ResourceExhausted* if memory runs out.
        """
        if quantize is not False or dequantize is not False:
            return run_real(self.run, self, inputs, out, flag(quantize, "run quantize:"),
                            flag(dequantize, "run dequantize:"))
        results = self.executor.quick(inputs, out)
        return self._run(inputs, out) if results is None else results

    def _run(self, inputs, out):
        """As run, for arguments that the fast path declines: by name, or arrays that need conversion or fail checks."""
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
    def execute(self, request: Request, measure_timing: bool = False, deadline: float | None = None,
                loop_timeout: float | None = None) -> ExecutionResult:
        """Run on memory pools, as the HAL does [NN 2.5, 3.8]; returns an ExecutionResult. Outputs are in the pools.

            memory = nnfast.Memory.create(4096)
            request = nnfast.Request([nnfast.RequestArgument(0, 0, 12)], [nnfast.RequestArgument(0, 64, 4)], [memory])
            prepared.execute(request, measure_timing=True).timing.on_device_us

        request: nnfast.Request. measure_timing: fill in the result's `timing`. deadline: absolute time.monotonic()
        seconds, checked between steps. loop_timeout: seconds that each WHILE may take; default 2, at most 15.

        Raises InvalidArgument for a bad request, OutputInsufficientSize (with `shapes`) if memory for an output is too
        small, GeneralFailure for bad values, MissedDeadline* and ResourceExhausted*.
        """
        if measure_timing is not False:
            measure_timing = flag(measure_timing, "execute measure_timing:")
        began = now_ns()
        try:
            with trace.span("LD", "PE", "execute") as mark:
                mark.switch("LD", "PIO", "request")
                arguments = self.executor.bind(request)
                mark.switch("LD", "PE", "execute")
                limits = limits_of(deadline, loop_timeout, began)
                return self.executor.perform_request(arguments, limits, began, measure_timing)
        except Error as error:
            _failed(request, error)
            raise

    def submit_request(self, request: Request, done: Callable[[ExecutionResult | None, Error | None], object],
                       **options: Any) -> None:
        """Launch execute(request, **options) in the background; done(result, error) is called exactly once, with one of
        them None. Raises InvalidArgument for a bad request, GeneralFailure if no thread can be started; `done` is not
        called then.
        """
        with importing:
            from .launch import submit_request

        submit_request(self, request, done, **options)

    @vlog.log_errors(vlog.EXECUTION, "execute_fenced")
    def execute_fenced(self, request: Request, wait_for: Sequence[Fence] = (), measure_timing: bool = False,
                       deadline: float | None = None, loop_timeout: float | None = None,
                       duration: float | None = None) -> FencedExecution:
        """Launch an execution that starts once all fences of `wait_for` are signalled [NN 3.9].

        wait_for: list of nnfast.Fence. duration: seconds that it may take from then on; request, measure_timing,
        deadline and loop_timeout as of execute.

        Every output must have a known size. Returns a FencedExecution with `.fence` and `.info()`. Raises
        InvalidArgument at once for a bad request or a fence in error; a later failure puts the returned fence into the
        error state.
        """
        with importing:
            from .fenced import execute_fenced

        loop_timeout_ns = loop_timeout_to_ns(loop_timeout)
        duration_ns = duration_to_ns(duration, "execute_fenced duration")
        try:
            deadline_ns = deadline_to_ns(deadline, now_ns(), "execute_fenced")
            return execute_fenced(self, request, wait_for, measure_timing, deadline_ns, loop_timeout_ns, duration_ns)
        except Error as error:
            _failed(request, error)
            raise

    def release_idle(self) -> None:
        """Return unused working memory to the system; the next execution allocates it again."""
        self.executor.release_idle()

    @vlog.log_errors(vlog.EXECUTION, "submit")
    def submit(self, inputs: Sequence[typed.Tensor | None] | dict[str, Any], timeout: float | None = None) -> Execution:
        """Run in the background, arguments as run; returns a Future with result(), cancel() and timing.

            future = prepared.submit([x], timeout=0.05)
            y, = future.result()

        timeout: seconds from now until result() raises MissedDeadlineTransient.
        """
        with importing:
            from .submit import submit

        return submit(self, inputs, timeout)

    def perform(self, arrays: list[typed.Array], limits: Limits) -> list[typed.Array]:
        """Results of one run in model order, within execution.Limits, from a list of arrays that were checked."""
        return self.executor.perform(arrays, None, limits)

    @vlog.log_errors(vlog.EXECUTION, "map")
    def map(self, inputs: Iterable[Any] | Mapping[str, Any], batch: int = 1, clients: int | None = None,
            ahead: int | None = None, prepare: Callable[[Any], Any] | None = None,
            errors: Literal["raise", "return"] = "raise") -> Results:
        """Run on many items; returns an iterator over their results, in order.

            for y, in prepared.map(images, clients=4):
                ...

        inputs: an iterable of items, each a list, a dict, or the only input, as `run` takes them; or an array of items
        along the first dimension, or a dict of such arrays by name. It is read in the thread that iterates, as far
        ahead as said. The result of an item is what `run` returns: a dict for a dict, else a list.
        batch: items that one execution computes side by side along the leading dimension. The model is prepared for
        them once more, and tried: where items would not stay apart, each runs alone, and `reason` of the iterator says
        why. Integers are what `run` gives, bit for bit; sums of floats may be added up in another order.
        clients: executions at once, among which the threads of the device are shared out; None: one for each thread.
        ahead: most items taken and not yet delivered, at least `batch`; None: two executions of each client, or as
        many, up to 128, as take it 8 ms where they are short and their inputs come as quickly.
        prepare: function from an item to what `run` takes, called on the threads of the clients.
        errors: "raise" raises what an item failed on, after which the iterator goes on with the next item; "return"
        gives a FailedItem (place, error) in place of the result. Messages begin with "map item 17: ". What `inputs`
        itself raises comes after the results of the items before, and ends the iterator.

        `close`, the end of a `with` block or dropping the iterator ends the executions. Raises InvalidArgument.
        """
        with importing:
            from .mapping import Results

        return Results(self, inputs, batch, clients, ahead, prepare, errors)

    @vlog.log_errors(vlog.EXECUTION, "burst")
    def burst(self, capacity: int = 1024, spin_us: int | None = None) -> Controller:
        """A Controller, whose execute and run send requests to a thread of this model through shared-memory queues.

        capacity: queue length in packet elements. spin_us: microseconds that a waiting call polls before it sleeps;
        None: NNFAST_BURST_CONTROLLER_WINDOW, default 0.
        """
        with importing:
            from .controller import Controller

        return Controller(self, capacity, spin_us)

    @vlog.log_errors(vlog.EXECUTION, "configure_burst")
    def configure_burst(self, get_memories: Callable[[list[int]], list[Memory]], requests: Any, results: Any,
                        spin_us: int | None = None, memories: Mapping[int, Memory] | None = None) -> Burst:
        """Serve a burst [NN 4]: returns a Burst, whose thread reads request packets and writes result packets.

        get_memories(slots): returns the Memory of each slot, or raises an Error. requests, results: queues with an
        event flag, or their fmq.Descriptor. spin_us: microseconds that the thread polls before it sleeps; None:
        NNFAST_BURST_DRIVER_WINDOW, default 50. memories: {slot: Memory} known in advance. `close` ends the burst.
        Raises InvalidArgument for malformed queues or memories.
        """
        with importing:
            from .burst import Burst

        return Burst(self, get_memories, requests, results, spin_us, memories)

    def signature(self, key: str | None = None, stream: Stream | None = None) -> SignatureRunner:
        """A signature of the model as a function: signature(x=array) returns {output name: array}.

            scores = prepared.signature("serving_default")(image=x)["scores"]

        key: its name; None: the only one. stream: one of this model, whose state the function goes on from, as other
        signatures on it do. The function's `inputs` and `outputs` are {name: TensorInfo}. Raises InvalidArgument if the
        model has no such signature.
        """
        return signature_of(self, key, stream)

    def stream(self) -> Stream:
        """A Stream, whose run carries state (LSTM, RNN, TFLite variables) from call to call."""
        return Stream(self.executor)

    def explain(self) -> Explanation:
        """An Explanation: kernel, shape and packed bytes of each operation, or why numpy runs it; str() is a table."""
        with importing:
            from .explain import Explanation

        return Explanation(self)

    def __reduce__(self) -> Any:
        made = type(self.device), self.num_threads, self.device.precision, sorted(self.device.without_passes)
        model = self.source if self.spare is None else self._whole()
        if model is not None:
            return _prepare_again, (*made, model, *self.options)
        with importing:
            from .cache import to_memory

        return _restore_again, (*made, *to_memory(self))

    def close(self) -> None:
        """Free the plan, packed weights and working memory; later calls raise InvalidArgument.

        Running executions finish; bursts of the model end. May be called more than once.
        """
        self.executor.close()

    def __repr__(self) -> str:
        return repr(self.executor)


def _tell_plan(prepared, spent_ns):
    """Log the result of a prepare, operation by operation, under the tag compilation."""
    vlog.log(vlog.COMPILATION, "%r: prepared in %.3f ms, %s, priority %s, %d threads", prepared, spent_ns / 1e6,
              prepared.preference, prepared.priority, prepared.num_threads)
    for line in str(prepared.explain()).splitlines():
        vlog.log(vlog.COMPILATION, "%s", line)


def _failed(request, error):
    with importing:
        from .pools import failed

    failed(request, error)


def _gone():
    """Replaces the weak reference to the source model when there is none."""
    return None


def _restore_again(device, num_threads, precision, without_passes, model, data):
    with importing:
        from .cache import from_memory

    return from_memory(device(num_threads, precision=precision, without_passes=without_passes), model, data)


def _prepare_again(device, num_threads, precision, without_passes, model, *options):
    device = device(num_threads, precision=precision, without_passes=without_passes)
    return device.prepare(model, *options)
