"""Records: classes of named fields, made without the half millisecond that a dataclass takes.

    @record(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0

A record does what `dataclasses.dataclass` makes with the same arguments; `dataclasses.replace` and `fields` take it,
and type checkers see one. What needs code of its own, the constructor, is compiled when somebody first looks at it; the
rest walks over the fields. Records have slots, and no record for a base.
"""

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from .forks import importing

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import field, replace

__all__ = ["field", "record", "replace"]

_NONE = object()


class _Field:
    """A field that is more than a default; arguments as of dataclasses.field."""

    __slots__ = ("arguments", "compare", "default", "default_factory", "init", "name", "repr")

    def __init__(self, default=_NONE, default_factory=_NONE, init=True, repr=True, compare=True):
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare
        given = {"default": default, "default_factory": default_factory}
        self.arguments = {name: value for name, value in given.items() if value is not _NONE}
        self.arguments |= {"init": init, "repr": repr, "compare": compare}


class _Made:
    """An attribute of a class that is made, by make(), when somebody first looks at it."""

    __slots__ = ("make", "name", "owner")

    def __init__(self, owner, name, make):
        self.owner, self.name, self.make = owner, name, make

    def __get__(self, instance, owner=None):
        made = self.make()
        setattr(self.owner, self.name, made)
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made


def _record(cls=None, /, *, frozen=False, slots=True, eq=True, repr=True, weakref_slot=False):
    if not slots:
        raise TypeError("record: slots must be True")
    if cls is None:
        return lambda plain: _record(plain, frozen=frozen, eq=eq, repr=repr, weakref_slot=weakref_slot)
    namespace, fields = dict(cls.__dict__), []
    for name in cls.__annotations__:
        given = namespace.pop(name, _NONE)
        entry = given if isinstance(given, _Field) else _Field(given)
        entry.name = name
        fields.append(entry)
    names = tuple([entry.name for entry in fields])
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace["__slots__"] = (*names, "__weakref__") if weakref_slot else names
    namespace.setdefault("__match_args__", tuple([entry.name for entry in fields if entry.init]))
    if repr:
        namespace.setdefault("__repr__", _shown([entry.name for entry in fields if entry.repr]))
    if eq:
        values = _values([entry.name for entry in fields if entry.compare])
        namespace.setdefault("__eq__", _equal(values))
        namespace["__hash__"] = _hashed(values) if frozen else None
    namespace.setdefault("__replace__", _replace)
    namespace["_record_fields"] = tuple(fields)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    if frozen:
        _freeze(made, names)
    if "__init__" not in namespace:
        made.__init__ = _Made(made, "__init__", partial(_constructor, made, fields, frozen))
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        setattr(made, name, _Made(made, name, partial(_told, cls, fields, (frozen, eq, repr), name)))
    return made


def _replace(self, /, **changes):
    for entry in self._record_fields:
        if entry.init:
            if entry.name not in changes:
                changes[entry.name] = getattr(self, entry.name)
        elif entry.name in changes:
            raise ValueError(f"field {entry.name} is declared with init=False, it cannot be specified with replace()")
    return self.__class__(**changes)


if not TYPE_CHECKING:
    record, replace, field = _record, _replace, _Field


def _values(names):
    """function(record) -> something equal for records whose fields of these names are equal."""
    return attrgetter(*names) if names else lambda self: ()


def _equal(values):
    def __eq__(self, other):
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashed(values):
    def __hash__(self):
        return hash(values(self))

    return __hash__


def _shown(names):
    def __repr__(self):
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return __repr__


def _freeze(cls, names):
    """Have fields refuse new values, and pickle and copy set them all the same."""
    def refuse(verb, self, name):
        if type(self) is cls or name in names:
            with importing:
                from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def __setattr__(self, name, value):
        refuse("assign to", self, name)
        super(cls, self).__setattr__(name, value)

    def __delattr__(self, name):
        refuse("delete", self, name)
        super(cls, self).__delattr__(name)

    def __getstate__(self):
        return [getattr(self, name) for name in names]

    def __setstate__(self, state):
        for name, value in zip(names, state):
            object.__setattr__(self, name, value)

    for method in (__setattr__, __delattr__, __getstate__, __setstate__):
        if method.__name__ not in cls.__dict__:
            setattr(cls, method.__name__, method)


def _constructor(cls, fields, frozen):
    """__init__ of a record: sets the fields in order, past __setattr__ where that refuses, then calls __post_init__."""
    known, heads, lines = {}, [], []
    for entry in fields:
        name = value = entry.name
        default = entry.default is not _NONE or entry.default_factory is not _NONE
        if entry.default_factory is not _NONE:
            known[f"_factory_{name}"], known[f"_default_{name}"] = entry.default_factory, _NONE
            value = f"_factory_{name}()" + (f" if {name} is _default_{name} else {name}" if entry.init else "")
        elif default:
            known[f"_default_{name}"] = entry.default
            value = name if entry.init else f"_default_{name}"
        if entry.init:
            heads.append(f"{name}=_default_{name}" if default else name)
        elif not default:
            continue
        if frozen:
            known[f"_set_{name}"] = getattr(cls, name).__set__
        lines.append(f"    _set_{name}(self, {value})" if frozen else f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    exec("\n".join([f"def __init__({', '.join(['self', *heads])}):", *(lines or ["    pass"])]), known)
    init = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {entry.name: cls.__annotations__[entry.name] for entry in fields if entry.init}
    init.__annotations__["return"] = None
    return init


def _told(cls, fields, options, name):
    """What `dataclasses` wants to know of a record, as the class that was written would tell it as a dataclass."""
    with importing:
        import dataclasses

    if "__dataclass_fields__" not in cls.__dict__:
        for entry in fields:
            if isinstance(cls.__dict__.get(entry.name), _Field):
                setattr(cls, entry.name, dataclasses.field(**entry.arguments))
        frozen, eq, repr = options
        dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr)(cls)
    return getattr(cls, name)
