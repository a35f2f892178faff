"""Changes of models, each a function of a model, and what validation says of the result."""

from dataclasses import replace

import pytest

from nnfast.errors import InvalidArgument
from nnfast.model.validate import validate_model


def edit(index, **changes):
    """Change fields of an operand of the main graph."""
    def apply(model):
        operands = list(model.main.operands)
        operands[index] = replace(operands[index], **changes)
        return model.with_main(operands=tuple(operands))
    return apply


def edit_operation(index, **changes):
    """The same of an operation."""
    def apply(model):
        operations = list(model.main.operations)
        operations[index] = replace(operations[index], **changes)
        return model.with_main(operations=tuple(operations))
    return apply


def refuse(model, text):
    """Validation refuses the model in one line with this text."""
    with pytest.raises(InvalidArgument) as caught:
        validate_model(model)
    assert text in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)
