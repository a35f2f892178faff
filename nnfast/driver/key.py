"""The secret key that authenticates what the driver has stored, in a file that only its user can read.

Anyone with the key can forge stored models, so file permissions must protect it. A process that can neither read nor
create the file uses a random key of its own; only that process can load what it stores.
"""

import os
from contextlib import suppress
from functools import cache

from .. import config, vlog
from .._native.codec import KEY_BYTES, KeyedDigest
from .own_files import NotOurs, OwnFolder

_of_this_process = os.urandom(KEY_BYTES)


def digest():
    """The KeyedDigest under the key of the user."""
    return _digest(config.key_path(), os.geteuid())


@cache
def _digest(path, user):
    try:
        if path is None:
            raise OSError("there is no home folder for it; set NNFAST_KEY")
        return KeyedDigest(_stored(path))
    except OSError as error:
        vlog.log(vlog.COMPILATION, "compilation cache: no key (%s): no other process can load what this one stores",
                  error)
        return KeyedDigest(_of_this_process)


def check(path):
    """Raises OSError where the key in this file is not used: there is none, it is cut short, or others may know it."""
    with OwnFolder(os.path.dirname(path) or ".") as folder:
        _read(folder, os.path.basename(path))


def _stored(path):
    """The key in a file, which is created if missing. Raises OSError."""
    name = os.path.basename(path)
    with OwnFolder(os.path.dirname(path) or ".", make=True) as folder:
        with suppress(FileNotFoundError):
            return _read(folder, name)
        fresh = f".{name}.{os.getpid()}.{os.urandom(8).hex()}"
        descriptor = folder.create(fresh)
        try:
            os.write(descriptor, os.urandom(KEY_BYTES))
            os.fsync(descriptor)
            with suppress(FileExistsError):  # another process was faster: use its key
                folder.link(name, fresh)
                folder.sync()
        finally:
            os.close(descriptor)
            folder.remove(fresh)
        return _read(folder, name)


def _read(folder, name):
    descriptor = folder.open(name, private=True)
    try:
        key = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(key) != KEY_BYTES:
        raise NotOurs(f"{os.path.join(folder.path, name)} holds no key of {KEY_BYTES} bytes; remove it")
    return key
