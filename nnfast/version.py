"""The version of nnfast."""

__version__ = "0.2.0"
