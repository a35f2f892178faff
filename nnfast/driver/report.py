"""Reports a run to its watchers: rows of a profile, marks of a trace, log lines of the tag cpuexe."""

from .. import trace, vlog
from .._native.threads import now_ns
from .profile import active_profile, row_times


def report(model, graph, segment, times, began):
    """Report one run of a segment. times: its [(step, nanoseconds)]; began: start in nanoseconds; graph: its name."""
    profile = active_profile()
    if profile is not None:
        profile.add(model, segment, times)
    if trace.recorder is not None:
        _add_marks(trace.recorder, segment, times, began)
    if vlog.mask & vlog.CPUEXE:
        for row, ns in row_times(segment, times):
            vlog.log(vlog.CPUEXE, "%s.operation[%d] %s: %s, %.1f us", graph, row["index"], row["operation"],
                      row["kernel"], ns / 1e3)


def _add_marks(recorder, segment, times, began):
    """Add one mark per operation; those without time of their own (no copy needed, in bands) are left out."""
    at = max(began, now_ns() - sum(ns for _, ns in times))
    for row, ns in row_times(segment, times):
        if ns:
            name = trace.mark("LC", "PTR" if row["moves"] else "PCO", row["operation"])
            recorder.add(name, at, at + ns, {"index": row["index"], "kernel": row["kernel"]})
        at += ns
