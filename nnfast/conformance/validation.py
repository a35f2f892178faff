"""Kind `validation`: models and requests that are wrong in one place and must be refused [NN 16.6]."""

import re
from dataclasses import replace
from functools import partial

from ..errors import Error, ErrorStatus
from .bursts import count
from .mutations import ARGUMENTS
from .verdict import FAILED, Part, describe

_MESSAGE = re.compile(r"(main|referenced\[\d+\]|prepare|request|waitFor)[^\n]*?: [^\n]+")
"""One line: the path of what is wrong, then the rule."""

SHOWN_MUTATIONS = 3
"""Mutations that a failure's reason spells out."""


def validation(face, case, vector):
    """Every mutation of the model [NN 11.9] is refused by query and preparation, every one of the request [NN 11.11]
    by every way to execute; then packets of a burst that are wrong in one element [NN 11.12].
    """
    part, problems = Part(""), []
    for mutation in face.mutations(case.model):
        calls = (("supported_operations", partial(face.supported_operations, mutation.model)),
                 ("prepare", partial(face.prepare, mutation.model)))
        _count_refusal(part.tally, problems, mutation.rule, mutation.where, calls)
    for rule, arguments in ARGUMENTS[face.hal]:
        calls = (("prepare", partial(face.prepare, case.model, **arguments)),)
        _count_refusal(part.tally, problems, rule, str(arguments), calls)
    try:
        prepared = face.prepare(case.model)
    except Error:
        pass  # a model that must fail may do so here already
    else:
        request = face.memory(case).request
        for rule, where, calls in _wrong_requests(face, prepared, request):
            _count_refusal(part.tally, problems, rule, where, calls)
        if face.validates_bursts:
            count(part, problems, partial(face.configure_burst, prepared), request)
    if problems:
        more = f"; and {len(problems) - SHOWN_MUTATIONS} more" if len(problems) > SHOWN_MUTATIONS else ""
        part.outcome, part.reason = FAILED, "; ".join(problems[:SHOWN_MUTATIONS]) + more
    return [part]


def _wrong_requests(face, prepared, request):
    """(rule, where, calls) of requests that lack an input or an output, and what else the face has."""
    ways = face.ways(prepared).items()
    for role in ("inputs", "outputs"):
        arguments = getattr(request, role)
        for place in range(len(arguments)):
            wrong = replace(request, **{role: (*arguments[:place], *arguments[place + 1:])})
            calls = [(name, partial(execute, wrong)) for name, execute in ways]
            yield f"request {role[:-1]} removed", str(place), calls
    for rule, where, call in face.requests(prepared, request):
        yield rule, where, ((rule, call),)


def _count_refusal(tally, problems, rule, where, calls):
    """Try a mutation; count it under its rule and describe it when it was not refused as it must be."""
    row = tally.setdefault(rule, [0, 0, 0, 0])
    row[0] += 1
    for name, call in calls:
        try:
            call()
        except Error as error:
            if error.status == ErrorStatus.INVALID_ARGUMENT and _MESSAGE.fullmatch(str(error)):
                continue
            place, what = 3, f"gave {describe(error)}, must be INVALID_ARGUMENT with one line of path and rule"
        except Exception as error:  # a driver bug; it must not hide the other mutations
            place, what = 3, f"raised {describe(error)}"
        else:
            place, what = 2, "accepted it"
        row[place] += 1
        problems.append(f"{rule}, {where}: {name} {what}")
        return
    row[1] += 1
