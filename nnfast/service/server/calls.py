"""Handlers of calls other than executions (executions.py): one function per message.

function(connection, message, fds) -> answer, or (answer, descriptors to send along). connection: server.Connection.
The caller closes `fds`.
"""

from contextlib import nullcontext
from functools import partial

from ...driver.buffers import Role
from ...driver.cache import Opened, save
from ...driver.cache_files import CacheFiles
from ...driver.device import check_options
from ...errors import (
    GeneralFailure,
    InvalidArgument,
    MissedDeadlinePersistent,
    MissedDeadlineTransient,
    UnsupportedOperator,
)
from ...model.types import Definition
from ..wire import protocol
from .answers import prepared_answer
from .file_reader import bound
from .model_reader import receive
from .session import Held
from .stats import stats_text

FEW_ROLES = 64
"""Most roles of a buffer that is allocated without taking a turn (turns.py)."""

_OTHERS = ("relaxed_scalar", "relaxed_tensor", "branch", "loop")


def ping(connection, message, fds):
    return protocol.Done()


def get_capabilities(connection, message, fds):
    found = connection.session.device.capabilities
    return protocol.CapabilitiesReply(
        [(int(kind), one.time, one.power) for kind, one in found.operands.items()],
        [(one.time, one.power) for one in (getattr(found, name) for name in _OTHERS)], found.source)


def get_stats(connection, message, fds):
    with connection.session.work():
        return protocol.Stats(stats_text(connection.session))


# -- models ------------------------------------------------------------------------------------------------------------
def _model(connection, fds, shapes=None):
    """(Model, Source) of the first descriptor: the connection's kept model, or a new one.

    shapes: of inputs, for which a file is imported.
    """
    if not fds:
        raise InvalidArgument("service: a call about a model comes with the model's memory")
    session = connection.session
    found = connection.kept_model.find(fds[0])
    if found is None:
        found = receive(fds[0], session.server.options.largest_model, session.client, connection.long_lists, shapes)
    model, source = found
    if model.extensions:
        session.confirm()
    return model, source


def check(connection, message, fds):
    with connection.session.work():
        return protocol.Text(connection.session.device.check(_model(connection, fds)[0], message.newest))


def get_unsupported(connection, message, fds):
    with connection.session.work():
        try:
            model, source = _model(connection, fds)
            connection.kept_model.keep(model, source)  # most are prepared next
        except UnsupportedOperator as error:  # of a file
            return protocol.Unsupported([(error.index, error.reason),
                                         *((index, reason) for _, index, reason in error.others)])
        if source.is_file:  # all of its operators have become operations, which have other numbers
            return protocol.Unsupported([])
        reasons = connection.session.device.unsupported_reasons(model, source.nbytes)
        return protocol.Unsupported(list(reasons.items()))


def prepare(connection, message, fds):
    session, launches = connection.session, message.launch
    check_options(message.preference, message.priority)
    device = session.device.variant(message.precision, message.without_passes)
    try:
        with session.work(message.priority, message.deadline) as work:
            shapes = None if message.input_shapes is None else dict(message.input_shapes)
            model, source = _model(connection, fds, shapes)
            if source.is_file:
                shapes = bound(model, shapes)
            if launches:
                with work.aside():
                    connection.channel.send(protocol.Launched())
                launches = False
            session.claim("prepared").release()  # raise now what would be refused after the work
            options = message.preference, message.priority, shapes, message.keep
            prepared = session.server.registry.prepare(device, model, source, options, message.deadline, work)
            root = getattr(prepared, "root", None)
            if root is not None:  # kept as all clients have it: there is one in memory
                connection.kept_model.keep(*root.sent)
            if message.token is not None:
                _save(session, prepared, fds[1:], message.token)
            if message.num_threads > 0:
                prepared = prepared.narrowed(message.num_threads)
            return _hand_out(session, prepared)
    except (MissedDeadlinePersistent, MissedDeadlineTransient):
        if launches:  # a missed deadline is the result's error, never the launch's
            connection.channel.send(protocol.Launched())
        raise


def check_cache(connection, message, fds):
    session = connection.session
    session.confirm()
    held = session.client.hold("a checked cache", descriptors=len(fds))
    device = session.device.variant(message.precision, message.without_passes)
    with session.work():
        opened = Opened(device, _cache_files(fds), message.token)
        opened.read()
        return protocol.Number(session.add("load", (device, opened), held=held))


def load(connection, message, fds):
    session = connection.session
    device, opened = session.get("load", message.number)
    if message.launch:
        connection.channel.send(protocol.Launched())
    return _loaded(session, device, lambda: opened, message)


def load_cache(connection, message, fds):
    session = connection.session
    session.confirm()
    device = session.device.variant(message.precision, message.without_passes)
    return _loaded(session, device, lambda: Opened(device, _cache_files(fds), message.token), message)


def _loaded(session, device, opened, message):
    session.claim("prepared").release()
    with session.work(deadline=message.deadline) as work:
        prepared = session.server.registry.load(device, opened(), message.deadline, work)
        if message.num_threads > 0:
            prepared = prepared.narrowed(message.num_threads)
    return _hand_out(session, prepared)


def store(connection, message, fds):
    session = connection.session
    prepared = session.get("prepared", message.prepared).prepared
    with session.work():
        return protocol.Text(_save(session, prepared, fds, message.token))


def _save(session, prepared, fds, token):
    return save(prepared, _cache_files(fds), token, partial(session.server.registry.stored, prepared, token))


def _cache_files(fds):
    """CacheFiles of one model file and one data file, or of whatever other counts the client sent, to be refused."""
    return CacheFiles(tuple(fds[:1]), tuple(fds[1:]))


def _hand_out(session, prepared):
    held = Held(prepared)
    return prepared_answer(session.add("prepared", held), held)


def explain(connection, message, fds):
    held = connection.session.get("prepared", message.prepared)
    with connection.session.work():
        found = held.prepared.explain()
        return protocol.Explained(found.to_json(), bool(found.native))


# -- buffers -----------------------------------------------------------------------------------------------------------
def allocate(connection, message, fds):
    session = connection.session

    def roles(uses):
        return [Role(session.get("prepared", use.prepared).prepared, use.index, use.frequency) for use in uses]

    many = len(message.inputs) + len(message.outputs) > FEW_ROLES
    with session.work() if many else nullcontext():
        buffer = session.device.allocate(roles(message.inputs), roles(message.outputs), message.dims)
    session.add("buffer", buffer, buffer.token)
    if isinstance(buffer.type, Definition):
        raise GeneralFailure("allocate: there are no buffers for types of extensions")
    return protocol.Allocated(buffer.token, int(buffer.type), buffer.dtype.str, buffer.is_scalar, tuple(buffer.dims))


def write_buffer(connection, message, fds):
    buffer = connection.session.get("buffer", message.number)
    buffer.start_writing()
    if message.source is not None:
        buffer.copy_from(connection.pool("copy_from source", message.source), message.dims)
    return protocol.BufferState(buffer.shape)


def read_buffer(connection, message, fds):
    buffer = connection.session.get("buffer", message.number)
    buffer.copy_to(connection.pool("copy_to target", message.target))
    return protocol.BufferState(buffer.shape)


def get_buffer(connection, message, fds):
    return protocol.BufferState(connection.session.get("buffer", message.number).shape)


# -- streams -----------------------------------------------------------------------------------------------------------
def open_stream(connection, message, fds):
    session = connection.session
    return protocol.Number(session.add("stream", session.get("prepared", message.prepared).prepared.stream()))


def reset_stream(connection, message, fds):
    connection.session.get("stream", message.number).reset()
    return protocol.Done()
