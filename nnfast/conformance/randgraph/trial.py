"""One random graph on every subject: drawn, run, judged, and where it fails made small and written to files."""

from dataclasses import replace

from ..criteria import breach, criteria_of, in_float32
from ..dump import dump
from ..judge import DIFFERS, SAME, judge
from ..minimize import minimize
from ..verdict import Fail, Skip, describe
from .generate import draw_case
from .results import NOT_APPLICABLE
from .subject import Subject

REFERENCE = "reference"
"""What outputs are held against by default: the definitions of the operations."""


class Trial:
    """size, names, version: of the graphs, as for draw_case; subjects: what runs them, as arguments of Subject;
    against: REFERENCE, or the "module:callable" of a driver; folder: for failed graphs, None for none.
    """

    def __init__(self, size, names, version, subjects, threads, against, folder):
        self.size, self.names, self.version, self.folder = size, names, version, folder
        self.subjects = [Subject(**subject, threads=threads) for subject in subjects]
        self.peer = None if against == REFERENCE else Subject(threads=threads, device=against)

    def run(self, seed):
        """[(verdict, reason, file)] of the graph of a seed, one for each subject."""
        try:
            case = self._settled(draw_case(seed, self.size, self.names, self.version))
        except (Fail, Skip) as refused:  # of the peer
            return [(NOT_APPLICABLE, f"the other driver: {refused}", "")] * len(self.subjects)
        return [self._on(subject, case, seed) for subject in self.subjects]

    def _settled(self, case):
        """The case with the outputs that it is held against."""
        return case if self.peer is None else replace(case, expected=tuple(self.peer.outputs(case, 0)))

    def _on(self, subject, case, seed):
        verdict, reason = self.verdict(subject, case, seed)
        if verdict != DIFFERS or self.folder is None:
            return verdict, reason, ""
        small = minimize(case, lambda tried: self.verdict(subject, self._settled(tried), seed)[0] == DIFFERS)
        small = replace(self._settled(small), name=f"{case.name} {subject.name}")
        file = dump(self.folder, small, self.verdict(subject, small, seed)[1], f"randgraph/{self.size}_{seed}",
                    subject.threads, subject.level)
        return verdict, reason, file

    def verdict(self, subject, case, turn):
        """(verdict, reason) of a case."""
        try:
            refusal = subject.refusal(case.model)
            if refusal:
                return NOT_APPLICABLE, refusal
            outputs = subject.outputs(case, turn)
            if self.peer is None:
                found = judge(case, outputs, lambda shown: subject.outputs(shown, turn))
                text = self._beside_float32(case) if self.size == "single" and found[0] != DIFFERS else ""
                return (DIFFERS, f"beside float32: {text}") if text else found
        except Skip as skip:
            return NOT_APPLICABLE, str(skip)
        except Fail as fail:
            return DIFFERS, str(fail)
        except Exception as error:  # a driver bug; the other graphs go on
            return DIFFERS, f"the driver raised {describe(error)}"
        text = self._breach(case, case.expected, outputs)
        return (DIFFERS, text) if text else (SAME, "")

    def _beside_float32(self, case):
        """What a definition makes wrong of codes and halves by the criteria of CTS, or ""."""
        wanted = in_float32(case)
        return "" if wanted is None else self._breach(case, wanted, case.expected)

    def _breach(self, case, wanted, found):
        criteria, main = criteria_of(case, self.size), case.model.main
        for place, (right, array) in enumerate(zip(wanted, found, strict=True)):
            text = breach(main.operands[main.outputs[place]].type, right, array, criteria)
            if text:
                return f"output {place}: {text}"
        return ""
