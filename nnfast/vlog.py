"""Verbose log lines by tag, in the syntax of `debug.nn.vlog` [NN 12.1], through the logging module.

    NNFAST_VLOG="execution,cpuexe"          nnfast.vlog.set("all")

Code asks before it makes a line, so that one that nobody wants costs a comparison:

    if vlog.mask & vlog.COMPILATION:
        vlog.log(vlog.COMPILATION, "prepare %s: %d operations", name, count)

Refusals are logged in any case. Loggers are `nnfast.<tag>`, lines are of level INFO.
The library prints nothing of its own accord: only while a tag is on, and where the application has set up no logging,
lines go to stderr. `logging` is imported with the first tag that is on.
"""

from __future__ import annotations

import functools
import re
import sys
from typing import TYPE_CHECKING

from . import config, observe
from .checks import text as checked_text
from .errors import Error
from .forks import importing

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import typed

TAGS = ("model", "compilation", "execution", "cpuexe", "manager", "driver", "memory")
MODEL, COMPILATION, EXECUTION, CPUEXE, MANAGER, DRIVER, MEMORY = (1 << bit for bit in range(len(TAGS)))
ALL = (1 << len(TAGS)) - 1

_INFO = 20  # logging.INFO

mask: int = 0
"""Bits of the tags that are on."""

_knob = ""
_is_on, _handler = False, None  # the loggers let lines pass; what brings them to stderr


def parse(text: str | None) -> tuple[int, list[str]]:
    """(mask, unknown tokens) of a value of the property: tags between spaces, commas or colons, `all` or 1."""
    bits, unknown = 0, []
    text = checked_text(text, "vlog: tags") if text is not None else ""
    for token in re.split("[ ,:]", text) if text else ():
        if token in ("1", "all"):
            return ALL, unknown
        if token in TAGS:
            bits |= 1 << TAGS.index(token)
        else:
            unknown.append(token)
    return bits, unknown


def set(text: str) -> None:
    """Turn on exactly the tags that `text` names ("" = none). An unknown tag gets an error line and is ignored."""
    global mask, _is_on
    wanted, unknown = parse(text)
    before, mask = mask, wanted
    observe.watch(_sees_runs(wanted) - _sees_runs(before))
    if text or _is_on:
        _is_on = bool(text)
        _set_up(_is_on)
    for token in unknown:
        _logger("").error("vlog: unknown tag %r; there are %s and all", token, ", ".join(TAGS))


def init() -> None:
    """Take over NNFAST_VLOG where it has changed since the last look, as AOSP's initVLogMask does with the property."""
    global _knob
    text = config.get("NNFAST_VLOG")
    if text != _knob:
        _knob = text
        set(text)


def log(tag: int, text: str, *values: object) -> None:
    """A line of one tag, formatted if anyone takes it. Without the logging module in the process, nobody can.

    Records hold the text, not the values: whoever keeps them does not keep the memory of a call, which an error's
    traceback leads to.
    """
    if "logging" in sys.modules:
        logger = _logger("." + TAGS[tag.bit_length() - 1])
        if logger.isEnabledFor(_INFO):
            logger.info("%s", text % values)


def log_errors(tag: int, call: str) -> Callable[[typed.Method], typed.Method]:
    """Decorator: logs the nnfast error that a method raises."""
    def decorate(method):
        @functools.wraps(method)
        def logged(*args, **options):
            try:
                return method(*args, **options)
            except Error as error:
                log(tag, "%s: %s: %s", call, error.status.name, error)
                raise
        return logged
    return decorate


def _sees_runs(bits):
    return 1 if bits & (EXECUTION | CPUEXE) else 0


@functools.cache
def _logger(suffix):
    with importing:
        import logging

    root = logging.getLogger("nnfast")
    if not root.handlers:
        root.addHandler(logging.NullHandler())  # else logging itself would print warnings
    return logging.getLogger("nnfast" + suffix)


def _set_up(on):
    """Let lines of level INFO pass, and bring them to stderr where the application takes none."""
    with importing:
        import logging

    global _handler
    root = _logger("")
    root.setLevel(logging.INFO if on else logging.NOTSET)
    if _handler is None:
        class Stderr(logging.StreamHandler):
            """Writes to what is sys.stderr now."""

            @property
            def stream(self):
                return sys.stderr

            @stream.setter
            def stream(self, value):
                """It is always sys.stderr."""

        _handler = Stderr()
        _handler.setFormatter(logging.Formatter("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%H:%M:%S"))
        _handler.addFilter(lambda record: not logging.getLogger().handlers)
    (root.addHandler if on else root.removeHandler)(_handler)


init()
