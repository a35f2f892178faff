"""Shared memory, files and fences that change under the driver's hands."""

import fcntl
import os
import socket
import struct
import tempfile
import time

import numpy as np

from nnfast import CacheFiles, Fence, Memory
from nnfast.errors import Error

from .foe import Foe
from .models import small

TOKEN = bytes(32)


class Sharers(Foe):
    LOCAL = ("shrink_memory", "append_results", "wait_for_strange_fences", "flap_fences", "forge_cache",
             "give_odd_cache_files", "write_while_it_reads")

    def shrink_memory(self):
        """A pool of a request gets shorter while the driver reads it."""
        fd = os.memfd_create("shrinks")
        try:
            os.ftruncate(fd, 1 << 16)
            with self._device() as device:
                prepared = device.prepare(self._model)
                request = self._request(prepared, Memory("ashmem", fd, 1 << 16))
                execution = prepared.execute_fenced(request)
                os.ftruncate(fd, 0)
                execution.fence.wait(5)
                prepared.execute(request)
        finally:
            os.close(fd)

    def append_results(self):
        """A file that writes only at its end."""
        with tempfile.NamedTemporaryFile() as file, self._device() as device:
            prepared = device.prepare(small(4))
            os.ftruncate(file.fileno(), 4096)
            fd = os.open(file.name, os.O_RDWR | os.O_APPEND)
            try:
                prepared.execute(self._request(prepared, Memory("mmap_fd", fd, 4096)))
                if os.fstat(fd).st_size != 4096:
                    self.wrong.append("append_results: the results were appended")
            finally:
                os.close(fd)

    def block_fences(self):
        """Result fences that block whoever writes them, and a client that goes."""
        with self._device() as device:
            prepared = device.prepare(small())
            request, never, kept = self._request(prepared), Fence(), []
            for _ in range(30):
                execution = prepared.execute_fenced(request, [never])
                fd = os.dup(execution.fence.fileno())
                fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
                kept.append((execution, fd))
            self._fill(fd for _, fd in kept)
            device.close()
            self._fill(fd for _, fd in kept)
            for _, fd in kept:
                os.close(fd)

    @staticmethod
    def _fill(fds):
        """Make the next write wait, where that can be."""
        for fd in fds:
            try:
                flags = fcntl.fcntl(fd, fcntl.F_GETFL)
                fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
                os.write(fd, struct.pack("Q", 0xFFFFFFFFFFFFFFFD))
                fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
            except OSError:
                pass  # it is no eventfd, or full

    def wait_for_strange_fences(self):
        """Descriptors that are no fences, and very many of those that are."""
        with self._device() as device:
            prepared = device.prepare(small())
            request, kept = self._request(prepared), []
            reading, writing = os.pipe()
            ours, theirs = socket.socketpair()
            try:
                strange = [os.open("/dev/zero", os.O_RDONLY), os.open(os.path.curdir, os.O_RDONLY), reading, writing,
                           ours.fileno(), os.memfd_create("none")]
                for fd in strange:
                    try:
                        # Nothing ever happens at some of them: without a deadline that would be for ever.
                        kept.append(prepared.execute_fenced(request, [Fence.from_fd(fd)],
                                                            deadline=time.monotonic() + 5))
                    except Error:
                        pass
                for fd in strange[:2] + strange[5:]:
                    os.close(fd)
                many = [Fence() for _ in range(100)]
                for _ in range(40):
                    kept.append(prepared.execute_fenced(request, many))
            finally:
                for fd in (reading, writing):
                    os.close(fd)
                ours.close()
                theirs.close()

    def flap_fences(self):
        """A fence that is signalled and is not, over and over."""
        with self._device() as device:
            prepared = device.prepare(small())
            fd = os.eventfd(0, os.EFD_NONBLOCK)
            try:
                execution = prepared.execute_fenced(self._request(prepared), [Fence.from_fd(fd)])
                for _ in range(2000):
                    os.eventfd_write(fd, 1)
                    try:
                        os.eventfd_read(fd)
                    except BlockingIOError:
                        pass
                execution.fence.wait(0.1)
            finally:
                os.eventfd_write(fd, 1)  # else who never looked at the right moment would wait for ever
                os.close(fd)

    def forge_cache(self):
        """Cache files with one change behind the start."""
        with self._device() as device:
            files = [os.memfd_create("cache") for _ in range(2)]
            try:
                stored = CacheFiles(files[:1], files[1:])
                device.prepare(small(64), cache=stored, token=TOKEN)
                for _ in range(20):
                    fd = self.random.choice(files)
                    content = os.pread(fd, os.fstat(fd).st_size, 0)
                    at = self.random.randrange(max(1, len(content)))
                    os.pwrite(fd, self.random.randbytes(self.random.choice((1, 4, 200))), at)
                    try:
                        prepared = device.prepare_from_cache(stored, TOKEN)
                        result, = prepared.run([np.ones((1, 64), np.float32)])
                        if not np.all(result == 8):
                            self.wrong.append("forge_cache: a changed file was believed")
                    except Error:
                        pass
                    os.ftruncate(fd, 0)
                    os.pwrite(fd, content, 0)
            finally:
                for fd in files:
                    os.close(fd)

    def give_odd_cache_files(self):
        """A pipe, a folder, a device, the same file twice, a file of zeros without end."""
        reading, writing = os.pipe()
        folder, zero, sparse = os.open("/", os.O_RDONLY), os.open("/dev/zero", os.O_RDWR), os.memfd_create("sparse")
        fds = [reading, writing, folder, zero, sparse]
        try:
            os.ftruncate(sparse, 1 << 40)
            with self._device() as device:
                for _ in range(10):
                    files = CacheFiles((self.random.choice(fds),), (self.random.choice(fds),))
                    device.prepare(self._model, cache=files, token=TOKEN)
                    try:
                        device.prepare_from_cache(files, TOKEN)
                    except Error:
                        pass
        finally:
            for fd in fds:
                os.close(fd)

    def write_while_it_reads(self):
        """Inputs, indexes and results change all the time."""
        with self._device() as device:
            prepared = device.prepare(self._model)
            request = self._request(prepared)
            memory = request.pools[0].array()
            execution = prepared.execute_fenced(request)
            for _ in range(200):
                memory[:] = self.random.randrange(256)
            execution.fence.wait(5)
