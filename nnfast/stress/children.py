"""Programs of several forked processes, some of which kill themselves at a moment drawn beforehand."""

import json
import os
import signal
import threading
import time

from .outcome import Failure, ending, reason_of
from .program import die_with
from .workers import chance_of, end_of, start_workers, subjects_of


def deaths(name, seed, processes, seconds, rate):
    """The plan: for each child the seconds after which it kills itself, None for one that does not. rate: 0 to 1."""
    plan = []
    for number in range(processes):
        chance = chance_of(seed, name, number)
        dies, moment = chance.random() < rate, chance.random()
        plan.append(moment * seconds if dies else None)
    return plan


def work_in_children(report, name, paths, seed, way, work, threads, seconds, processes, rate):
    """Fork `processes` children of `threads` workers each, and see how each of them ends. Returns their plan and ends.

    Raises Failure where one ends otherwise than planned: by SIGKILL, or well after `seconds`.
    """
    subjects, plan = subjects_of(paths, seed, way.arithmetic), deaths(name, seed, processes, seconds, rate)
    told, tell = os.pipe()
    report.begin()
    pids, parent = [], os.getpid()
    for number, death in enumerate(plan):
        pid = os.fork()
        if pid == 0:
            _be_child(parent, tell, number, death, subjects, way, work, threads, seconds, (seed, name, number))
        pids.append(pid)
    os.close(tell)
    with open(told, encoding="utf-8") as stream:  # its end is that of all children
        lines = {line["number"]: line for line in map(json.loads, stream)}
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    problems = [_problem(number, *end, lines.get(number)) for number, end in enumerate(zip(plan, codes))]
    facts = {"planned": plan, "codes": codes, "compiled": sum(line["compiled"] for line in lines.values()),
             "executed": sum(line["executed"] for line in lines.values())}
    if any(problems):
        raise Failure("; ".join(filter(None, problems)), facts)
    return facts


def _problem(number, death, code, line):
    """What is wrong with the end of a child, or None."""
    if code == (-signal.SIGKILL if death is not None else 0):
        return None
    planned = "the end of its work" if death is None else f"SIGKILL after {death:.2f} s"
    reason = f": {line['error']}" if line and line["error"] else ""
    return f"child {number} ended with {ending(code)}, planned was {planned}{reason}"


def _be_child(parent, tell, number, death, subjects, way, work, threads, seconds, names):
    """The life of a child; does not return."""
    code, line = 1, {"number": number, "compiled": 0, "executed": 0, "error": None}
    try:
        die_with(parent)
        stop, device = threading.Event(), way.open()
        workers = start_workers(device, way, subjects, work, threads, stop, *names)
        if death is not None:
            threading.Thread(target=_die, args=(death,), daemon=True).start()
        stop.wait(seconds if death is None else None)
        stop.set()
        line["compiled"], line["executed"], line["error"] = end_of(workers)
        device.close()
        code = int(line["error"] is not None)
    except BaseException as error:
        line["error"] = reason_of(error)
    finally:
        os.write(tell, (json.dumps(line) + "\n").encode())  # at once: a pipe takes 4096 bytes so
        os._exit(code)


def _die(seconds):
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)
