"""`.tflite` files -> canonical models. Imports numpy only; files are validated before use."""

from .custom import register, unregister
from .reader import load

__all__ = ["load", "register", "unregister"]
