"""The HAL under its HIDL names: one face per version over the canonical driver [NN 3].

    device = nnfast.hal.v1_3.Device()
    status = device.prepareModel_1_3(model, preference, priority, None, [], [], bytes(32), callback)

Methods return statuses, or tuples that begin with one, and never raise for what a client hands in; the reason of the
last refusal on this thread is in `device.last_error()` and in the log "nnfast". docs/hal.md has every method.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..forks import importing

if TYPE_CHECKING:
    from typing import Any

__all__ = ["convert", "utils", "v1_0", "v1_1", "v1_2", "v1_3", "validate"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        with importing:
            return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'nnfast.hal' has no attribute {name!r}")
