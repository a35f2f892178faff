"""Operations of nnfast's own beside the standard's: what TFLite has and NNAPI has no word for.

Each is an OpDef in a file of this folder, as those of the standard, under the name TFL_X for TFLite's operator X. It is
no operation of the standard: models name it by a code of the extension model.own.NAME, and the HAL offers none of them.
"""

from importlib import import_module

from ..forks import importing
from ..model.own import NAME, PREFIX, TYPES
from ..model.types import Definition

FAMILIES = {
    "tfl_rank": {"TFL_RANK_0": 1000, "TFL_RANK_1": 1001, "TFL_EMPTY": 1002, "TFL_COPY": 1003},
    "tfl_fully_connected": {"TFL_FULLY_CONNECTED": 9},
    "tfl_unary": {"TFL_COS": 108, "TFL_ROUND": 116, "TFL_SIGN": 158, "TFL_GELU": 150},
}
"""Family file -> its operations with their ids: TFLite's builtin codes; others have those from 1000 on."""


class OwnOperation(Definition):
    """An operation of nnfast's own. code: that of operations in a model, under PREFIX; op: its OpDef."""

    extension = NAME

    def __init__(self, name, id, family):
        self.name, self.id, self.family = name, id, family
        self.code = PREFIX << 16 | id

    @property
    def op(self):
        with importing:
            return getattr(import_module(f".{self.family}", __package__), self.name)

    def __repr__(self):
        return f"<OwnOperation {self.id} {self.name}>"

    def __reduce__(self):
        return BY_NAME.__getitem__, (self.name,)


BY_NAME = {name: OwnOperation(name, id, family) for family, names in FAMILIES.items() for name, id in names.items()}


class OwnExtension:
    """As a vendor's extensions.Extension: members by id."""

    name, types, operations = NAME, TYPES, {operation.id: operation for operation in BY_NAME.values()}


EXTENSION = OwnExtension()
