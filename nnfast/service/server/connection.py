"""One call connection: a thread that reads a message, executes it, and answers."""

import logging
import os
import threading
import time

from ... import observe, trace, vlog
from ..._native.rings import Receiver
from ...errors import Cancelled, DeviceUnavailable, Error, GeneralFailure, InvalidArgument, ResourceExhaustedTransient
from ..wire import protocol
from ..wire.channel import ANCILLARY, LostDescriptors, Malformed
from ..wire.failures import failure
from . import burst, calls, executions
from .arena import ServerArena
from .held_memory import HeldMemory
from .kept_model import KeptModel
from .quotas import claim
from .unread import Unread

RETRY_SECONDS = 0.02
log = logging.getLogger("nnfast.service")

HANDLERS = {
    protocol.Ping: calls.ping, protocol.GetCapabilities: calls.get_capabilities, protocol.GetStats: calls.get_stats,
    protocol.Check: calls.check, protocol.GetUnsupported: calls.get_unsupported, protocol.Prepare: calls.prepare,
    protocol.CheckCache: calls.check_cache, protocol.Load: calls.load,
    protocol.LoadCache: calls.load_cache,
    protocol.Explain: calls.explain, protocol.Store: calls.store,
    protocol.Allocate: calls.allocate, protocol.WriteBuffer: calls.write_buffer,
    protocol.ReadBuffer: calls.read_buffer, protocol.GetBuffer: calls.get_buffer,
    protocol.OpenStream: calls.open_stream, protocol.ResetStream: calls.reset_stream,
    protocol.Run: executions.run, protocol.Execute: executions.execute, protocol.Fenced: executions.fenced,
    protocol.GetFencedInfo: executions.get_fenced_info, protocol.OpenBurst: burst.open_burst,
    protocol.FreeMemory: burst.free_memory, protocol.GetBurstError: burst.get_burst_error,
}
"""Calls -> function(connection, message, fds)."""


