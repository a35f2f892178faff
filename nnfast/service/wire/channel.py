"""One end of a connection: messages as packets, large ones in sealed memfds, descriptors by SCM_RIGHTS."""

import fcntl
import os
import select
import socket
import struct
import termios
from array import array
from contextlib import nullcontext

from ...errors import InvalidArgument
from ...extras import msgspec
from ...seals import FROZEN, is_sealed
from .protocol import MAX_FDS, MAX_PACKET
from .records import encode

MAX_LARGE = 1 << 26
"""Most bytes of a message in a memfd that a client accepts from its driver: explanations of a large model."""

SHORT = 1 << 12
"""Bytes above which a message is decoded in its sender's turn (Channel.limit)."""

LARGE = struct.Struct("<BQ")
_LARGE_MARK = 0xC1  # the one byte that msgpack never uses
_CREDENTIALS = struct.Struct("3i")
_SCM_MAX_FD = 253
"""Most descriptors of a packet in the kernel (SCM_MAX_FD): with room for all, the kernel closes none on arrival."""

ANCILLARY = socket.CMSG_SPACE(_SCM_MAX_FD * 4) + socket.CMSG_SPACE(_CREDENTIALS.size)
"""Bytes for what comes with a packet."""

_FLAGS = socket.MSG_CMSG_CLOEXEC
_CUT, _CONTROL_CUT = int(socket.MSG_TRUNC), int(socket.MSG_CTRUNC)  # comparing enumerations takes its time


class Malformed(Exception):
    """A packet that is not a valid message; later packets may be."""


class Impostor(Malformed):
    """A message from a process other than the one that the connection belongs to."""


class LostDescriptors(Malformed):
    """A message whose descriptors did not all arrive: there were too many, or this process may open no more."""

    def __init__(self, message):
        super().__init__(f"service: descriptors of a message were lost: there were more than {MAX_FDS}, or the "
                         f"receiver may open no more")
        self.message = message


def decode(decoder, data):
    """The message of a packet. Raises Malformed."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(f"service: malformed message: {error}") from None


def sealed_memfd(chunks):
    """Descriptor of a new memfd of these bytes, which nobody can change any more. chunks: buffers."""
    fd = os.memfd_create("nnfast", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for chunk in chunks:
            view = memoryview(chunk).cast("B")
            while view.nbytes:
                view = view[os.write(fd, view):]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, FROZEN | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(fd)
        raise
    return fd


class Wake:
    """An eventfd that ends the sleep of a thread; closed with the last reference to it."""

    def __init__(self):
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def set(self):
        """Wake the thread."""
        if self.fd >= 0:
            os.eventfd_write(self.fd, 1)

    def clear(self):
        """Reset it: the thread is awake."""
        os.eventfd_read(self.fd)

    def close(self):
        """Nobody sleeps."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    __del__ = close


class Channel:
    """One end of a connection. Used by one thread at a time; `send` and `receive` may block.

    sender: pid of the only process whose messages are accepted, as it may have passed the socket on; None: any. With a
    sender the socket must have SO_PASSCRED, so that the kernel adds the sender's pid to each message.
    """

    def __init__(self, sock, packet=MAX_PACKET, large=MAX_LARGE, sender=None):
        self.socket, self.sender = sock, sender
        self.limit(packet, large)

    def limit(self, packet, large, slowly=nullcontext):
        """Set limits in bytes for packets, and for messages in a memfd (0: none allowed). slowly(): context manager in
        which long messages are decoded.
        """
        self._buffer, self._take = bytearray(packet), None
        self._view = memoryview(self._buffer)
        self._large, self._slowly = large, slowly

    def take_by(self, receive, buffer):
        """Have packets put into `buffer` by receive(): (bytes, ancillary data, flags), instead of by recvmsg."""
        self._buffer, self._view, self._take = buffer, memoryview(buffer), receive

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    @property
    def is_over(self):
        """True if the other end has hung up, or this one was closed."""
        fd = self.socket.fileno()
        poller = select.poll()
        poller.register(max(fd, 0), 0)
        return fd < 0 or bool(poller.poll(0))

    def hang_up(self):
        """Shut the connection down: wakes a thread blocked at this end, and both ends see the end of the stream."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster

    def send(self, message, fds=()):
        """Send a message with descriptors, which stay the caller's. Raises OSError if the other end is gone."""
        try:
            data = encode(message)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidArgument(f"an argument cannot be sent to the driver's process: {error}") from None
        if len(data) > MAX_PACKET:
            self._send_large(data, fds)
        elif fds:
            self._send_with(data, fds)
        else:
            self.socket.send(data, socket.MSG_NOSIGNAL)

    def _send_with(self, data, fds):
        self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", fds))], socket.MSG_NOSIGNAL)

    def _send_large(self, data, fds):
        fd = sealed_memfd([data])
        try:
            self._send_with(LARGE.pack(_LARGE_MARK, len(data)), [*fds, fd])
        finally:
            os.close(fd)

    def unread(self):
        """Bytes of sent messages that the other end has not received yet."""
        count = array("i", [0])
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, count)
        return count[0]

    def receive(self, decoder, fds):
        """The next message, None at the end of the stream; its descriptors are appended to the list `fds`, and are the
        caller's to close.

        Raises Malformed for an invalid message, OSError if the connection breaks.
        """
        if self._take is not None:
            count, ancillary, flags = self._take()
        else:
            count, ancillary, flags, _ = self.socket.recvmsg_into([self._buffer], ANCILLARY, _FLAGS)
        before, sender = len(fds), None
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array("i")
                numbers.frombytes(content[:len(content) // 4 * 4])
                fds += numbers
            elif level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                sender = _CREDENTIALS.unpack(content)[0]
        if not count:
            return None
        if sender != self.sender is not None:
            raise Impostor(f"service: a message on the connection of process {self.sender} is of process "
                           f"{sender or 'unknown'}; connect again, each process on its own")
        if flags & _CUT:
            raise Malformed(f"service: a message of more than {len(self._buffer)} bytes")
        data = self._view[:count]
        if flags & _CONTROL_CUT or len(fds) - before > MAX_FDS:
            raise LostDescriptors(None if data[0] == _LARGE_MARK else self._decode_long(decoder, data))
        if data[0] == _LARGE_MARK:
            data = _read_large(data, fds, self._large)
        return decode(decoder, data) if len(data) <= SHORT else self._decode_long(decoder, data)

    def _decode_long(self, decoder, data):
        with self._slowly():
            return decode(decoder, data)


def _read_large(data, fds, most):
    """The message, of at most `most` bytes, in the last of the descriptors, which is removed from them.

    A descriptor of any other kind stays with the others, for the caller to close, as that may block.
    """
    if len(data) != LARGE.size or not fds:
        raise Malformed("service: a large message without its memory")
    length = LARGE.unpack(data)[1]
    if not is_sealed(fds[-1], FROZEN) or os.fstat(fds[-1]).st_size != length or length > most:
        raise Malformed(f"service: a large message must be a sealed memfd of the announced size, at most {most} bytes "
                        f"on this connection")
    fd = fds.pop()
    try:
        content = bytearray(length)
        view, at = memoryview(content), 0
        while at < length:
            got = os.preadv(fd, [view[at:]], at)
            if not got:
                raise Malformed("service: a large message that ends early")
            at += got
        return content
    except OSError as error:
        raise Malformed(f"service: a large message that cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)
