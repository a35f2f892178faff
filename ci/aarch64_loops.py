"""The hot loop of a function in aarch64 assembly, found by what it is made of, not by where it stands.

A loop is a natural loop of the flow graph: a block that dominates a block which jumps back to it, and all that lies
between. The hot loop of a function is the innermost loop with the most instructions of a kind (multiply-adds, say),
times their share of all, looked for in the function and in those of the same file that it calls or hands on by address.
Where such a loop branches inside, the round with the most of these instructions counts, the shorter one where several
have as many.
"""

import re
from functools import cache
from typing import NamedTuple

_INSTRUCTION = re.compile(r"\s+[a-z][\w.]*(?:\s|$)")
_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_JUMP = re.compile(rf"(b|b\.?(?:{_CONDITIONS})|cbn?z|tbn?z|ret|br)(?:\s+(?:.*,\s*)?(\S+))?$")
_FINAL = ("b", "br", "ret")  # nothing behind them is reached from them
_CALL = re.compile(r"(?:bl?|adrp\s+x\d+,)\s+([A-Za-z_][\w.]*)$")  # or takes the address of


class Round(NamedTuple):
    """One round of a loop: its instructions, and those of the kind asked for."""

    function: str
    lines: list[str]
    needed: list[str]


def functions(assembly):
    """{name: lines}: instructions, and labels as `.L5:`, of each function of what gcc -S or clang -S writes."""
    found, current = {}, None
    for line in assembly.splitlines():
        text = line.split("//")[0].rstrip()
        if named := re.match(r"([A-Za-z_][\w.]*):$", text):
            current = found.setdefault(named[1], [])
        elif current is None:
            continue
        elif re.match(r"\s*\.size\s", text):
            current = None
        elif re.match(r"\.L\w+:$", text) or _INSTRUCTION.match(text):
            current.append(" ".join(text.split()))
    return found


def hot_round(assembly_functions, name, kind, holds=None):
    """The Round of the function's hot loop, or None.

    kind: what matches the beginning of a needed instruction; holds: of one that the round must have.
    """
    best, seen, waiting = None, set(), [name]
    while waiting:
        current = waiting.pop()
        if current in seen or current not in assembly_functions:
            continue
        seen.add(current)
        lines = assembly_functions[current]
        waiting += [called[1] for line in lines if (called := _CALL.match(line))]
        for loop in _innermost(lines):
            one = _fullest(loop, kind)
            needed = [line for line in one if kind.match(line)]
            if not needed or not any(map((holds or kind).match, one)):
                continue
            if best is None or _rank(one, needed) > _rank(best.lines, best.needed):
                best = Round(current, one, needed)
    return best


def _rank(lines, needed):
    return len(needed) ** 2 / len(lines)


class _Loop(NamedTuple):
    blocks: list[list[str]]
    after: list[list[int]]
    header: int
    members: set[int]


def _flow(lines):
    """Basic blocks of a function, and the numbers of the blocks behind each."""
    blocks, places = [[]], {}
    for line in lines:
        if line.endswith(":"):
            if blocks[-1]:
                blocks.append([])
            places[line[:-1]] = len(blocks) - 1
        else:
            blocks[-1].append(line)
            if _JUMP.match(line):
                blocks.append([])
    after = []
    for i, block in enumerate(blocks):
        jump = _JUMP.match(block[-1]) if block else None
        targets = [places[jump[2]]] if jump and jump[2] in places else []
        if not (jump and jump[1] in _FINAL) and i + 1 < len(blocks):
            targets.append(i + 1)
        after.append(targets)
    return blocks, after


def _innermost(lines):
    """The loops of a function that have no loop inside."""
    blocks, after = _flow(lines)
    reached = set()
    for i in range(len(blocks)):
        if i not in reached:  # jumped to through a table: from anywhere, so the entry stands for it
            after[0] += [i] * (i > 0)
            _reach(after, i, reached)
    before = [[] for _ in blocks]
    for i, targets in enumerate(after):
        for target in targets:
            before[target].append(i)
    dominators = _dominators(before)
    members = {}
    for i, targets in enumerate(after):
        for header in targets:
            if not dominators[i] >> header & 1:
                continue
            inside, waiting = members.setdefault(header, {header}), [i]
            while waiting:
                block = waiting.pop()
                if block not in inside:
                    inside.add(block)
                    waiting += before[block]
    for header, inside in members.items():
        if not any(other in inside for other in members if other != header):
            yield _Loop(blocks, after, header, inside)


def _reach(after, start, reached):
    """Adds to `reached` what can be reached from a block."""
    waiting = [start]
    while waiting:
        block = waiting.pop()
        if block not in reached:
            reached.add(block)
            waiting += after[block]


def _dominators(before):
    """For each block a number whose bits are the blocks that every way to it goes through."""
    everything = (1 << len(before)) - 1
    found = [1] + [everything] * (len(before) - 1)
    changed = True
    while changed:
        changed = False
        for i in range(1, len(before)):
            common = everything
            for source in before[i]:
                common &= found[source]
            common |= 1 << i
            changed |= common != found[i]
            found[i] = common
    return found


def _fullest(loop, kind):
    """The round from the loop's header back to it with the most needed instructions, and the fewest others."""

    @cache
    def rest(block):
        """(needed, -all, blocks) from a block to the end of the round; None where it leaves the loop."""
        ways = [found for target in loop.after[block] if target in loop.members and target != loop.header
                if (found := rest(target))]
        if loop.header in loop.after[block]:
            ways.append((0, 0, ()))
        if not ways:
            return None
        needed, others, blocks = max(ways)
        own = loop.blocks[block]
        return needed + sum(bool(kind.match(line)) for line in own), others - len(own), (block, *blocks)

    found = rest(loop.header)
    return [line for block in found[2] for line in loop.blocks[block]] if found else []
