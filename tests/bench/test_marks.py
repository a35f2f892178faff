"""Traces read back: nesting, and the rules by which times are summed up [NN 12.6]."""

import json

import pytest

from nnfast.bench import marks
from nnfast.errors import InvalidArgument


def event(name, begin, end, tid=1):
    return {"name": name, "ph": "X", "ts": begin, "dur": end - begin, "pid": 1, "tid": tid}


def totals(*events):
    return {f"{layer}_{phase}": cell[0] for (layer, phase), cell in marks.totals(marks.nested(
        [event(*e) for e in events])).items()}


@pytest.mark.parametrize("events, expected", [
    ([("[NN_LD_PE]a", 0, 10), ("[NN_LD_PE]b", 20, 25)], {"LD_PE": 15}),                                     # R1
    ([("[NN_LR_PE]a", 0, 10), ("[NN_LD_PE]b", 2, 8)], {"LR_PE": 10, "LD_PE": 6}),                           # R2
    ([("[NN_LD_PE]a", 0, 10), ("[NN_LD_PE]b", 2, 8), ("[NN_LU_PU]c", 3, 4)], {"LD_PE": 10}),                # R3
    ([("[NN_LD_PE]a", 0, 10), ("[SW][NN_LD_PC]b", 2, 8)], {"LD_PE": 4, "LD_PC": 6}),                        # R4
    ([("[NN_LD_PE]a", 0, 10), ("[SW][NN_LD_PIO]b", 2, 8)], {"LD_PE": 10, "LD_PIO": 6}),                     # R4, R5
    ([("[NN_LD_PIO]a", 0, 10)], {"LD_PE": 10, "LD_PIO": 10}),                                               # R5
    ([("[NN_LD_PE]a", 0, 10), ("[NN_LD_PCO]b", 1, 3), ("[NN_LD_PCO]c", 4, 8)], {"LD_PE": 10, "LD_PCO": 6}),  # R5
    ([("[NN_LA_PE]a", 0, 10), ("[NN_LD_PI]b", 2, 5)], {"LA_PE": 7, "LD_PI": 3}),                            # R6
    ([("[NN_LR_PE]a", 0, 10), ("[SUB][NN_LI_PE]b", 2, 5)], {"LR_PE": 7, "LI_PE": 3}),                       # R7
    ([("[NN_LR_PC]a", 0, 10), ("[NN_LD_PU]b", 2, 5)], {"LR_PC": 10, "LD_PC": 3}),                           # R8
    ([("[NN_LD_PE]a", 0, 10), ("[NN_LC_PE]b", 1, 9), ("[NN_LC_PTR]c", 2, 4)], {"LD_PE": 10, "LD_PTR": 2}),  # R9
    ([("[NN_LA_PO]a", 0, 10), ("[NN_LA_PWU]b", 1, 9), ("[NN_LA_PE]c", 2, 4)],
     {"LA_PO": 10, "LA_PWU": 8, "LA_PE": 2}),
    ([("[NN_LD_PE]a", 0, 10, 1), ("[NN_LD_PE]b", 5, 15, 2)], {"LD_PE": 20}),                                # threads
])
def test_rules(events, expected):
    assert totals(*events) == expected


def test_equal_begins_and_ends_nest():
    root, = marks.nested([event("[NN_LC_PCO]in", 0, 10), event("[NN_LD_PE]out", 0, 11), event("[NN_LC_PCO]x", 10, 11)])
    assert root.detail == "out" and [m.detail for m in root.inner] == ["in", "x"]


@pytest.mark.parametrize("events, words", [
    ([event("[NN_LD_PE]a", 0, 10), event("[NN_LD_PE]b", 5, 15)], "ends after LD_PE 'a'"),
    ([event("[NN_LD_PE]a", 0, 10), event("[NN_LA_PE]b", 5, 8)], "layer LA lies inside of layer LD"),
    ([event("NN_LD_PE", 0, 1)], "must be"), ([event("[NN_LQ_PE]", 0, 1)], "must be"),
    ([event("[NN_LD_PQ]", 0, 1)], "must be"), ([{"ph": "B"}], "complete event"), ([7], "complete event"),
    ([event("[NN_LD_PE]a", 0, -1)], "ts and dur"), ([event("[NN_LD_PE]a", float("nan"), 1)], "ts and dur"),
])
def test_what_is_no_trace_of_ours_is_refused(events, words, tmp_path):
    with pytest.raises(InvalidArgument, match="traceEvents") as refusal:
        marks.nested(events)
    assert words in str(refusal.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"traceEvents": 3}', "[" * 100000])
def test_files_that_are_no_trace(text, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InvalidArgument, match=r"t\.json: is not a trace"):
        marks.read(path)


def test_an_empty_trace(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": []}))
    assert marks.totals(marks.read(path)) == {}
