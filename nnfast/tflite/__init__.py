"""`.tflite` files -> canonical models. Imports numpy only; files are checked before they are used."""

from .custom import register, unregister
from .reader import load

__all__ = ["load", "register", "unregister"]
