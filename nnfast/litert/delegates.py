"""The names by which LiteRT chooses its kernels. nnfast has its own, one set for all choices."""

from enum import Enum, unique

from ..checks import shown

NO_DELEGATES = ("nnfast runs every operator with its own CPU kernels and cannot load TFLite delegates; run the model "
                "without one")


@unique
class OpResolverType(Enum):
    """Which kernels LiteRT takes. All of them give the numbers of its reference kernels (BUILTIN_REF) here."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class Delegate:
    """A delegate of a shared library: always raises ValueError, as LiteRT does for a library that has none."""

    def __init__(self, library, options=None):
        raise ValueError(NO_DELEGATES)


def load_delegate(library, options=None):
    """Always raises ValueError, on which programs that ask for a delegate go on without one."""
    raise ValueError(f"Failed to load delegate from {shown(library)}\n{NO_DELEGATES}")
