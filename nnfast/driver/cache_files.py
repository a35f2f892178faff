"""Arguments of compilation caching: CacheFiles, the token, and the driver's version string."""

from collections.abc import Sequence
from functools import cache
from numbers import Integral

from .._native import kernels
from ..checks import kind_of, shown
from ..digests import blake2b
from ..errors import InvalidArgument
from ..record import record
from ..version import __version__

TOKEN_BYTES = 32
MODEL_FILES, DATA_FILES = 1, 1
_MOST_DESCRIPTORS = (1 << 31) - 1


@record(frozen=True, slots=True)
class CacheFiles:
    """Cache files that a client passes: `model` and `data`, each a tuple with one open file descriptor (int).

    They must be regular files, open for writing to store and for reading to load; closing them is left to the caller.
    """

    model: Sequence[int]
    data: Sequence[int]


def version_string() -> str:
    """Version of the driver; differs whenever compiled models or results may differ [NN 3.4]."""
    sizes = kernels.sizes()
    return _version_of(sizes["level1"], sizes["level2"])


@cache
def _version_of(*caches):
    """Kernels decide about results, caches about how a compiled model cuts its work."""
    names = "\n".join(sorted(row["name"] for row in kernels.table()))
    return f"nnfast {__version__} {blake2b(f'{names} {caches}'.encode(), digest_size=6).hexdigest()}"


def descriptors_of(files: CacheFiles) -> tuple[int, int]:
    """(model descriptor, data descriptor). Raises InvalidArgument for a wrong count or anything but descriptors."""
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


def check_token(token: bytes) -> None:
    """Raise InvalidArgument unless `token` is TOKEN_BYTES bytes."""
    if not isinstance(token, bytes | bytearray) or len(token) != TOKEN_BYTES:
        got = f"{len(token)} bytes" if isinstance(token, bytes | bytearray) else kind_of(token)
        raise InvalidArgument(f"compilation cache: the token is {got}, must be {TOKEN_BYTES} bytes")
