"""Who may use which vendor extensions (hal.md 9.2): a file with one executable per line.

    # comment
    /usr/bin/camera  com.example.fibonacci com.example.filters
    /opt/apps/       *

A path that ends in a slash stands for everything below it; `*` for all extensions. Without a file every client may use
all; with one, an executable that is not in it may use none.
"""

import os

from ..errors import InvalidArgument
from ..model.types import EXTENSION_NAME


class Allowlist:
    """rules: [(path, names)], names None for all; None instead of a list: there is no file."""

    def __init__(self, rules=None):
        self._rules = rules

    @classmethod
    def read(cls, path):
        """The rules of a file. Raises InvalidArgument with the line, OSError where it cannot be read."""
        rules = []
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                where = f"{path} line {number}"
                if not os.path.isabs(words[0]):
                    raise InvalidArgument(f"{where}: {words[0]!r} is no absolute path of an executable")
                wrong = [word for word in words[1:] if word != "*" and not EXTENSION_NAME.fullmatch(word)]
                if wrong or not words[1:]:
                    raise InvalidArgument(f"{where}: {wrong[0]!r} is no name of an extension" if wrong else
                                          f"{where}: names no extension; * stands for all")
                rules.append((words[0], None if "*" in words[1:] else frozenset(words[1:])))
        return cls(rules)

    def extensions_of(self, executable):
        """Names of the registered extensions that an executable may use; None for all of them."""
        from ..extensions import registered

        if self._rules is None:
            return None
        allowed, known = set(), registered().keys()
        for path, names in self._rules:
            if executable == path or (path.endswith("/") and executable.startswith(path)):
                allowed |= known if names is None else names & known
        return sorted(allowed)
