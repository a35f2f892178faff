"""The canonical driver object [NN 3.4-3.6]."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING
from weakref import WeakSet

from .. import config, trace, vlog
from .._native import threads
from .._native.engine import UNLIMITED
from ..checks import chosen_from, kind_of, path, sequence, shown, whole
from ..compiler import passes
from ..compiler.check import check_model, unsupported
from ..compiler.resolve import resolve
from ..engine.budget import Budget
from ..engine.resources import counted
from ..errors import InvalidArgument
from ..extensions import chosen
from ..forks import importing
from ..model.types import VERSIONS, Model
from .client import client_of
from .closing import Closing
from .execution import PRIORITIES
from .prepared import PreparedModel
from .team import team_of
from .tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from .. import typed
    from ..errors import Error
    from ..extensions import Extension
    from .background import Background
    from .buffers import Buffer, Role
    from .cache_files import CacheFiles
    from .capabilities import Capabilities
    from .client import Client

PREFERENCES = ("low_power", "fast_single_answer", "sustained_speed")
PRECISIONS = ("bf16",)


class Device(Closing):
    """A CPU that runs NNAPI models.

        device = nnfast.Device(num_threads=4)
        prepared = device.prepare(nnfast.load("model.tflite"))

    num_threads: threads per run, does not change results. None: NNFAST_NUM_THREADS, else as many as the affinity mask
    and the control group's quota allow.
    memory_limit: bytes for packed weights, working memory and buffers of all its models together. None: no limit.
    extensions: vendor extensions that models may use, as nnfast.extensions.Extension or names of registered ones. None:
    all that are registered now.
    precision: None computes as exactly as the standard promises. "bf16" rounds the inputs and weights of CONV_2D and
    FULLY_CONNECTED in TENSOR_FLOAT32 to bfloat16 if the processor has instructions for it: faster and less exact.
    explain() shows which operations that affects.
    client: an nnfast.Client, or a name that devices share. Priorities are relative among the models of one client: an
    execution of higher priority goes first, and one of lower priority pauses for it between two operations if there are
    not enough cores for both. None: one client for all devices of the process that name none.
    without_passes: names of compiler passes to leave out, such as ["row_fusion"] (docs/passes.md). Integer results do
    not change, floats stay within the bounds of their operations.
    team: threads that runs of more than one thread use: "own", which all devices of the process share, or "openmp"
    (docs/threads.md); does not change results. None: NNFAST_TEAM, else "own".

    Raises InvalidArgument for any other value.
    """

    num_threads: int
    precision: typed.Precision | None
    without_passes: frozenset[str]
    client: Client
    extensions: dict[str, Extension]
    budget: Budget | None
    team: Any
    gate: Any
    tokens: Tokens
    models: WeakSet[Any]

    @vlog.log_errors(vlog.MANAGER, "Device")
    def __init__(self, num_threads: int | None = None, memory_limit: int | None = None,
                 extensions: Iterable[Extension | str] | None = None, precision: typed.Precision | None = None,
                 client: Client | str | None = None, without_passes: Iterable[str] = (),
                 team: Literal["own", "openmp"] | None = None) -> None:
        if num_threads is None:
            num_threads = threads.default_threads()
        self.num_threads = whole(num_threads, "Device num_threads:", 1, threads.MAX_THREADS)
        self.budget = None
        if memory_limit is not None:
            self.budget = Budget(whole(memory_limit, "Device memory_limit:", 1, UNLIMITED))
        self.precision = precision_of(precision, "Device precision:")
        self.without_passes = passes_of(without_passes, "Device without_passes:")
        self.team = team_of(team)
        self.client = client_of(client)
        self.gate = self.client.gate
        self.tokens, self.models = Tokens(), WeakSet()
        self.extensions = chosen(extensions)
        vlog.init()
        if vlog.mask & vlog.MANAGER:
            vlog.log(vlog.MANAGER, "%r: memory limit %s, %d processors, extensions %s", self, memory_limit or "none",
                      threads.available(), ", ".join(self.extensions) or "none")

    is_available = True
    """Always True here; a device in another process may have died."""

    @property
    def background(self) -> Background:
        """Threads for work launched on the device: a driver.background.Background."""
        if "_threads" not in self.__dict__:
            with importing:
                from .background import Background

            self.__dict__.setdefault("_threads", Background())  # atomic: concurrent callers get the same one
        return self._threads

    @property
    def version(self) -> str:
        """Version string; differs whenever compiled models, results or capabilities may differ [NN 3.4]."""
        with importing:
            from .capabilities import device_version

        return device_version()

    @property
    def capabilities(self) -> Capabilities:
        """Speed of the device relative to the reference CPU [NN 1.8]: Capabilities, the same on every call."""
        with importing:
            from .capabilities import capabilities

        return capabilities()

    @vlog.log_errors(vlog.MODEL, "check")
    def check(self, model: Model, newest: typed.Version = VERSIONS[-1]) -> typed.Version:
        """Lowest version ("1.0" to "1.3", "aidl2", "aidl3") that covers the model. newest: highest version allowed.

        Raises InvalidArgument for an invalid model, or one that needs a version above `newest`.
        """
        _model(model)
        chosen_from(newest, "check newest:", VERSIONS)
        with counted("check"), trace.span("LU", "PU", "validateModel"):
            return check_model(model, newest, self.extensions)

    def supported_operations(self, model: Model) -> list[bool]:
        """One bool per operation of the main graph (getSupportedOperations); `unsupported_reasons` explains each False.

        Raises InvalidArgument if the model itself is invalid.
        """
        refused = self.unsupported_reasons(model)
        return [index not in refused for index in range(len(model.main.operations))]

    @vlog.log_errors(vlog.MODEL, "supported_operations")
    def unsupported_reasons(self, model: Model, held: int = 0) -> dict[int, str]:
        """{operation index: reason} of the operations of a valid model that this device cannot run.

        With a memory limit, these include operations whose weights and working memory, together with those before them
        and `held` bytes, exceed it.
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
    def prepare(self, model: Model, preference: typed.Preference = "fast_single_answer",
                priority: typed.Priority = "medium", input_shapes: typed.InputShapes | None = None,
                keep: typed.Keys | None = None, deadline: float | None = None, cache_dir: typed.FilePath | None = None,
                cache: CacheFiles | None = None, token: bytes | None = None) -> PreparedModel:
        """Compile a model; returns a PreparedModel that any number of threads may run.

            prepared = device.prepare(model, input_shapes={"image": (8, 224, 224, 3)}, priority="high")

        preference: "low_power", "fast_single_answer" or "sustained_speed". priority: "low", "medium" or "high".
        input_shapes: {input name or position: shape} to resize inputs, such as the batch. keep: names or operand
        indexes of intermediate operands to return after the outputs. deadline: absolute time.monotonic() seconds,
        checked between operations. cache_dir: folder to load the compiled model from, or to store it in; None:
        NNFAST_CACHE_DIR, if set. cache, token: CacheFiles to store the compiled model in, and the 32 bytes that
        identify it; a failure to store is logged, not raised [NN 7.2].

        Raises InvalidArgument, with the path of the wrong value, MissedDeadline* and ResourceExhausted*.
        """
        _model(model)
        check_options(preference, priority)
        options = preference, priority, input_shapes, keep
        if cache_dir is not None:
            cache_dir = path(cache_dir, "prepare cache_dir:")
        folder = (cache_dir or config.get("NNFAST_CACHE_DIR")) if cache is None else None
        with trace.span("LD", "PC", "prepare", model=model.name):
            def make():
                return self.compile(model, options, deadline)

            if folder:
                with importing:
                    from . import cache as files_of
                    from .cache_folder import prepare_in

                def load(files, token):
                    return files_of.prepare(self, files, token, deadline, model)

                return prepare_in(folder, self, model, options, make, load, files_of.save)
            prepared = make()
            if cache is not None:
                with importing:
                    from .cache import save

                save(prepared, cache, token)
            return prepared

    def compile(self, model: Model, options: Any, deadline: float | None = None, packing: Any = None) -> PreparedModel:
        """A PreparedModel that is in no cache. options: preference, priority, input_shapes and keep, and deadline
        as of `prepare`; packing: StoredPacking to plan with, for a model from a cache.
        """
        return PreparedModel(self, model, *options, deadline, packing=packing)

    def submit_prepare(self, model: Model, done: Callable[[PreparedModel | None, Error | None], object],
                       **options: Any) -> None:
        """Launch prepare(model, **options) in the background; done(prepared, error) is called exactly once, with one of
        them None. Raises GeneralFailure, without calling `done`, if no thread can be started.
        """
        with importing:
            from .launch import submit_prepare

        submit_prepare(self, model, done, **options)

    def submit_load(self, load: Callable[[float | None], PreparedModel],
                    done: Callable[[PreparedModel | None, Error | None], object],
                    deadline: float | None = None) -> None:
        """As submit_prepare, for load(deadline) as returned by `cached`; done: as there."""
        with importing:
            from .launch import submit_load

        submit_load(self, load, done, deadline)

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def prepare_from_cache(self, cache: CacheFiles, token: bytes, deadline: float | None = None) -> PreparedModel:
        """The model that prepare stored in these CacheFiles under this 32-byte token [NN 7.3].

        cache, token: as given to prepare; deadline: absolute time.monotonic() seconds. Raises InvalidArgument for a
        wrong number of files; GeneralFailure if they do not hold exactly what was stored, or were stored by another
        version of nnfast or for another machine.
        """
        with importing:
            from .cache import prepare

        return prepare(self, cache, token, deadline)

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def cached(self, cache: CacheFiles, token: bytes) -> Callable[[float | None], PreparedModel]:
        """Check cache files now, as prepare_from_cache does; returns load(deadline) -> PreparedModel for later."""
        with importing:
            from .cache import check

        return check(self, cache, token)

    @vlog.log_errors(vlog.MEMORY, "allocate")
    def allocate(self, input_roles: Sequence[Role] = (), output_roles: Sequence[Role] = (),
                 dims: typed.Dims = ()) -> Buffer:
        """A Buffer: driver memory for arguments of prepared models [NN 6].

        input_roles, output_roles: lists of Role, at least one in all. dims: shape, where the operands of the roles
        leave it open; 0 = unknown. Raises InvalidArgument for a bad role or roles that differ in type, quantization or
        shape; GeneralFailure if there is not enough memory.
        """
        with importing:
            from .buffers import allocate

        return allocate(self, dims, input_roles, output_roles)

    def narrowed(self, num_threads: int) -> Device:
        """The same device with other threads per run: it shares the client, the memory limit and the set of models."""
        narrow = copy(self)
        narrow.num_threads = num_threads
        return narrow

    def variant(self, precision: typed.Precision | None = None, without_passes: Iterable[str] = ()) -> Device:
        """The same device with another precision (None: its own), and without these compiler passes either: it shares
        the client, the memory limit and the set of models. Raises InvalidArgument for unknown names."""
        precision = precision_of(precision, "precision:") or self.precision
        left_out = self.without_passes | passes_of(without_passes, "without_passes:")
        if (precision, left_out) == (self.precision, self.without_passes):
            return self
        other = copy(self)
        other.precision, other.without_passes = precision, left_out
        return other

    def close(self) -> None:
        """Close all models that the device has prepared (PreparedModel.close); it may still prepare others."""
        for prepared in list(self.models):
            prepared.close()

    def __repr__(self) -> str:
        asked = f", precision={self.precision!r}" if self.precision else ""
        without = f", without_passes={sorted(self.without_passes)}" if self.without_passes else ""
        team = f", team={self.team.name!r}" if self.team.name != "own" else ""
        return f"Device(num_threads={self.num_threads}{asked}{without}{team})"


def check_options(preference, priority):
    """Raise InvalidArgument for unknown names of a preference or priority."""
    chosen_from(preference, "prepare preference:", PREFERENCES)
    chosen_from(priority, "prepare priority:", PRIORITIES)


def precision_of(name, where):
    """A precision; InvalidArgument, which begins with `where`, for a name that is none."""
    if name is not None and (not isinstance(name, str) or name not in PRECISIONS):
        raise InvalidArgument(f"{where} is {shown(name)}, must be None or one of {', '.join(PRECISIONS)}")
    return name


def passes_of(names, where):
    """Names of compiler passes as a frozenset; InvalidArgument, which begins with `where`, for anything else."""
    names = sequence(names, where, "a list of names of compiler passes")
    return frozenset(chosen_from(name, f"{where} element {place}", passes.NAMES) for place, name in enumerate(names))


def _model(model):
    if not isinstance(model, Model):
        raise InvalidArgument(f"model: is {kind_of(model)}, must be an nnfast.Model; nnfast.load reads a file")
