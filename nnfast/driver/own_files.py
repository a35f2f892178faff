"""Files that nobody but the driver's user can have written: folders and files are opened so that no other user decides
what is found there, and that nothing blocks."""

import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotOurs(OSError):
    """A file or folder that belongs to somebody else, or that others may change."""


class OwnFolder:
    """A folder of ours, open inside a `with`; its files are opened relative to it, wherever its name leads meanwhile.

    Raises OSError where there is none, or where it is not ours alone.
    """

    def __init__(self, path, make=False):
        if make:
            os.makedirs(path, mode=0o700, exist_ok=True)
        self.path, self._fd = path, os.open(path, _FOLDER)
        try:
            self._check(os.fstat(self._fd), path, "folder")
        except OSError:
            os.close(self._fd)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self._fd)

    def open(self, name, private=False):
        """Descriptor, to read, of a file of the folder. private: nobody else may read it either."""
        descriptor = os.open(name, os.O_RDONLY | _FILE, dir_fd=self._fd)
        try:
            found = os.fstat(descriptor)
            path = os.path.join(self.path, name)
            if not stat.S_ISREG(found.st_mode):
                raise NotOurs(f"{path} is not a regular file; remove it")
            self._check(found, path, "file", private)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def create(self, name):
        """Descriptor, to read and write, of a new file that nobody else may open."""
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self._fd)

    def replace(self, name, by):
        """Give a file of the folder the name of another, which is replaced."""
        os.replace(by, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def link(self, name, to):
        """Give a file a second name, unless there is a file of that name: FileExistsError."""
        os.link(to, name, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)

    def remove(self, name):
        """Remove a file."""
        os.unlink(name, dir_fd=self._fd)

    def sync(self):
        """Wait until the names are on the disk."""
        os.fsync(self._fd)

    @staticmethod
    def _check(found, path, kind, private=False):
        if found.st_uid != os.geteuid():
            raise NotOurs(f"{path} belongs to user {found.st_uid}, must belong to user {os.geteuid()}, who runs this")
        others = found.st_mode & (0o077 if private else 0o022)
        if others:
            right = "read or change" if private else "change"
            raise NotOurs(f"others may {right} the {kind} {path} (mode {stat.S_IMODE(found.st_mode):04o}); "
                          f"use chmod {'go=' if private else 'go-w'}")
