"""Files that only the driver's user can have written: folders and files are opened so that no other user can influence
what is found there, and without blocking."""

import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotOurs(OSError):
    """A file or folder that belongs to another user, or that others may change."""


class OwnFolder:
    """A folder of the current user, open inside a `with`; files are opened relative to it, even if it is renamed.

    Raises OSError if it does not exist, NotOurs if others own or may change it.
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
        """Read-only descriptor of a file of the folder. private: others must not be able to read it either."""
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
        """Read-write descriptor of a new file that only its owner may open."""
        return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self._fd)

    def replace(self, name, by):
        """Rename the file `by` to `name`, replacing what has that name."""
        os.replace(by, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def link(self, name, to):
        """Hard-link `to` as `name`; raises FileExistsError if that exists."""
        os.link(to, name, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)

    def remove(self, name):
        """Remove a file."""
        os.unlink(name, dir_fd=self._fd)

    def sync(self):
        """Flush the folder's entries to disk."""
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
