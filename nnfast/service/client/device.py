"""Client-side proxies of the driver's objects, with the methods of nnfast.Device and PreparedModel."""

from __future__ import annotations

import json
import os
import time
import weakref
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ... import config, vlog
from ...checks import called, chosen_from, is_number, kind_of, sequence, shown, whole
from ...checks import path as checked_path
from ...driver.arguments import plain_keys, plain_shapes
from ...driver.buffers import Role, dimensions, foreign
from ...driver.cache_files import CacheFiles, check_token, descriptors_of
from ...driver.capabilities import Capabilities, Performance
from ...driver.closing import Closing
from ...driver.device import check_options, passes_of
from ...driver.durations import check_deadline
from ...errors import DeadObject, GeneralFailure, InvalidArgument
from ...forks import importing
from ...model.types import UINT32_MAX, VERSIONS, Model, OperandType
from ..wire import protocol
from .buffers import Memories, RemoteBuffer, RemoteTokens
from .last_model import LastModel
from .prepared import RemotePreparedModel, at_end
from .session import ANSWER_SECONDS, ClientSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ... import typed
    from ...driver.cache_files import CacheFiles
    from ...errors import Error
    from ...model.types import Model

RETRY_SECONDS, LONGEST_SECONDS = 0.02, 1e9


def connect(path: typed.FilePath | None = None, precision: typed.Precision | None = None,
            patience: float = 0.0, without_passes: Iterable[str] = ()) -> RemoteDevice:
    """Connect to a driver's process (`nnfast serve`); returns a RemoteDevice, with the methods of nnfast.Device.

        device = nnfast.connect("driver.sock", patience=10)

    path: of its socket; None: NNFAST_SOCKET, else nnfast.sock in XDG_RUNTIME_DIR, else in the cache folder. precision,
    without_passes: as for nnfast.Device, of the models that this client prepares. patience: seconds that the process
    has to start serving and to answer; 0: it must serve already, and has 30 s to answer. Raises DeadObject if no
    process serves there or answers, InvalidArgument if it has another version or refuses the arguments.
    """
    if not is_number(patience) or patience != patience:
        raise InvalidArgument(f"connect: patience is {shown(patience)}, must be seconds")
    path = checked_path(path, "connect: path") if path is not None else config.socket_path()
    until = time.monotonic() + min(patience, LONGEST_SECONDS)
    while True:
        try:
            seconds = max(until - time.monotonic(), RETRY_SECONDS) if patience > 0 else None
            return RemoteDevice(path, precision, seconds, without_passes)
        except DeadObject:
            if time.monotonic() >= until:
                raise
        time.sleep(RETRY_SECONDS)


class RemoteExtension:
    """A vendor extension of the driver. types: {id: type with id, name, is_tensor, dtype}."""

    def __init__(self, name, types):
        self.name = name
        self.types = {kind.id: RemoteType(kind) for kind in types}


class RemoteType:
    """An operand type of a vendor extension, as the driver describes it."""

    def __init__(self, kind):
        self.id, self.name, self.is_tensor = kind.id, kind.name, kind.is_tensor
        self.dtype = np.dtype(f"V{kind.itemsize}")