class Connection:
    """The server's end of a connection that has joined a session."""

    def __init__(self, session, channel):
        client = session.client
        self._waiting, self._unread = client.unread, Unread(channel, client.unread)
        self._held = [claim(client.connections, "calls wait for one another then"),
                      *client.hold("a connection", descriptors=1, threads=1)]
        self.session, self.channel, self.arena = session, channel, ServerArena(client)
        self.receiver = Receiver(channel.fileno(), channel.sender, protocol.MAX_PACKET, ANCILLARY,
                                 (session.latency, session.server.latency), session.server.calls, client.executions,
                                 session.cancels)
        channel.take_by(self.receiver.receive, self.receiver.buffer)
        self.kept_model = KeptModel()
        self.long_lists = []  # of the model of the call that runs, which the sweeper frees
        self._pending_error = None  # error of a message without an answer: returned for the next call
        self._thread = threading.Thread(target=self._serve, name=f"nnfast-client-{session.number}", daemon=True)

    def start(self):
        """Serve on a thread of its own."""
        observe.follow(self)
        self._thread.start()

    def observed(self, watchers):
        """Note the number of watchers: profiles, traces and log lines need executions in Python."""
        self.receiver.watched = watchers > 0

    def release(self):
        """Clean up after the connection has ended or could not begin; if out of memory, as soon as there is some."""
        while True:
            try:
                self._held = ()
                self.kept_model.drop()
                self._unread.end()
                self.receiver.forget()
                self.session.server.left(self)
                return
            except MemoryError:
                time.sleep(RETRY_SECONDS)

    def _serve(self):
        try:
            self.channel.socket.setblocking(True)
            self.channel.send(protocol.Done())
            while self.serve_one():
                pass
        except OSError:
            pass  # the client has gone
        except MemoryError:  # in the middle of a message: the start of the next one is unknown
            log.error("service: client %d: out of memory, its connection is closed", self.session.number)
        finally:
            self.channel.close()
            self.release()

    def serve_one(self):
        """Read and answer one message; False at the end of the stream."""
        fds = []
        try:
            try:
                message = self.channel.receive(protocol.FROM_CLIENT, fds)
            except LostDescriptors as error:
                refusal = ResourceExhaustedTransient(str(error))
                if isinstance(error.message, protocol.ONE_WAY):
                    self._answer_next(refusal)
                else:
                    self._answer(failure(refusal))
                return True
            except Malformed as error:
                self.session.server.refused += 1
                self._answer(failure(InvalidArgument(str(error))))
                return True
            except Cancelled:  # while a long message waited for its turn
                return False
            if message is None:
                return False
            held = self._hold(message, fds) if fds else ()
            if held is None:
                return True
            handler = HANDLERS.get(type(message))
            if handler is None:
                self._note(message, fds)
            else:
                self._call(handler, message, fds)
            return True
        finally:
            for fd in fds:
                os.close(fd)

    def hold_results(self, nbytes):
        """Charge results sent in their own memfd, until the client has received them (unread.py)."""
        self._unread.hold(self.session.client.hold("results", memory=nbytes))

    def _hold(self, message, fds):
        """Charges for a message's descriptors while it is handled; None if that exceeds the client's quota."""
        try:
            return self.session.client.hold("a message with descriptors", descriptors=len(fds))
        except Error as error:
            if isinstance(message, protocol.ONE_WAY):
                self._answer_next(error)
            else:
                self._answer(failure(error))
            return None

    def _call(self, handler, message, fds):
        server = self.session.server
        if not server.enter():
            self._answer(failure(DeviceUnavailable("service: the driver is shutting down; it takes no more calls")))
            return
        try:
            if self._waiting:
                for unread in list(self._waiting):
                    unread.settle()
            try:
                if self._pending_error is not None:
                    error, self._pending_error, self.receiver.paused = self._pending_error, None, False
                    raise error
                with trace.span("LI", "PE", type(message).__name__):
                    answer = handler(self, message, fds)
            except Error as error:
                self.session.failures += 1
                answer = failure(error)
                if vlog.mask & vlog.DRIVER:
                    vlog.log(vlog.DRIVER, "client %d: %s: %s", self.session.number, type(message).__name__, error)
            except MemoryError as error:
                answer = failure(error)
            except Exception as error:
                log.error("service: internal error in %s", type(message).__name__, exc_info=True)
                answer = failure(error)
            if self.long_lists:  # before the answer: smaller objects are then free when the client has it
                server.sweeper.take(self.long_lists)
                self.long_lists = []
            self._answer(*answer if isinstance(answer, tuple) else (answer,))
        finally:
            server.leave()

    def _answer(self, message, things=()):
        """Send an answer; things: descriptors, which are closed afterwards, and objects that own theirs."""
        if isinstance(message, protocol.Failure):
            self.session.server.count_refusal(message.status)
        fds = [thing if isinstance(thing, int) else thing.fileno() for thing in things]
        try:
            self.channel.send(message, fds)
        finally:
            if self._unread.made:
                self._unread.sent()
            for thing in things:
                if isinstance(thing, int):
                    os.close(thing)

    def _note(self, message, fds):
        """Handle a message without an answer."""
        try:
            if isinstance(message, protocol.Arena):
                self.receiver.forget()  # learned calls refer to the old arena
                self.arena.adopt(message, fds)
            elif isinstance(message, protocol.AddMemory):
                if len(fds) != 1:
                    raise InvalidArgument(f"service: a memory comes with one descriptor, got {len(fds)}")
                place = message.size, message.prot, message.offset
                memory = HeldMemory(self.session.client, message.kind, fds[0], *place)
                self.session.add("memory", memory, message.number)
            elif isinstance(message, protocol.Release):
                self.session.release(message.items)
            elif isinstance(message, protocol.Cancel):
                self.session.cancel(message.call)
        except Error as error:
            self._answer_next(error)
        except (MemoryError, OSError) as error:
            self._answer_next(GeneralFailure(f"service: {type(message).__name__}: {error}"))

    def _answer_next(self, error):
        """Let the next answer be this error, without its traceback, which would keep the session."""
        self._pending_error, self.receiver.paused = error.with_traceback(None), True

    def pool(self, path, pool):
        """The object that a Pool message names, as a pool of a Request. Raises InvalidArgument."""
        if pool.kind == "arena":
            return self.arena.pool(path, pool.number, pool.size, pool.writable)
        if pool.kind == "memory":
            return self.session.get("memory", pool.number)
        if pool.kind == "buffer":
            return self.session.buffer(pool.number)
        raise InvalidArgument(f"{path}: a pool of kind {pool.kind!r}, must be arena, memory or buffer")
