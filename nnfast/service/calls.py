"""What the server does for each call, but for executions (executions.py): one function per message.

function(connection, message, fds) -> answer, or (answer, descriptors to send along). connection: server.Connection.
`fds` are closed by the caller.
"""

from ..driver.buffers import Role
from ..driver.cache import CacheFiles, save
from ..errors import GeneralFailure, InvalidArgument
from ..model.types import Definition
from . import protocol
from .answers import prepared_answer
from .models import open_bytes, unpack
from .session import Held
from .stats import stats_text

_OTHERS = ("relaxed_scalar", "relaxed_tensor", "branch", "loop")


def ping(connection, message, fds):
    return protocol.Done()


def get_capabilities(connection, message, fds):
    found = connection.session.device.capabilities
    return protocol.CapabilitiesReply(
        [(int(kind), one.time, one.power) for kind, one in found.operands.items()],
        [(one.time, one.power) for one in (getattr(found, name) for name in _OTHERS)], found.source)


def get_stats(connection, message, fds):
    return protocol.Stats(stats_text(connection.session))


# -- models ------------------------------------------------------------------------------------------------------------
def _model(connection, fds):
    """(Model, its bytes) of the first descriptor."""
    if not fds:
        raise InvalidArgument("service: a call about a model comes with the model's memory")
    source = open_bytes(fds[0], connection.session.server.options.largest_model)
    return unpack(source), source


def check(connection, message, fds):
    return protocol.Text(connection.session.device.check(_model(connection, fds)[0], message.newest))


def get_unsupported(connection, message, fds):
    reasons = connection.session.device.unsupported_reasons(_model(connection, fds)[0])
    return protocol.Unsupported(sorted(reasons.items()))


def prepare(connection, message, fds):
    session = connection.session
    model, source = _model(connection, fds)
    if message.launch:
        connection.channel.send(protocol.Launched())
    session.check_models()
    shapes = None if message.input_shapes is None else dict(message.input_shapes)
    prepared = session.prepare(model, source, message.preference, message.priority, shapes, message.keep,
                               message.deadline)
    if message.token is not None:
        save(prepared, _cache_files(fds[1:]), message.token)
    return _hand_out(session, prepared)


def check_cache(connection, message, fds):
    session = connection.session
    return protocol.Number(session.add("load", session.device.cached(_cache_files(fds), message.token)))


def load(connection, message, fds):
    session = connection.session
    restore = session.get("load", message.number)
    if message.launch:
        connection.channel.send(protocol.Launched())
    session.check_models()
    with session.turn():
        prepared = restore(message.deadline)
    return _hand_out(session, prepared)


def store(connection, message, fds):
    held = connection.session.get("prepared", message.prepared)
    return protocol.Text(save(held.prepared, _cache_files(fds), message.token))


def _cache_files(fds):
    """One model file and one data file; what else there is, is the client's mistake."""
    return CacheFiles(tuple(fds[:1]), tuple(fds[1:]))


def _hand_out(session, prepared):
    held = Held(prepared)
    return prepared_answer(session.add("prepared", held), held)


def explain(connection, message, fds):
    found = connection.session.get("prepared", message.prepared).prepared.explain()
    return protocol.Explained(found.to_json(), bool(found.native))


# -- buffers -----------------------------------------------------------------------------------------------------------
def allocate(connection, message, fds):
    session = connection.session

    def roles(uses):
        return [Role(session.get("prepared", use.prepared).prepared, use.index, use.frequency) for use in uses]

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
