"""Throughput: many executions of one prepared model at once, with results in the order of the inputs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import forks
from .._native.threads import Cancel, now_ns
from ..checks import called, chosen_from, counted, shown, whole
from ..errors import Error, GeneralFailure, InvalidArgument, detached
from ..forks import renewed
from .arguments import as_asked, in_list, named, taken_inputs
from .background import Workers
from .batches import batched
from .closing import Closing
from .execution import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, Self

    from .. import typed

MOST_CLIENTS, MOST_BATCH, MOST_AHEAD = 1024, 1 << 16, 1 << 24
ROUNDS = 2
"""Chunks that each client has taken items for, by default: one runs, one waits."""
CHUNK_NS, MOST_EXECUTIONS = 4_000_000, 64
"""Executions shorter than this are handed to a client several at a time, so many at most: to wake it, and to wait for
the interpreter meanwhile, costs tens of microseconds."""

RAISE, RETURN = "raise", "return"


class FailedItem(NamedTuple):
    """What PreparedModel.map(errors="return") gives for an item that failed. place: of the item, from 0; error: why."""

    place: int
    error: BaseException


class Results(Closing):
    """Iterator over the results of PreparedModel.map. Use it from one thread at a time.

    batch: items of one execution; reason: why that is 1 although more were asked for, else "". clients: executions at
    once. `close` drops what has not been delivered, as the end of a `with` block does.

    A chunk is what a client gets at a time: one execution, or several that are short and whose items come as quickly.
    """

    batch: int
    reason: str
    clients: int

    def __init__(self, prepared: typed.Prepared, inputs: Iterable[Any] | Mapping[str, Any], batch: int = 1,
                 clients: int | None = None, ahead: int | None = None, prepare: Callable[[Any], Any] | None = None,
                 errors: Literal["raise", "return"] = RAISE) -> None:
        """As PreparedModel.map."""
        batch = whole(batch, "map batch:", 1, MOST_BATCH)
        if clients is None:
            clients = min(prepared.num_threads, MOST_CLIENTS)
        self.clients = whole(clients, "map clients:", 1, MOST_CLIENTS)
        if ahead is not None:
            whole(ahead, "map ahead:", batch, MOST_AHEAD)
        if prepare is not None:
            called(prepare, "map prepare:")
        self._is_raising = chosen_from(errors, "map errors:", (RAISE, RETURN)) == RAISE
        self._inputs = _iterator(inputs) if prepare is not None else _items(prepared, inputs)
        self._workers, self._pending, self._ready, self._gathered = None, deque(), deque(), []
        self._taken = self._delivered = 0
        self._failure = None
        self._forks = forks.count
        self._job = _Job(prepared, batch, self.clients, prepare)
        self.batch, self.reason = self._job.batch, self._job.reason
        self._ahead, self._is_ahead_given = ahead or ROUNDS * self.clients * self.batch, ahead is not None
        self._size, self._source_ns = self.batch, 0  # of the next chunk; time that its items took to come
        self._workers = Workers("map", self.clients, is_awaited=False)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if not self._ready:
            while self._inputs is not None and self._taken - self._delivered < self._ahead:
                self._take()
            if not self._pending and self._gathered:  # as many as are allowed, but chunks were to be larger
                self._send()
            if not self._pending:
                if self._failure is not None:
                    failure, self._failure = self._failure, None
                    raise failure
                self.close()
                raise StopIteration
            self._ready.extend(self._finished(self._pending[0]))
            self._fit(self._pending.popleft())
        result = self._ready.popleft()
        self._delivered += 1
        if isinstance(result, FailedItem):
            error = _told(result)
            if self._is_raising:
                raise error
            return FailedItem(result.place, error)
        return result

    def _take(self):
        """Take an item of the inputs, and start an execution once there is a batch of them."""
        began = now_ns()
        try:
            item = next(self._inputs)
        except StopIteration:
            self._end()
        except Exception as error:  # of the caller's iterable: raised after the results of what came before
            self._failure = error
            self._end()
        else:
            self._source_ns += now_ns() - began
            self._gathered.append((self._taken, item))
            self._taken += 1
            if len(self._gathered) >= self._size:
                self._send()

    def _send(self):
        """Start what has gathered, as far as it fills batches."""
        count = len(self._gathered) // self.batch * self.batch
        self._start(self._gathered[:count])
        self._gathered, self._source_ns = self._gathered[count:], 0

    def _end(self):
        """No item follows: every batch goes to a client of its own, and what does not fill one runs one by one."""
        self._inputs = None
        whole = len(self._gathered) // self.batch * self.batch
        for first in range(0, whole, self.batch):
            self._start(self._gathered[first:first + self.batch])
        for entry in self._gathered[whole:]:
            self._start([entry])
        self._gathered = []

    def _fit(self, chunk):
        """Choose the size of chunks by how long one took, and how long its items took to come."""
        count = max(1, chunk.count // self.batch)
        spent = max(chunk.spent_ns, chunk.source_ns, 1) / count
        most = MOST_EXECUTIONS
        if self._is_ahead_given:
            most = max(1, min(most, self._ahead // (ROUNDS * self.clients * self.batch)))
        self._size = self.batch * max(1, min(most, int(CHUNK_NS / spent)))
        if not self._is_ahead_given:
            self._ahead = ROUNDS * self.clients * self._size

    def _start(self, entries):
        chunk = _Chunk(entries, self._source_ns)
        self._pending.append(chunk)
        job = self._job
        try:
            self._workers.put(lambda: job.work(chunk))
        except RuntimeError:  # no thread can be started: this one does the work
            job.work(chunk)

    def _finished(self, chunk):
        """Outcomes of a chunk, once there are."""
        if self._forks == forks.count:
            chunk.wait()
        if chunk.outcomes is None:
            raise GeneralFailure("map: its executions belong to the parent process; call map again in the child")
        return chunk.outcomes

    def close(self) -> None:
        """End the executions and free what they hold; what was not delivered is lost. May be called more than once."""
        self._inputs, self._failure, self._gathered = None, None, []
        self._ready.clear()
        self._drop()
        if self._forks == forks.count:
            for chunk in self._pending:
                chunk.wait()
        self._pending.clear()
        self._job.close()

    def _drop(self):
        """Let running executions stop at their next step, and threads end when they are idle. Waits for nothing."""
        self._job.cancel.set()
        self._workers.dismiss()

    def __del__(self) -> None:
        if self.__dict__.get("_workers") is not None:
            self._drop()


class _Chunk:
    """Items of some executions. entries: [(place, item)]; outcomes: their results or FailedItems, once `done` is free.

    count: of the items; source_ns, spent_ns: time that they took to come, and their executions in all.
    """

    __slots__ = ("count", "done", "entries", "outcomes", "source_ns", "spent_ns")

    def __init__(self, entries, source_ns):
        self.entries, self.outcomes, self.done = entries, None, renewed(threading.Lock())
        self.count, self.source_ns, self.spent_ns = len(entries), source_ns, 0
        self.done.acquire()

    def wait(self):
        """Return once there are outcomes, at any time after that too."""
        with self.done:
            pass


class _Job:
    """What the threads of a map use; it does not refer to the iterator, so that dropping that one ends them.

    cancel: set to end all executions.
    """

    def __init__(self, prepared, batch, clients, prepare):
        self._prepare, self.cancel = prepare, Cancel()
        self._limits = Limits(self.cancel)
        self._single = prepared.narrowed(max(1, prepared.num_threads // clients))
        self._own = [] if self._single is prepared else [self._single]
        self.batch, self.reason, self._batched = 1, "", None
        if batch > 1:
            self._batched, self.reason = batched(prepared, self._single, batch, self._limits)
            if self._batched is not None:
                self.batch = batch
                self._own.append(self._batched.prepared)

    def close(self):
        """Free the models made for this map."""
        for prepared in self._own:
            prepared.close()

    def work(self, chunk):
        """Run a chunk; never raises."""
        entries, chunk.entries = chunk.entries, None
        outcomes, began = [], now_ns()
        try:
            if self.batch == 1:
                for place, item in entries:
                    outcomes.append(None if self.cancel.is_set else self._alone(place, item))
            else:
                for first in range(0, len(entries), self.batch):
                    outcomes += self._together(entries[first:first + self.batch])
        except BaseException as error:
            outcomes = [FailedItem(place, copy(error)) for place, _ in entries]
        finally:
            chunk.outcomes, chunk.spent_ns = outcomes, now_ns() - began
            chunk.done.release()

    def _alone(self, place, item):
        """The result of an item, or its FailedItem."""
        try:
            arrays, by_name = self._arrays(item)
        except BaseException as error:
            return FailedItem(place, error)
        return self._run(place, arrays, by_name)

    def _together(self, entries):
        """Results or FailedItems of entries: in one execution, or one by one where an item cannot be in a batch."""
        if self.cancel.is_set:
            return [None] * len(entries)
        calls = [self._call(place, item) for place, item in entries]
        taken = [call for call in calls if isinstance(call, _Call)]
        if len(taken) == self.batch and all(self._batched.takes(call.arrays) for call in taken):
            try:
                results = self._batched.run([call.arrays for call in taken], self._limits)
            except (Error, MemoryError):  # of a bad value, or of the size: alone, each item has its own outcome
                pass
            else:
                return [as_asked(result, call.by_name, self._single.outputs) for call, result in zip(taken, results)]
        return [self._run(place, *call) if isinstance(call, _Call) else call
                for (place, _), call in zip(entries, calls)]

    def _run(self, place, arrays, by_name):
        try:
            return as_asked(self._single.perform(arrays, self._limits), by_name, self._single.outputs)
        except BaseException as error:
            return FailedItem(place, detached(error))

    def _call(self, place, item):
        """The _Call of an item, or its FailedItem if it cannot be run."""
        inputs = self._single.inputs
        try:
            arrays, by_name = self._arrays(item)
            if len(arrays) != len(inputs):
                raise InvalidArgument(f"run: got {counted(len(arrays), 'input')}, must be {len(inputs)} "
                                      f"({', '.join(i.name for i in inputs)})")
            return _Call(taken_inputs(inputs, arrays), by_name)
        except BaseException as error:
            return FailedItem(place, error)

    def _arrays(self, item):
        """(arrays of an item in model order, as the caller gives them; whether it is by name)."""
        if self._prepare is not None:
            item = self._prepare(item)
        if type(item) is list:
            return item, False
        if isinstance(item, Mapping):
            return named(item, self._single.inputs, "input"), True
        return in_list(item if isinstance(item, list | tuple) else [item], "map"), False


class _Call(NamedTuple):
    """The arrays of an item in model order; by_name: it was a dict, and so is its result."""

    arrays: list
    by_name: bool


def _told(failed):
    """The error of a FailedItem, which says of which item it is."""
    place, error = failed
    if isinstance(error, StopIteration):
        made = RuntimeError(f"map item {place}: prepare raised StopIteration")
        made.__cause__ = error
        return made
    if isinstance(error, Error) and error.args and isinstance(error.args[0], str):
        error.args = Error(f"map item {place}: {error.args[0]}").args + error.args[1:]
    else:
        error.add_note(f"map item {place}")
    return error


# -- what the caller gives ---------------------------------------------------------------------------------------------
def _iterator(inputs):
    if not isinstance(inputs, str | bytes | bytearray):
        try:
            return iter(inputs)
        except (TypeError, ValueError):  # the latter of closed files
            pass
    raise InvalidArgument(f"map inputs: is {shown(inputs)}, must be an array or an iterable of items")


def _items(prepared, inputs):
    """Iterator over the items of `inputs`: rows of an array, or of a dict of arrays by name, or what it iterates."""
    if isinstance(inputs, Mapping):
        columns = [Rows(info, array, f"map inputs {info.name!r}")
                   for info, array in zip(prepared.inputs, named(inputs, prepared.inputs, "input"))]
        counts = {len(column) for column in columns}
        if len(counts) != 1:
            raise InvalidArgument("map inputs: have " + ", ".join(f"{len(c)} of {i.name!r}" for c, i in
                                                                  zip(columns, prepared.inputs)) +
                                  ", must be as many items of each")
        names = [info.name for info in prepared.inputs]
        return (dict(zip(names, row)) for row in zip(*columns))
    if _is_array(inputs):
        if len(prepared.inputs) != 1:
            raise InvalidArgument(f"map inputs: is one array, the model has {counted(len(prepared.inputs), 'input')}; "
                                  f"give a dict of arrays by name ({', '.join(i.name for i in prepared.inputs)})")
        return iter(Rows(prepared.inputs[0], inputs, "map inputs"))
    return _iterator(inputs)


def _is_array(value):
    return isinstance(value, np.ndarray) or hasattr(value, "shape") and hasattr(value, "dtype") and \
        hasattr(type(value), "__getitem__")


class Rows:
    """The items in an array: of one more dimension than the input, or of the input's, cut along the first one.

    Arrays are whatever has shape and slices, such as those of zarr. Raises InvalidArgument.
    """

    def __init__(self, info, array, what):
        if not _is_array(array):
            raise InvalidArgument(f"{what}: is {shown(array)}, must be an array with a first dimension for the items")
        shape = tuple(array.shape)
        rank = len(shape) if info.shape is None else len(info.shape)
        if len(shape) not in (rank, rank + 1) or not shape:
            raise InvalidArgument(f"{what}: shape is {list(shape)}, must have {rank} or {rank + 1} dimensions")
        self._array, self._lead = array, 0  # 0: an item is an element of the first dimension
        self._count = shape[0]
        if len(shape) == rank:
            self._lead = 1 if info.shape is None else info.shape[0] or 1
            self._count, left = divmod(shape[0], self._lead)
            if left:
                raise InvalidArgument(f"{what}: shape is {list(shape)}, the first dimension must be a multiple of "
                                      f"{self._lead}, as the input has {self._lead} there")

    def __len__(self):
        return self._count

    def __getitem__(self, k):
        if not 0 <= k < self._count:
            raise IndexError(k)
        return np.asarray(self._array[k * self._lead:(k + 1) * self._lead] if self._lead else self._array[k])
