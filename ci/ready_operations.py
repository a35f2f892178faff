"""Prints the operations that nnfast runs, separated by commas: what `nnfast vts --ops` takes."""

from nnfast.model.types import OperationType
from nnfast.ops.registry import supported_codes

print(",".join(OperationType(code).name for code in supported_codes()))
