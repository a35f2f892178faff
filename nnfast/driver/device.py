"""The canonical driver object [NN 3.4-3.6]."""

from weakref import WeakSet

from .. import config, trace, vlog
from .._native import threads
from .._native.engine import UNLIMITED
from ..checks import chosen_from, path, sequence, shown, whole
from ..compiler import passes
from ..compiler.check import check_model, unsupported
from ..compiler.resolve import resolve
from ..engine.budget import Budget
from ..engine.resources import counted
from ..errors import InvalidArgument
from ..extensions import chosen
from ..forks import importing
from ..model.types import VERSIONS, Model
from .buffers import Tokens, allocate
from .client import client_of
from .closing import Closing
from .execution import PRIORITIES
from .prepared import PreparedModel

PREFERENCES = ("low_power", "fast_single_answer", "sustained_speed")
PRECISIONS = ("bf16",)


class Device(Closing):
    """A CPU that runs NNAPI models.

    num_threads: threads per run; None takes NNFAST_NUM_THREADS, else what the affinity mask and the control group's
    quota allow. Results do not depend on it. memory_limit: bytes that its models' packed weights, working memory and
    buffers may take together; None: no limit. extensions: the vendor extensions that its client may use, as
    nnfast.extensions.Extension or by the name of a registered one; None: all that are registered now. precision: None
    computes as exactly as the standard promises; "bf16" rounds the inputs and weights of CONV_2D and FULLY_CONNECTED in
    TENSOR_FLOAT32 to bfloat16, which is faster and less exact, where the processor has instructions for it; explain()
    says where that was. Raises InvalidArgument for any other value.

    client: whom the device works for. The priorities of all models of one client are relative to each other: an
    execution of higher priority goes first, and one of lower priority stops for it between two operations when there
    are not cores for both. None: all devices of the process that name no client work for the same one. A name, the
    same for all devices that give it, or an nnfast.Client of one's own separates devices from the others. memory_limit
    is the device's own, whatever its client.

    without_passes: names of compiler passes to leave out, such as ["row_fusion"] (docs/passes.md lists all); explain()
    tells which ones changed something, and why. Integer results are the same without them, floats within the bound of
    their operations. Raises InvalidArgument, which lists the known names.
    """

    @vlog.log_errors(vlog.MANAGER, "Device")
    def __init__(self, num_threads=None, memory_limit=None, extensions=None, precision=None, client=None,
                 without_passes=()):
        if num_threads is None:
            num_threads = threads.default_threads()
        self.num_threads = whole(num_threads, "Device num_threads:", 1, threads.MAX_THREADS)
        self.budget = None
        if memory_limit is not None:
            self.budget = Budget(whole(memory_limit, "Device memory_limit:", 1, UNLIMITED))
        if precision is not None and (not isinstance(precision, str) or precision not in PRECISIONS):
            raise InvalidArgument(f"Device precision: is {shown(precision)}, must be None or one of "
                                  f"{', '.join(PRECISIONS)}")
        self.precision = precision
        self.without_passes = _passes_of(without_passes)
        self.client = client_of(client)
        self.gate = self.client.gate
        self.gate.widen(self.num_threads)
        self.tokens, self.models = Tokens(), WeakSet()
        self.extensions = chosen(extensions)
        vlog.init()
        if vlog.mask & vlog.MANAGER:
            vlog.log(vlog.MANAGER, "%r: memory limit %s, %d processors, extensions %s", self, memory_limit or "none",
                      threads.available(), ", ".join(self.extensions) or "none")

    is_available = True
    """A CPU always is; for devices in another process."""

    @property
    def background(self):
        """Threads for what is launched on the device: a driver.background.Background."""
        if "_threads" not in self.__dict__:
            with importing:
                from .background import Background

            self.__dict__.setdefault("_threads", Background())  # of several threads that come here, the first one's
        return self._threads

    @property
    def version(self):
        """Version of the device, which changes with whatever may change compiled models, results or capabilities
        [NN 3.4].
        """
        with importing:
            from .capabilities import device_version

        return device_version()

    @property
    def capabilities(self):
        """What the device says of its speed [NN 1.8]: Capabilities, the same on every call."""
        with importing:
            from .capabilities import capabilities

        return capabilities()

    @vlog.log_errors(vlog.MODEL, "check")
    def check(self, model, newest=VERSIONS[-1]):
        """Refuse an invalid model, or one that needs more than HAL `newest`; returns the lowest HAL that has it all."""
        _model(model)
        chosen_from(newest, "check newest:", VERSIONS)
        with counted("check"), trace.span("LU", "PU", "validateModel"):
            return check_model(model, newest, self.extensions)

    def supported_operations(self, model):
        """One bool per operation of the main graph (getSupportedOperations).

        Raises InvalidArgument when the model itself is invalid; `unsupported_reasons` tells why an entry is False.
        """
        refused = self.unsupported_reasons(model)
        return [index not in refused for index in range(len(model.main.operations))]

    @vlog.log_errors(vlog.MODEL, "supported_operations")
    def unsupported_reasons(self, model, held=0):
        """{operation index: reason} for what this device cannot run of a valid model.

        Where there is a memory limit, that is also what it can never hold, in the order of the operations: the model's
        weights and working memory, beside `held` bytes.
        """
        _model(model)
        with counted("supported_operations"), trace.span("LD", "PC", "supported_operations"):
            check_model(model, extensions=self.extensions)
            resolved = resolve(model, self.extensions)
            refused = unsupported(resolved)
            if self.budget is not None:
                with importing:
                    from .fits import beyond_limit

                refused |= beyond_limit(resolved, self, held, refused)
        for reason in refused.values():
            vlog.log(vlog.COMPILATION, "not supported: %s", reason)
        return refused

    @vlog.log_errors(vlog.COMPILATION, "prepare")
    def prepare(self, model, preference="fast_single_answer", priority="medium", input_shapes=None, keep=None,
                deadline=None, cache_dir=None, cache=None, token=None):
        """Compile a model; returns a PreparedModel that any number of threads may run.

        preference, priority: as in the HAL, by name. input_shapes: {input name or position: shape} to resize inputs
        (batch ...). keep: names or operand indexes of intermediate operands to return behind the outputs.
        deadline: absolute time.monotonic() seconds, checked between operations. cache_dir: folder where compiled models
        are kept and looked for; None takes NNFAST_CACHE_DIR, if that is set. cache, token: a CacheFiles of the caller's
        and the 32 bytes that name its content, to store the compiled model in; what is wrong with them is logged and
        does no harm [NN 7.2].
        Raises InvalidArgument with the path of what is wrong, MissedDeadline* and ResourceExhausted*.
        """
        _model(model)
        check_options(preference, priority)
        options = preference, priority, input_shapes, keep
        if cache_dir is not None:
            cache_dir = path(cache_dir, "prepare cache_dir:")
        folder = (cache_dir or config.get("NNFAST_CACHE_DIR")) if cache is None else None
        with trace.span("LD", "PC", "prepare", model=model.name):
            def make():
                return PreparedModel(self, model, *options, deadline)

            if folder:
                with importing:
                    from .cache import save
                    from .cache_folder import prepare_in

                return prepare_in(folder, self, model, options, deadline, make, save)
            prepared = make()
            if cache is not None:
                with importing:
                    from .cache import save

                save(prepared, cache, token)
            return prepared

    def submit_prepare(self, model, done, **options):
        """Launch prepare(model, **options); done(prepared, error) is called exactly once, in the background, with one
        of them None. Raises GeneralFailure when nothing can be started; `done` is not called then.
        """
        with importing:
            from .launch import submit_prepare

        submit_prepare(self, model, done, **options)

    def submit_load(self, load, done, deadline=None):
        """As submit_prepare, of what `cached` has checked."""
        with importing:
            from .launch import submit_load

        submit_load(self, load, done, deadline)

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def prepare_from_cache(self, cache, token, deadline=None):
        """The model that prepare stored in these CacheFiles under this token [NN 7.3].

        Raises InvalidArgument for a wrong number of files, GeneralFailure when they do not hold exactly what was
        stored, or were stored by another version of nnfast or for another machine.
        """
        with importing:
            from .cache import prepare

        return prepare(self, cache, token, deadline)

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def cached(self, cache, token):
        """load(deadline) -> PreparedModel, of cache files that are checked now, as prepare_from_cache does."""
        with importing:
            from .cache import check

        return check(self, cache, token)

    @vlog.log_errors(vlog.MEMORY, "allocate")
    def allocate(self, input_roles=(), output_roles=(), dims=()):
        """Memory of the driver for arguments of prepared models, as a Buffer [NN 6].

        input_roles, output_roles: Role objects, at least one. dims: what the roles' operands leave open, 0 = unknown.
        Raises InvalidArgument for a bad role or roles that differ in type, quantization or shape, GeneralFailure when
        there is no memory.
        """
        return allocate(self, dims, input_roles, output_roles)

    def close(self):
        """Close all models that the device has prepared (PreparedModel.close). The device itself holds nothing else,
        and may go on preparing.
        """
        for prepared in list(self.models):
            prepared.close()

    def __repr__(self):
        asked = f", precision={self.precision!r}" if self.precision else ""
        without = f", without_passes={sorted(self.without_passes)}" if self.without_passes else ""
        return f"Device(num_threads={self.num_threads}{asked}{without})"


def check_options(preference, priority):
    """Refuse names of a preference or priority that there are not."""
    chosen_from(preference, "prepare preference:", PREFERENCES)
    chosen_from(priority, "prepare priority:", PRIORITIES)


def _passes_of(names):
    """Names of compiler passes as a frozenset."""
    names = sequence(names, "Device without_passes:", "a list of names of compiler passes")
    return frozenset(chosen_from(name, f"Device without_passes: element {place}", passes.NAMES)
                     for place, name in enumerate(names))


def _model(model):
    if not isinstance(model, Model):
        raise InvalidArgument(f"model: is a {type(model).__name__}, must be an nnfast.Model; nnfast.load reads a file")