class RemoteDevice(Closing):
    """A device in the driver's process, from nnfast.connect; methods as nnfast.Device. Thread-safe.

        with nnfast.connect("driver.sock") as device:
            y, = device.prepare(nnfast.load("model.tflite")).run([x])

    num_threads: threads per run, which the driver has chosen. precision, without_passes: as asked for. version: of the
    driver, as Device.version. extensions: {name: vendor extension} that this process may use. pid: of the driver.

    Every call raises DeadObject once the driver's process is gone, and ResourceExhausted* beyond one of its limits
    (docs/service.md). `reconnect` makes the device usable again, but not the models and buffers from before. As a
    context manager it is closed at the end of the block.
    """

    num_threads: int
    precision: typed.Precision | None
    version: str
    extensions: dict[str, RemoteExtension]
    pid: int

    without_passes: frozenset[str]

    def __init__(self, path: typed.FilePath | None, precision: typed.Precision | None = None,
                 seconds: float | None = None, without_passes: Iterable[str] = ()) -> None:
        vlog.init()
        self._path, self._precision = path, precision
        self.without_passes = passes_of(without_passes, "connect: without_passes")
        self.reconnect(seconds)

    @vlog.log_errors(vlog.MANAGER, "connect")
    def reconnect(self, seconds: float | None = None) -> None:
        """Start a new session with the driver's process, which must serve already; it may be another one.

            try:
                y, = prepared.run([x])
            except nnfast.DeadObject:
                device.reconnect()
                prepared = device.prepare(model)

        seconds: time that it has to answer; None: 30. Raises as nnfast.connect.
        """
        self._session = ClientSession(self._path, self._precision, ANSWER_SECONDS if seconds is None else seconds)
        self._models, self._memories, self.tokens = LastModel(), Memories(self._session), RemoteTokens()
        welcome = self._session.welcome
        self.num_threads, self.precision, self.version = welcome.num_threads, welcome.precision, welcome.driver
        self.extensions = {name: RemoteExtension(name, types) for name, types in welcome.extensions}
        self.pid = welcome.pid

    def close(self) -> None:
        """End the session: the driver frees all that it holds for it, and pending calls raise DeadObject."""
        self._session.close()

    @property
    def is_available(self) -> bool:
        """False once the driver's process is gone."""
        return self._session.dead is None

    @property
    def capabilities(self) -> Capabilities:
        """As Device.capabilities, of the driver's process."""
        answer = self._session.call(protocol.GetCapabilities())
        operands = {OperandType(kind): Performance(time, power) for kind, time, power in answer.operands}
        return Capabilities(operands, *(Performance(*pair) for pair in answer.others), answer.source)

    def stats(self) -> dict[str, Any]:
        """Statistics of the driver's process as a dict (docs/service.md).

            device.stats()["latency_us"]["p99"], [row["name"] for row in device.stats()["models"]]
        """
        return json.loads(self._session.call(protocol.GetStats()).text)

    # -- models ------------------------------------------------------------------------------------------------------
    def _call_about(self, model, message):
        _check_model(model)
        fd = self._models.descriptor(model)
        try:
            return self._session.call(message, [fd])
        finally:
            os.close(fd)

    @vlog.log_errors(vlog.MODEL, "check")
    def check(self, model: Model, newest: typed.Version = VERSIONS[-1]) -> typed.Version:
        """As Device.check."""
        chosen_from(newest, "check newest:", VERSIONS)
        return self._call_about(model, protocol.Check(newest)).text

    def supported_operations(self, model: Model) -> list[bool]:
        """As Device.supported_operations."""
        refused = self.unsupported_reasons(model)
        return [index not in refused for index in range(len(model.main.operations))]

    @vlog.log_errors(vlog.MODEL, "supported_operations")
    def unsupported_reasons(self, model: Model) -> dict[int, str]:
        """As Device.unsupported_reasons."""
        return dict(self._call_about(model, protocol.GetUnsupported()).reasons)

    @vlog.log_errors(vlog.COMPILATION, "prepare")
    def prepare(self, model: Model, preference: typed.Preference = "fast_single_answer",
                priority: typed.Priority = "medium", input_shapes: typed.InputShapes | None = None,
                keep: typed.Keys | None = None, deadline: float | None = None, cache_dir: typed.FilePath | None = None,
                cache: CacheFiles | None = None, token: bytes | None = None) -> RemotePreparedModel:
        """As Device.prepare; the driver compiles, and compiles equal models of several clients once.

        cache_dir: opened by this process; the driver gets descriptors of its files. None: no folder, whatever
        NNFAST_CACHE_DIR says. preference, priority, input_shapes, keep, deadline, cache, token: as there.
        """
        if cache_dir is not None:
            cache_dir = checked_path(cache_dir, "prepare cache_dir:")
        if cache_dir and cache is None:
            with importing:
                from ...driver.cache_folder import prepare_in

            _check_model(model)
            options = preference, priority, input_shapes, keep

            def make():
                return self.prepare(model, *options, deadline)

            def load(files, token):
                return self.prepare_from_cache(files, token, deadline)

            return prepare_in(cache_dir, self, model, options, make, load, RemotePreparedModel.store)
        message, fds = self._prepare(model, preference, priority, input_shapes, keep, deadline, cache, token, False)
        try:
            answer = self._session.call(message, fds)
        finally:
            os.close(fds[0])
        return RemotePreparedModel(self, self._session, answer, model)

    def submit_prepare(self, model: Model, done: Callable[[RemotePreparedModel | None, Error | None], object],
                       priority: typed.Priority = "medium", preference: typed.Preference = "fast_single_answer",
                       deadline: float | None = None, cache: CacheFiles | None = None,
                       token: bytes | None = None) -> None:
        """As Device.submit_prepare: done(prepared, error) is called once, in the background. There are no input_shapes,
        keep and cache_dir. priority, preference, deadline, cache, token: as of prepare.
        """
        called(done, "done:")
        message, fds = self._prepare(model, preference, priority, None, None, deadline, cache, token, True)
        try:
            self._launch(message, fds, model, done)
        finally:
            os.close(fds[0])

    def _prepare(self, model, preference, priority, input_shapes, keep, deadline, cache, token, launch):
        _check_model(model)
        check_options(preference, priority)
        check_deadline(deadline, "prepare")
        files = []
        if cache is not None:
            try:
                files = _open_files(cache)
                check_token(token)
            except (InvalidArgument, GeneralFailure) as error:  # must not fail the preparation [NN 7.2]
                vlog.log(vlog.COMPILATION, "compilation cache: not stored: %s", error)
                token, files = None, []
        shapes = list(plain_shapes(input_shapes).items()) or None
        message = protocol.Prepare(preference, priority, shapes, plain_keys(keep), deadline,
                                   bytes(token) if files else None, launch, without_passes=sorted(self.without_passes))
        return message, [self._models.descriptor(model), *files]

    def _launch(self, message, fds, model, done):
        session = self._session

        def prepared_of(answer):
            return RemotePreparedModel(self, session, answer, model)

        connection = session.take()
        try:
            session.launch(connection, message, fds, partial(at_end, session, prepared_of, done))
        except BaseException:
            session.give(connection)
            raise

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def prepare_from_cache(self, cache: CacheFiles, token: bytes, deadline: float | None = None) -> RemotePreparedModel:
        """As Device.prepare_from_cache."""
        files = _open_files(cache)
        check_token(token)
        check_deadline(deadline, "prepare")
        message = protocol.LoadCache(bytes(token), sorted(self.without_passes), None, deadline)
        return RemotePreparedModel(self, self._session, self._session.call(message, files), None)

    @vlog.log_errors(vlog.COMPILATION, "prepare_from_cache")
    def cached(self, cache: CacheFiles, token: bytes) -> RemoteLoad:
        """As Device.cached."""
        files = _open_files(cache)
        check_token(token)
        answer = self._session.call(protocol.CheckCache(bytes(token), sorted(self.without_passes)), files)
        return RemoteLoad(self, self._session, answer.number)

    def submit_load(self, load: RemoteLoad, done: Callable[[RemotePreparedModel | None, Error | None], object],
                    deadline: float | None = None) -> None:
        """As Device.submit_load."""
        if not isinstance(load, RemoteLoad):
            raise InvalidArgument(f"load: is {shown(load)}, must come from `cached` of this device")
        called(done, "done:")
        check_deadline(deadline, "prepare")
        self._launch(protocol.Load(load.number, deadline, True), (), None, done)

    # -- buffers -----------------------------------------------------------------------------------------------------
    @vlog.log_errors(vlog.MEMORY, "allocate")
    def allocate(self, input_roles: Sequence[Role] = (), output_roles: Sequence[Role] = (),
                 dims: typed.Dims = ()) -> RemoteBuffer:
        """As Device.allocate."""
        dims = dimensions(dims, "allocate:")
        roles = [[self._use(f"allocate {kind}_roles[{place}]", role)
                  for place, role in enumerate(sequence(given, f"allocate {kind}_roles:", "a list of Roles"))]
                 for kind, given in (("input", input_roles), ("output", output_roles))]
        answer = self._session.call(protocol.Allocate(*roles, dims))
        buffer = RemoteBuffer(self._session, self._memories, answer)
        self.tokens.add(buffer)
        return buffer

    def _use(self, path, role):
        prepared = role.prepared if isinstance(role, Role) else None
        if isinstance(prepared, RemotePreparedModel):
            prepared.session.check()
        if not isinstance(prepared, RemotePreparedModel) or prepared.session is not self._session:
            raise foreign(path, role)
        if not is_number(role.frequency) or not 0 < role.frequency <= 1:
            raise InvalidArgument(f"{path}: frequency is {shown(role.frequency)}, must be above 0 and at most 1")
        return protocol.Use(prepared.number, whole(role.index, f"{path}: index", 0, UINT32_MAX), float(role.frequency))

    def __repr__(self) -> str:
        asked = f", precision={self.precision!r}" if self.precision else ""
        without = f", without_passes={sorted(self.without_passes)}" if self.without_passes else ""
        return f"<RemoteDevice {self._path}{asked}{without}{'' if self.is_available else ', gone'}>"


class RemoteLoad:
    """Result of `cached`: call it with a deadline to get the prepared model."""

    def __init__(self, device, session, number):
        self._device, self._session, self.number = device, session, number
        weakref.finalize(self, session.drop, "load", number).atexit = False

    def __call__(self, deadline: float | None = None) -> RemotePreparedModel:
        check_deadline(deadline, "prepare")
        answer = self._session.call(protocol.Load(self.number, deadline))
        return RemotePreparedModel(self._device, self._session, answer, None)


def _check_model(model):
    if not isinstance(model, Model):
        raise InvalidArgument(f"model: is {kind_of(model)}, must be an nnfast.Model; nnfast.load reads a file")


def _open_files(cache):
    """The two descriptors of CacheFiles. Raises InvalidArgument for a wrong count, GeneralFailure for closed ones."""
    files = descriptors_of(cache if isinstance(cache, CacheFiles) else CacheFiles((), ()))
    for fd in files:
        try:
            os.fstat(fd)
        except OSError as error:
            raise GeneralFailure(f"compilation cache: cannot be read: {error}") from None
    return list(files)
