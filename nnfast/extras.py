"""Packages that not every installation has: `pip install nnfast` brings numpy alone.

    from ..extras import msgspec            # the package, or MissingPackage, which says how to get it
    pa = needed("pyarrow", "tables")
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .errors import MissingPackage
from .forks import importing

if TYPE_CHECKING:
    import msgspec as msgspec

EXTRAS = {
    "PIL": ("Pillow", "image", "pictures"),
    "dask": ("dask", "distributed", "running on a cluster"),
    "distributed": ("distributed", "distributed", "running on a cluster"),
    "flatbuffers": ("flatbuffers", "tflite", "writing .tflite files"),
    "matplotlib": ("matplotlib", "plot", "plots"),
    "msgspec": ("msgspec", "service", "saved models, the compilation cache and the driver's process"),
    "pyarrow": ("pyarrow", "distributed", "Parquet files"),
    "rich": ("rich", "cli", "tables and reports"),
    "zarr": ("zarr", "distributed", "zarr arrays"),
}
"""Package that is imported -> what it is called when it is installed, the extra that brings it, what needs it."""


def missing(name, what=None):
    """The MissingPackage of a module that could not be imported, None for one of nobody's. what: what needs it."""
    package = name.partition(".")[0]
    if package == "numpy":  # of every installation, but one that was made by hand
        return MissingPackage("needs numpy; pip install numpy")
    if package not in EXTRAS:
        return None
    called, extra, use = EXTRAS[package]
    return MissingPackage(f"{what or use}: needs {called}; pip install 'nnfast[{extra}]'")


def needed(name, what=None):
    """A module of a package of EXTRAS. what: what needs it. Raises MissingPackage."""
    with importing:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            raise missing(error.name or name, what) or error from None


def __getattr__(name):
    if name not in EXTRAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return needed(name)
