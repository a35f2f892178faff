"""Docstrings as the reference of the site shows them: a list of what is named, where the source has plain text.

    num_threads: threads per run.            ->  - `num_threads`: threads per run.
    memory_limit: bytes. None: no limit.         - `memory_limit`: bytes. None: no limit.
"""

import re

import griffe

END = "<!-- -->"
"""Between a list and an example, which Markdown would take for a part of the list."""


class Parameters(griffe.Extension):
    """Lists the parameters of functions, and those and the attributes of classes (mkdocs.yml)."""

    def on_function_instance(self, *, func, **_):
        listed(func, [parameter.name for parameter in func.parameters])

    def on_class_members(self, *, cls, **_):
        made = cls.members.get("__init__")
        listed(cls, [*cls.members, *(parameter.name for parameter in (made.parameters if made else ()))])


def listed(thing, names):
    """Put these names into lists in the docstring of a function or class, and drop what is for its own module."""
    if not thing.docstring or not names:
        return
    parts = []
    for part in thing.docstring.value.split("\n\n"):
        if part.startswith("    ") and parts and re.search(r"^- .*\Z", parts[-1], re.M):
            parts.append(END)
        if not part.startswith("Internal: "):
            parts.append(as_list(part, names))
    thing.docstring.value = "\n\n".join(parts)


def as_list(text, names):
    """A paragraph; what begins with the first `name: ` becomes a list, up to what the function returns or raises."""
    name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    head, *rest = re.split(rf"(?:^|(?<=[.;)])\s)((?:{name})(?:, (?:{name}))*):\s", text)
    if not rest or text.startswith("    "):
        return text
    *said, last = rest[1::2]
    last, *after = re.split(r"(?<=\.)\s(?=(?:Returns|Raises)\s)", last, maxsplit=1)
    items = [f"- {', '.join(f'`{word}`' for word in called.split(', '))}: {' '.join(words.split()).rstrip(';')}"
             for called, words in zip(rest[::2], [*said, last])]
    return "\n\n".join(filter(None, (head.strip(), "\n".join(items), *after)))
