"""One end of a connection: messages as packets, large ones in sealed memfds, descriptors by SCM_RIGHTS."""

import fcntl
import os
import socket
import struct
from array import array

import msgspec

from .protocol import MAX_FDS, MAX_PACKET
from .records import encode

MAX_LARGE = 1 << 26
"""Bytes of a message in a memfd: models and arrays do not go into messages."""

LARGE = struct.Struct("<BQ")
_LARGE_MARK = 0xC1  # the one byte that msgpack never uses
_ANCILLARY = socket.CMSG_SPACE(MAX_FDS * 4)
_FLAGS = socket.MSG_CMSG_CLOEXEC
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Malformed(Exception):
    """A packet that is no message; the packets behind it may be some."""


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
        raise Malformed(f"service: a message that is none: {error}") from None


def sealed_memfd(chunks):
    """Descriptor of a new memfd of these bytes, which nobody can change any more. chunks: buffers."""
    fd = os.memfd_create("nnfast", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for chunk in chunks:
            view = memoryview(chunk).cast("B")
            while view.nbytes:
                view = view[os.write(fd, view):]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(fd)
        raise
    return fd


def is_sealed(fd, seals=_SEALS):
    """True for a memfd that has all these seals."""
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS) & seals == seals
    except OSError:
        return False


class Wake:
    """An eventfd that ends the sleep of a thread; closed with the last reference to it."""

    def __init__(self):
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def set(self):
        """Wake the thread."""
        if self.fd >= 0:
            os.eventfd_write(self.fd, 1)

    def clear(self):
        """The thread is awake."""
        os.eventfd_read(self.fd)

    def close(self):
        """Nobody sleeps."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    __del__ = close


class Channel:
    """One end of a connection. Used by one thread at a time; `send` and `receive` may block."""

    def __init__(self, sock):
        self.socket = sock
        self._buffer = bytearray(MAX_PACKET)
        self._view = memoryview(self._buffer)
        self._count = 0

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def send(self, message, fds=()):
        """Send a message with descriptors, which stay the caller's. Raises OSError when the other end is gone."""
        data = encode(message)
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

    def packet(self):
        """The bytes of the last packet that was received."""
        return bytes(self._view[:self._count])

    def receive(self, decoder, fds):
        """The next message, None at the end of the stream; its descriptors are added to the list `fds`, the caller's.

        Raises Malformed for what is no message, OSError when the connection breaks.
        """
        count, ancillary, flags, _ = self.socket.recvmsg_into([self._buffer], _ANCILLARY, _FLAGS)
        self._count = count
        if ancillary:
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array("i")
                    numbers.frombytes(content[:len(content) // 4 * 4])
                    fds += numbers
        if not count:
            return None
        if flags & socket.MSG_TRUNC:
            raise Malformed(f"service: a message of more than {MAX_PACKET} bytes")
        data = self._view[:count]
        if flags & socket.MSG_CTRUNC:
            raise LostDescriptors(None if data[0] == _LARGE_MARK else decode(decoder, data))
        if data[0] == _LARGE_MARK:
            data = _read_large(data, fds)
        return decode(decoder, data)


def _read_large(data, fds):
    """The message in the last of the descriptors."""
    if len(data) != LARGE.size or not fds:
        raise Malformed("service: a large message without its memory")
    length, fd = LARGE.unpack(data)[1], fds.pop()
    try:
        if not is_sealed(fd) or os.fstat(fd).st_size != length or length > MAX_LARGE:
            raise Malformed(f"service: a large message must be a sealed memfd of the announced size, at most "
                            f"{MAX_LARGE} bytes")
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
