"""BLAKE2b without OpenSSL, which hashlib loads first: 2 ms of a new process."""

from .forks import importing

with importing:
    try:
        from _blake2 import blake2b
    except ImportError:  # an interpreter that was built without it
        from hashlib import blake2b

__all__ = ["blake2b"]
