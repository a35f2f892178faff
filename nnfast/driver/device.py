"""The canonical driver object (hal.md 3.4-3.6)."""

from numbers import Integral

from .. import config, trace, vlog
from .._native import threads
from ..compiler.check import check_model, unsupported
from ..compiler.resolve import resolve
from ..engine.budget import Budget
from ..errors import InvalidArgument
from ..extensions import chosen
from ..model.types import VERSIONS, Model
from .buffers import Tokens, allocate
from .execution import PRIORITIES
from .prepared import PreparedModel

PREFERENCES = ("low_power", "fast_single_answer", "sustained_speed")
PRECISIONS = ("bf16",)


class Device:
    """A CPU that runs NNAPI models.

    num_threads: threads per run; None takes NNFAST_NUM_THREADS, else what the affinity mask and the control group's
    quota allow. Results do not depend on it. memory_limit: bytes that its models' packed weights, working memory and
    buffers may take together; None: no limit. extensions: the vendor extensions that its client may use, as
    nnfast.extensions.Extension or by the name of a registered one; None: all that are registered now. precision: None
    computes as exactly as the standard promises; "bf16" rounds the inputs and weights of CONV_2D and FULLY_CONNECTED in
    TENSOR_FLOAT32 to bfloat16, which is faster and less exact, where the processor has instructions for it; explain()
    says where that was. Raises InvalidArgument for any other value.

    One device is one client: the priorities of its models are relative to each other. An execution of higher priority
    goes first, and one of lower priority stops for it between two operations when there are not cores for both.
    """

    @vlog.telling(vlog.MANAGER, "Device")
    def __init__(self, num_threads=None, memory_limit=None, extensions=None, precision=None):
        if num_threads is None:
            num_threads = threads.default_threads()
        if isinstance(num_threads, bool) or not isinstance(num_threads, Integral) or \
                not 1 <= num_threads <= threads.MAX_THREADS:
            raise InvalidArgument(f"Device num_threads: is {num_threads!r}, must be a whole number from 1 to "
                                  f"{threads.MAX_THREADS}")
        self.num_threads = int(num_threads)
        if memory_limit is not None and (isinstance(memory_limit, bool) or not isinstance(memory_limit, Integral) or
                                         memory_limit < 1):
            raise InvalidArgument(f"Device memory_limit: is {memory_limit!r}, must be a whole number of bytes or None")
        self.budget = None if memory_limit is None else Budget(int(memory_limit))
        if precision is not None and (not isinstance(precision, str) or precision not in PRECISIONS):
            raise InvalidArgument(f"Device precision: is {precision!r}, must be None or one of {', '.join(PRECISIONS)}")
        self.precision = precision
        self.gate = threads.Gate(max(self.num_threads, threads.available()))
        self.tokens = Tokens()
        self.extensions = chosen(extensions)
        vlog.init()
        if vlog.mask & vlog.MANAGER:
            vlog.tell(vlog.MANAGER, "%r: memory limit %s, %d processors, extensions %s", self, memory_limit or "none",
                      threads.available(), ", ".join(self.extensions) or "none")

    is_available = True
    """A CPU always is; for devices in another process."""

    @property
    def version(self):
        """Version of the driver, which changes with whatever may change compiled models or results (hal.md 3.4)."""
        from .cache import version_string

        return version_string()

    @property
    def capabilities(self):
        """What the device says of its speed (hal.md 1.8): Capabilities, the same on every call."""
        from .capabilities import capabilities

        return capabilities()

    @vlog.telling(vlog.MODEL, "check")
    def check(self, model, newest=VERSIONS[-1]):
        """Refuse an invalid model, or one that needs more than HAL `newest`; returns the lowest HAL that has it all."""
        _model(model)
        if newest not in VERSIONS:
            raise InvalidArgument(f"check newest: is {newest!r}, must be one of {', '.join(VERSIONS)}")
        with trace.span("LU", "PU", "validateModel"):
            return check_model(model, newest, self.extensions)

    def supported_operations(self, model):
        """One bool per operation of the main graph (getSupportedOperations).

        Raises InvalidArgument when the model itself is invalid; `unsupported_reasons` tells why an entry is False.
        """
        refused = self.unsupported_reasons(model)
        return [index not in refused for index in range(len(model.main.operations))]

    @vlog.telling(vlog.MODEL, "supported_operations")
    def unsupported_reasons(self, model):
        """{operation index: reason} for what this device cannot run of a valid model."""
        _model(model)
        with trace.span("LD", "PC", "supported_operations"):
            check_model(model, extensions=self.extensions)
            refused = unsupported(resolve(model, self.extensions))
        for reason in refused.values():
            vlog.tell(vlog.COMPILATION, "not supported: %s", reason)
        return refused

    @vlog.telling(vlog.COMPILATION, "prepare")
    def prepare(self, model, preference="fast_single_answer", priority="medium", input_shapes=None, keep=None,
                deadline=None, cache_dir=None, cache=None, token=None):
        """Compile a model; returns a PreparedModel that any number of threads may run.

        preference, priority: as in the HAL, by name. input_shapes: {input name or position: shape} to resize inputs
        (batch ...). keep: names or operand indexes of intermediate operands to return behind the outputs.
        deadline: absolute time.monotonic() seconds, checked between operations. cache_dir: folder where compiled models
        are kept and looked for; None takes NNFAST_CACHE_DIR, if that is set. cache, token: a CacheFiles of the caller's
        and the 32 bytes that name its content, to store the compiled model in; what is wrong with them is logged and
        does no harm (hal.md 7.2).
        Raises InvalidArgument with the path of what is wrong, MissedDeadline* and ResourceExhausted*.
        """
        _model(model)
        check_options(preference, priority)
        options = preference, priority, input_shapes, keep
        folder = (cache_dir or config.get("NNFAST_CACHE_DIR")) if cache is None else None
        with trace.span("LD", "PC", "prepare", model=model.name):
            def make():
                return PreparedModel(self, model, *options, deadline)

            if folder:
                from .cache import prepare_in, save

                return prepare_in(folder, self, model, options, deadline, make, save)
            prepared = make()
            if cache is not None:
                from .cache import save

                save(prepared, cache, token)
            return prepared

    def submit_prepare(self, model, done, **options):
        """Launch prepare(model, **options); done(prepared, error) is called exactly once, in the background, with one
        of them None. Raises GeneralFailure when nothing can be started; `done` is not called then.
        """
        from .launch import submit_prepare

        submit_prepare(self, model, done, **options)

    def submit_load(self, load, done, deadline=None):
        """As submit_prepare, of what `cached` has checked."""
        from .launch import submit_load

        submit_load(load, done, deadline)

    def prepare_from_cache(self, cache, token, deadline=None):
        """The model that prepare stored in these CacheFiles under this token (hal.md 7.3).

        Raises InvalidArgument for a wrong number of files, GeneralFailure when they do not hold exactly what was
        stored, or were stored by another version of nnfast or for another machine.
        """
        return self.cached(cache, token)(deadline)

    @vlog.telling(vlog.COMPILATION, "prepare_from_cache")
    def cached(self, cache, token):
        """load(deadline) -> PreparedModel, of cache files that are checked now, as prepare_from_cache does."""
        from .cache import check

        return check(self, cache, token)

    @vlog.telling(vlog.MEMORY, "allocate")
    def allocate(self, input_roles=(), output_roles=(), dims=()):
        """Memory of the driver for arguments of prepared models, as a Buffer (hal.md 6).

        input_roles, output_roles: Role objects, at least one. dims: what the roles' operands leave open, 0 = unknown.
        Raises InvalidArgument for a bad role or roles that differ in type, quantization or shape, GeneralFailure when
        there is no memory.
        """
        return allocate(self, dims, input_roles, output_roles)

    def __repr__(self):
        asked = f", precision={self.precision!r}" if self.precision else ""
        return f"Device(num_threads={self.num_threads}{asked})"


def check_options(preference, priority):
    """Refuse names of a preference or priority that there are not."""
    _one_of("preference", preference, PREFERENCES)
    _one_of("priority", priority, PRIORITIES)


def _model(model):
    if not isinstance(model, Model):
        raise InvalidArgument(f"model: is a {type(model).__name__}, must be an nnfast.Model; nnfast.load reads a file")


def _one_of(name, value, allowed):
    if value not in allowed:
        raise InvalidArgument(f"prepare {name}: is {value!r}, must be one of {', '.join(allowed)}")
