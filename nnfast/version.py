"""The version of nnfast."""

__version__ = "0.1.0"
