"""The arguments of compilation caching, which a caller needs before there is anything to store or load."""

import hashlib
from dataclasses import dataclass
from functools import cache
from numbers import Integral

from .._native import kernels
from ..checks import shown
from ..errors import InvalidArgument
from ..version import __version__

TOKEN_BYTES = 32
MODEL_FILES, DATA_FILES = 1, 1
_MOST_DESCRIPTORS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class CacheFiles:
    """Open descriptors of the cache files, as the client passes them: model and data, one of each."""

    model: tuple
    data: tuple


@cache
def version_string():
    """Version of the driver, which changes with whatever may change compiled models or results [NN 3.4]."""
    names = "\n".join(sorted(row["name"] for row in kernels.table()))
    return f"nnfast {__version__} {hashlib.sha256(names.encode()).hexdigest()[:12]}"


def descriptors_of(files):
    """(model descriptor, data descriptor). Raises InvalidArgument for a wrong number, and for what are none."""
    if not isinstance(files, CacheFiles):
        raise InvalidArgument(f"compilation cache: is {type(files).__name__}, must be an nnfast.CacheFiles")
    for name, given, wanted in (("model", files.model, MODEL_FILES), ("data", files.data, DATA_FILES)):
        if not isinstance(given, tuple | list):
            raise InvalidArgument(f"compilation cache: the {name} files are {type(given).__name__}, must be a tuple "
                                  f"of open descriptors")
        if len(given) != wanted:
            raise InvalidArgument(f"compilation cache: got {len(given)} {name} files, must be {wanted}")
        for place, descriptor in enumerate(given):
            if isinstance(descriptor, bool) or not isinstance(descriptor, Integral) or \
                    not -_MOST_DESCRIPTORS <= descriptor <= _MOST_DESCRIPTORS:
                raise InvalidArgument(f"compilation cache: {name} file {place} is {shown(descriptor)}, must be the "
                                      f"number of an open descriptor")
    return int(files.model[0]), int(files.data[0])


def check_token(token):
    """Refuse what is no token."""
    if not isinstance(token, bytes | bytearray) or len(token) != TOKEN_BYTES:
        got = f"{len(token)} bytes" if isinstance(token, bytes | bytearray) else f"a {type(token).__name__}"
        raise InvalidArgument(f"compilation cache: the token is {got}, must be {TOKEN_BYTES} bytes")
