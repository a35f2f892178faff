"""Smaller cases out of a case: some of its operations, or all of them on less."""

from dataclasses import replace

from ..model.types import LifeTime
from .reference import evaluate
from .vectors import Case


def part(case, keep, values):
    """A Case of the operations with these numbers. values: {operand: array} of what the others would write.

    What nothing writes any more becomes an input, what nothing reads an output. Raises an nnfast.Error where the
    definitions refuse it.
    """
    main, kept = case.model.main, [case.model.main.operations[index] for index in keep]
    known = dict(zip(main.inputs, case.inputs))
    written = [operand for operation in kept for operand in operation.outputs]
    read = {operand for operation in kept for operand in operation.inputs}
    was_output, is_written = set(main.outputs), set(written)
    outputs = [operand for operand in written if operand in was_output or operand not in read]
    number = {old: new for new, old in enumerate(sorted(read | is_written))}
    operands, inputs = [], [operand for operand in main.inputs if operand in read]
    for old in number:
        operand = main.operands[old]
        if old in is_written:
            lifetime = LifeTime.SUBGRAPH_OUTPUT if old in outputs else LifeTime.TEMPORARY_VARIABLE
            operand = replace(operand, lifetime=lifetime)
        elif operand.lifetime in (LifeTime.TEMPORARY_VARIABLE, LifeTime.SUBGRAPH_OUTPUT):
            known[old] = values[old]
            inputs.append(old)
            operand = replace(operand, lifetime=LifeTime.SUBGRAPH_INPUT, dims=known[old].shape)
        operands.append(operand)
    operations = tuple(replace(operation, inputs=tuple(number[i] for i in operation.inputs),
                               outputs=tuple(number[i] for i in operation.outputs)) for operation in kept)
    made = case.model.with_main(operands=tuple(operands), operations=operations,
                                inputs=tuple(number[i] for i in inputs), outputs=tuple(number[i] for i in outputs))
    return golden(case.name, made, tuple(known[i] for i in inputs))


def golden(name, model, inputs, most=None):
    """The Case of a model and its inputs: its outputs are those of the definitions. Arguments, errors: as evaluate."""
    values = evaluate(model, inputs, most=most)
    expected = tuple(values[operand] for operand in model.main.outputs)
    return Case(name, model, tuple(inputs), expected, (False,) * len(expected))
