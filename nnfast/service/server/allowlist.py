"""Who may use which vendor extensions [NN 9.2]: a file with one executable per line.

    # comment
    /usr/bin/camera  com.example.fibonacci com.example.filters
    /opt/apps/       *
    /usr/bin/player
    com.example.app

A path that ends in a slash covers everything below it; `*`, or a path alone, means all extensions. Android's
nnapi_extensions_app_allowlist, which has one path or app package per line, is valid too: a package name is accepted but
matches nothing, as Linux has no such packages. Without a file every client may use all extensions; with one, an
executable that is not listed may use none.
"""

import os
import re

from ... import vlog
from ...errors import InvalidArgument
from ...forks import importing
from ...model.types import EXTENSION_NAME

_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)


class Allowlist:
    """rules: [(path, names)], names None for all; None instead of a list: there is no file."""

    def __init__(self, rules=None):
        self._rules = rules

    @classmethod
    def read(cls, path):
        """The rules of a file. Raises InvalidArgument with the line number, OSError if it cannot be read."""
        rules = []
        with open(path, encoding="utf-8", errors="surrogateescape") as lines:
            for number, line in enumerate(lines, 1):
                words = line.partition("#")[0].split()
                if words:
                    rules += _rule(f"{path} line {number}", *words)
        return cls(rules)

    @property
    def is_limited(self):
        """True if permissions depend on the program that a client runs."""
        return self._rules is not None

    def extensions_of(self, executable):
        """Names of the registered extensions that an executable may use; None for all of them."""
        with importing:
            from ...extensions import registered

        if self._rules is None:
            return None
        allowed, known = set(), registered().keys()
        for path, names in self._rules:
            if executable == path or (path.endswith("/") and executable.startswith(path)):
                allowed |= known if names is None else names & known
        return sorted(allowed)


def _rule(where, who, *names):
    """[(path, names)] of a line; [] of one with a package name. Raises InvalidArgument."""
    if not os.path.isabs(who):
        if names or not _PACKAGE.fullmatch(who):
            raise InvalidArgument(f"{where}: {who!r} is neither the absolute path of an executable nor the package of "
                                  "an app")
        vlog.log(vlog.DRIVER, "%s: %s is the package of an app: no executable here belongs to it", where, who)
        return []
    wrong = [name for name in names if name != "*" and not EXTENSION_NAME.fullmatch(name)]
    if wrong:
        raise InvalidArgument(f"{where}: {wrong[0]!r} is not the name of an extension")
    return [(who, None if not names or "*" in names else frozenset(names))]
