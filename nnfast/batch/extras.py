"""Packages that only some kinds of files need."""

from importlib import import_module

from ..errors import InvalidArgument
from ..forks import importing


def needed(name, what):
    """A module of a package that is not part of every installation. what: what needs it. Raises InvalidArgument."""
    with importing:
        try:
            return import_module(name)
        except ImportError:
            package = name.partition(".")[0]
            raise InvalidArgument(f"{what}: needs {package}; pip install 'nnfast[distributed]'") from None
