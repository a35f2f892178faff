"""A run of a model over the items of a source, chunk by chunk, into an output.

Each finished chunk is a file (store.py), so that a run that was stopped, or killed, goes on with the next one. The
output appears under its name when all chunks are there, and beside it OUT.json, which says what it was made of, and
OUT.failed.csv, which lists the items without results.
"""

import json
import os
import re
import shutil
from math import ceil

import numpy as np

from ..driver.mapping import FailedItem
from ..errors import GeneralFailure, InvalidArgument
from ..version import __version__
from .store import Part, Store, differs, digest_of, read_json, unwritable, write_file
from .targets import OutputInfo, Results, table, target_of

ITEM_ERRORS = (InvalidArgument, GeneralFailure)
"""What is wrong with an item alone; everything else ends a run."""


def outputs_of(prepared):
    """OutputInfos of a model. A leading dimension of 1 is that of the items.

    Raises InvalidArgument if results have no fixed shape.
    """
    shapes = prepared.result_shapes
    if shapes is None:
        raise InvalidArgument("the shapes of the outputs depend on the data or on open dimensions, results of all "
                              "items must have one shape; set open dimensions with --shape")
    names = [re.sub(r"[/\\\0]", "_", info.name) for info in prepared.outputs]
    names = [name if name and name != "item" and names.count(name) == 1 else f"output_{place}"
             for place, name in enumerate(names)]
    return [OutputInfo(name, info.dtype, tuple(shape[1:] if shape and shape[0] == 1 else shape))
            for name, info, shape in zip(names, prepared.outputs, shapes)]


def results_of(prepared, source, ranges, batch=1, clients=None):
    """PreparedModel.map over the items of chunks. ranges: [(number, first item, end)]."""
    return prepared.map((k for _, start, stop in ranges for k in range(start, stop)), batch, clients,
                        prepare=source.item, errors="return")


def parts_of(results, ranges, outputs, moved=lambda count: None):
    """(number, Part) of each chunk, from results_of the same ranges.

    moved(count): called after each item. Raises what ends a run.
    """
    for number, start, stop in ranges:
        rows = [np.empty((stop - start, *output.shape), output.dtype) for output in outputs]
        places, failed = [], []
        for place in range(stop - start):
            result = next(results)
            if isinstance(result, FailedItem):
                failed.append((place, reason_of(result)))
            else:
                for row, array in zip(rows, result):
                    row[len(places)] = array.reshape(row.shape[1:])
                places.append(place)
            moved(1)
        yield number, Part(np.array(places, np.int64), [row[:len(places)] for row in rows], failed)


def reason_of(failed):
    """Why an item has no result, on one line. Raises its error if that is not the item's alone."""
    if not isinstance(failed.error, ITEM_ERRORS):
        raise failed.error
    return str(failed.error).removeprefix(f"map item {failed.place}: ")


def is_there(path):
    """Whether there is a file or folder of this name."""
    return os.path.lexists(path)


class Run:
    """A run into the output `path`. source: what has the items; outputs: OutputInfos; chunk: items of a chunk; options:
    plain values of what else determines the results, with "model", a digest.

    report: of the run that is complete already, else None. missing: ranges of the chunks to compute, as parts_of takes
    them. Raises InvalidArgument if the output is of another run, and `anew` is False.
    """

    def __init__(self, path, source, outputs, chunk, options, anew=False):
        self.path, self._source, self.outputs, self._chunk = path, source, outputs, chunk
        self._target = target_of(path)
        self._target.check(path, outputs)
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise InvalidArgument(f"--output {path}: folder {folder} does not exist")
        if not len(source):
            raise InvalidArgument("there are no items in the input")
        self.count, self._chunks = len(source), ceil(len(source) / chunk)
        self._job = {"nnfast": __version__, **options, "inputs": digest_of(source.identity()), "items": len(source),
                     "chunk": chunk, "outputs": [[o.name, str(o.dtype), list(o.shape)] for o in outputs]}
        self._job = json.loads(json.dumps(self._job))
        self._store, self.report = None, None
        self._look(anew)
        self._store = Store(path, self._job, anew)
        if anew:
            self._remove(path + ".json")
            self._remove(path)
        finished = self._store.finished() if self.report is None else range(self._chunks)
        self.missing = [self._range(number) for number in range(self._chunks) if number not in finished]

    @property
    def done(self):
        """Items of the chunks that were finished when the run began."""
        return self.count - sum(stop - start for _, start, stop in self.missing)

    def finished_items(self):
        """Items of the chunks that are finished now."""
        return sum(stop - start for _, start, stop in map(self._range, self._store.finished()))

    def _range(self, number):
        return number, number * self._chunk, min((number + 1) * self._chunk, self.count)

    def _look(self, anew):
        """Refuse an output that is not of this run; note one that is complete."""
        folder_is_right = self.path.endswith(".zarr") and is_there(os.path.join(self.path, "zarr.json"))
        if os.path.isdir(self.path) and not folder_is_right:
            raise InvalidArgument(f"--output {self.path}: is a folder, must be the name of a file, or of a zarr group")
        report = read_json(self.path + ".json")
        begun = read_json(os.path.join(self.path + ".parts", "job.json"))
        if anew or not is_there(self.path) or begun is not None and report is None:
            return
        other = "an unknown run" if report is None else differs(report.get("job", {}), self._job)
        if other:
            raise InvalidArgument(f"--output {self.path}: exists, and is of {other}; --overwrite begins anew, or "
                                  "choose another name")
        self.report = report

    @staticmethod
    def _remove(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif is_there(path):
            os.unlink(path)

    def keep(self, number, part):
        """Keep a computed chunk."""
        self._store.write(number, part)

    def finish(self):
        """Write the output once all chunks are there; returns the report: {"job", "items", "written", "failed"}."""
        if self.report is None:
            failed = [(start + place, self._source.name(start + place), reason)
                      for number, start, _ in self._ranges() for place, reason in self._store.read(number, ()).failed]
            results = Results(self.outputs, self.count - len(failed), self._chunk, self._names, self._arrays)
            self._write(results)
            for end, data in self._target.beside(results).items():
                write_file(self.path + end, lambda stream, data=data: stream.write(data))
            self._remove(self.path + ".failed.csv")
            if failed:
                rows = table(["index", "item", "reason"], ((k, _text(name), reason) for k, name, reason in failed))
                write_file(self.path + ".failed.csv", lambda stream: stream.write(rows))
            self.report = {"job": self._job, "items": self.count, "written": results.count, "failed": len(failed)}
            write_file(self.path + ".json", lambda stream: stream.write(json.dumps(self.report, indent=1).encode()))
        self._store.close(remove=True)
        return self.report

    def _write(self, results):
        unfinished = self.path + ".unfinished"
        try:
            self._remove(unfinished)
            self._target.write(unfinished, results)
            if os.path.isdir(unfinished):
                self._remove(self.path)
            os.replace(unfinished, self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def _ranges(self):
        return map(self._range, range(self._chunks))

    def _names(self):
        for number, start, _ in self._ranges():
            yield [_text(self._source.name(start + int(place))) for place in self._store.read(number, ()).places]

    def _arrays(self, place):
        for number, _, _ in self._ranges():
            yield self._store.read(number, (place,)).outputs[0]

    def close(self):
        """Let other processes use the output. What is finished is kept."""
        if self._store is not None:
            self._store.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def _text(name):
    """The name of an item as text that can be stored; bytes of file names that are no UTF-8 are replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
