"""nnfast on Dask: a model over a Dask array, and `nnfast batch` on the workers of a cluster (docs/batch.md).

    y = nnfast.distributed.map_blocks(model, x)      # a Dask array; nothing runs before y.compute()

A model travels once to each worker, under the digest of its content, and is compiled there once. A task runs on one
thread, as Dask runs as many tasks at once as a worker has threads. Needs dask and distributed: nnfast[distributed].
"""

from __future__ import annotations

import ctypes
import os
import pickle
import tempfile
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from .batch import runner
from .batch.store import digest_of
from .checks import counted, kind_of, whole
from .checks import path as checked_path
from .config import trim_threshold
from .driver.device import Device
from .driver.mapping import MOST_BATCH
from .errors import Error, InvalidArgument
from .extras import needed
from .forks import importing, renewed
from .model.types import Model
from .tflite import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Self

    from . import typed
    from .driver.prepared import PreparedModel

dask, distributed, dask_array = needed("dask"), needed("distributed"), needed("dask.array")
with importing:
    from distributed.comm import CommClosedError

ROUNDS = 2
"""Chunks that each thread of a cluster has at once: one runs, one waits at the worker."""
ATTEMPTS = 20
"""Times that a chunk begins anew because a worker was lost, at most."""
GONE = "the scheduler is gone; what is finished is kept, the same command goes on"
FREE_PORT = "127.0.0.1:0"
"""Where the scheduler of workers of this machine serves its pages: not where another one may do."""
RUNNING = "running"
"""The status of a Client whose scheduler is there."""
CONNECT_SECONDS, WORKERS_SECONDS = 10.0, 60.0

TRIMMED = "65536"
"""MALLOC_TRIM_THRESHOLD_ of the workers that Dask starts, unless its configuration says otherwise."""
KEPT_BYTES = 64 << 20
"""Freed memory that malloc keeps for what follows, in each of its arenas; the largest block that it takes from there
is half of it."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3

_contents, _made, _registered = {}, {}, WeakKeyDictionary()
_lock = renewed(threading.RLock())


# -- what a worker has -------------------------------------------------------------------------------------------------
class ContentMissing(Exception):
    """A worker was never given a content: the scheduler that knew of it is gone."""


class ContentPlugin(distributed.WorkerPlugin):
    """Brings bytes to every worker, those that come later too. digest: of the bytes."""

    idempotent = True

    digest: str
    name: str

    def __init__(self, data: bytes) -> None:
        self.digest, self._data = digest_of(data), data
        self.name = f"nnfast-{self.digest}"

    def setup(self, worker: Any) -> None:
        """Called by Dask on each worker."""
        keep_freed_memory()
        with _lock:
            _contents[self.digest] = self._data

    def teardown(self, worker: Any) -> None:
        """Called by Dask when the plugin is removed."""
        with _lock:
            _contents.pop(self.digest, None)
            for key in [key for key in _made if key[0] == self.digest]:
                del _made[key]


def keep_freed_memory() -> None:
    """Have malloc keep freed memory for the next item, in workers whose malloc Dask told to give all of it back: the
    page faults of a picture's arrays would take longer than their arithmetic. Another setting of the environment stays.
    """
    libc = ctypes.CDLL(None)
    if trim_threshold() == TRIMMED and hasattr(libc, "mallopt"):  # musl has none
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        libc.mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES // 2)


def _made_of(digest, options, make):
    """make(bytes), made once in this process for a content and options."""
    with _lock:
        key = digest, options
        if key not in _made:
            if digest not in _contents:
                raise ContentMissing(digest)
            _made[key] = make(_contents[digest])
        return _made[key]


class ModelOnWorkers:
    """A model with the options of preparation, as tasks refer to it: a digest.

    data: what travels; input_shapes: as of Device.prepare; device: keyword arguments of nnfast.Device. `embedded` has
    the bytes with it, for schedulers without workers of their own.
    """

    digest: str
    data: bytes | None

    def __init__(self, model: Model | typed.FilePath, input_shapes: typed.InputShapes | None = None,
                 embedded: bool = False, **device: Any) -> None:
        data = content_of(model)
        self.digest, self._embedded = digest_of(data), data if embedded else None
        self.data = data
        self._options = tuple(sorted((input_shapes or {}).items())), tuple(sorted(device.items()))

    def __getstate__(self) -> tuple[Any, ...]:
        return self.digest, self._options, self._embedded

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.digest, self._options, self._embedded = state
        self.data = None

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return self.digest, self._options, self._embedded is not None

    def prepared(self) -> tuple[Model, PreparedModel]:
        """(Model, PreparedModel) of this process, made when it is first asked for."""
        if self._embedded is not None:
            with _lock:
                _contents.setdefault(self.digest, self._embedded)
        return _made_of(self.digest, self._options, self.prepare)

    def prepare(self, data: bytes | None = None) -> tuple[Model, PreparedModel]:
        """(Model, PreparedModel), made now. data: its bytes, None: those of `data`."""
        shapes, device = map(dict, self._options)
        model = load(self.data if data is None else data)
        return model, Device(1, **device).prepare(model, input_shapes=shapes or None)


def content_of(model: Model | typed.FilePath) -> bytes:
    """Bytes of a Model, or of a model file by its path. Raises InvalidArgument."""
    if not isinstance(model, Model):
        path = checked_path(model, "distributed model:")
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except OSError as error:
            raise InvalidArgument(f"{path}: {error.strerror or error}") from None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.nnapi")
        model.save(path)
        with open(path, "rb") as stream:
            return stream.read()


def register(client: Any, data: bytes, again: bool = False) -> None:
    """Have all workers of a client get these bytes (data), now and later; again: also where they were told already."""
    plugin = ContentPlugin(data)
    with _lock:
        known = _registered.setdefault(client, set())
        if plugin.digest in known and not again:
            return
        known.add(plugin.digest)
    client.register_plugin(plugin)


def unregister(client: Any, data: bytes) -> None:
    """Have the workers of a client drop these bytes."""
    digest = digest_of(data)
    with _lock:
        _registered.get(client, set()).discard(digest)
    if client.status == RUNNING:
        with suppress(OSError, ValueError, RuntimeError):  # it may end in the middle
            client.unregister_worker_plugin(f"nnfast-{digest}")


# -- arrays ------------------------------------------------------------------------------------------------------------
def map_blocks(model: Model | typed.FilePath, array: Any, client: Any = None, batch: int = 1,
               input_shapes: typed.InputShapes | None = None, **device: Any) -> Any:
    """A model over a Dask array with the items along the first axis, block by block. Lazy.

        y = nnfast.distributed.map_blocks("model.tflite", dask.array.from_zarr("pictures.zarr"), batch=8)
        y.to_zarr("scores.zarr")

    model: an nnfast.Model, or the path of a model file, with one input; array: of the input's dtype, with one more
    dimension than an item, or with the items' leading dimension of 1 left out. Its chunks along the other axes are
    merged. client: the distributed.Client whose workers get the model now; None: the default client, if there is one;
    without one the model is part of the graph. batch: as PreparedModel.map; input_shapes: as Device.prepare; device:
    keyword arguments of nnfast.Device.

    Returns a Dask array with a row for each item, or a tuple of them for several outputs. Equal models and arrays have
    equal keys. An item that fails makes its block fail. Raises InvalidArgument.
    """
    whole(batch, "map_blocks batch:", 1, MOST_BATCH)
    if not isinstance(array, dask_array.Array):
        raise InvalidArgument(f"map_blocks array: is {kind_of(array)}, must be a dask.array.Array; "
                              "dask.array.from_array makes one")
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            pass
    reference = ModelOnWorkers(model, input_shapes, embedded=client is None, **device)
    _, prepared = reference.prepare()
    outputs = runner.outputs_of(prepared)
    shape = _item_shape(prepared, array)
    if client is not None:
        register(client, reference.data)
    reference = dask.delayed(reference, pure=True, traverse=False)
    array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    run = dask.delayed(_run_block, pure=True)
    blocks = [run(reference, block, shape, batch) for block in array.to_delayed().ravel()]
    found = []
    for place, output in enumerate(outputs):
        pieces = [dask_array.from_delayed(block[place], (rows, *output.shape), output.dtype)
                  for block, rows in zip(blocks, array.chunks[0])]
        found.append(dask_array.concatenate(pieces, allow_unknown_chunksizes=True))
    return found[0] if len(found) == 1 else tuple(found)


def _item_shape(prepared, array):
    """Shape of the model's only input, for items in the rows of an array. Raises InvalidArgument."""
    if len(prepared.inputs) != 1:
        raise InvalidArgument(f"map_blocks: the model has {counted(len(prepared.inputs), 'input')}, must have one")
    info, = prepared.inputs
    shape = tuple(array.shape[1:])
    wanted = None if info.shape is None else tuple(info.shape)
    if array.dtype != info.dtype:
        raise InvalidArgument(f"map_blocks array: dtype is {array.dtype}, must be {info.dtype}")
    for full in (shape, (1, *shape)):
        if wanted is not None and len(wanted) == len(full) and all(w in (None, g) for w, g in zip(wanted, full)):
            return full
    raise InvalidArgument(f"map_blocks array: shape is {list(array.shape)}, must be a first dimension for the items "
                          f"and {['?' if d is None else d for d in wanted or ()]}, without a leading 1 or with it")


def _run_block(reference, block, shape, batch):
    """Outputs of a model over a block, each with a row for each item."""
    _, prepared = _found(reference)
    outputs = runner.outputs_of(prepared)
    block = np.ascontiguousarray(block)
    rows = [np.empty((len(block), *output.shape), output.dtype) for output in outputs]
    with prepared.map((item.reshape(shape) for item in block), batch) as results:
        for k, result in enumerate(results):
            for row, array in zip(rows, result):
                row[k] = array.reshape(row.shape[1:])
    return rows


def _found(reference):
    try:
        return reference.prepared()
    except ContentMissing:
        raise InvalidArgument("map_blocks: this worker does not have the model, its scheduler has been replaced; call "
                              "map_blocks again") from None


# -- files: nnfast batch -----------------------------------------------------------------------------------------------
@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None,
              threads: int | None = None) -> Iterator[Any]:
    """A Client of a scheduler's address, or of workers started on this machine, which end with the block.

    threads: of all workers together; None: the processors. Raises InvalidArgument if there is no scheduler or worker.
    """
    with dask.config.set({"distributed.comm.timeouts.connect": CONNECT_SECONDS,
                          "distributed.worker.profile.enabled": False}):
        if scheduler is None:
            count = max(1, (threads or Device().num_threads) // workers)
            with distributed.LocalCluster(n_workers=workers, threads_per_worker=count, dashboard_address=None,
                                          scheduler_kwargs={"dashboard_address": FREE_PORT},
                                          silence_logs="CRITICAL") as cluster, distributed.Client(cluster) as client:
                yield client
            return
        try:
            client = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            why = " ".join(str(error).split())
            raise InvalidArgument(f"--scheduler {scheduler}: cannot be reached: {why}") from None
        with _entered(client):
            try:
                client.wait_for_workers(1, timeout=WORKERS_SECONDS)
            except TimeoutError:
                raise InvalidArgument(f"--scheduler {scheduler}: has no workers; start some with `dask worker`"
                                      ) from None
            yield client


@contextmanager
def _entered(client):
    """`with client`, but if it has lost its scheduler and so fails to close, that hides nothing that was raised."""
    client.__enter__()
    try:
        yield
    finally:
        was_running = client.status == RUNNING
        try:
            client.__exit__(None, None, None)
        except (OSError, RuntimeError):
            if was_running:
                raise


class Chunks:
    """Computes the chunks of a run on the workers of a client, which keep what they need until the end of a `with`
    block. reference: ModelOnWorkers; source: of batch.sources; outputs: as of runner.outputs_of."""

    def __init__(self, client: Any, reference: ModelOnWorkers, source: Any, outputs: Sequence[Any], batch: int) -> None:
        self._client, self._reference = client, reference
        self._outputs, self._batch = outputs, batch
        self._source = pickle.dumps(source)
        self._arguments = digest_of(self._source), reference, outputs, batch

    def __enter__(self) -> Self:
        self._register(False)
        return self

    def __exit__(self, *error: object) -> None:
        for data in (self._source, self._reference.data):
            unregister(self._client, data)

    def _register(self, again):
        for data in (self._reference.data, self._source):
            register(self._client, data, again)

    def parts(self, ranges: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """(number, Part) of each chunk, in the order in which they are finished; bounded in number.

        A chunk whose worker is lost is computed again. Raises what ends a run.
        """
        waiting, attempts = deque(ranges), {}
        running = distributed.as_completed(loop=self._client.loop)
        while waiting or attempts:
            with self._while_there():
                self._fill(running, waiting, attempts)
                future = next(running)
                part, (chunk, attempt) = self._outcome(future), attempts.pop(future)
                del future
                if part is None and attempt < ATTEMPTS:
                    self._submit(running, chunk, attempt + 1, attempts)
            if part is not None:
                yield chunk[0], part
            elif attempt == ATTEMPTS:
                raise Error(f"chunk {chunk[0]}: its worker was lost {ATTEMPTS} times; see the logs of the workers")

    @contextmanager
    def _while_there(self):
        """Say so if it is because of the scheduler that something fails."""
        try:
            yield
        except (OSError, RuntimeError, distributed.CancelledError):
            if self._client.status == RUNNING:
                raise
            raise Error(GONE) from None

    def _fill(self, running, waiting, attempts):
        """Submit as many chunks as keep all workers busy."""
        threads = max(1, sum(self._client.nthreads().values())) if waiting else 0
        while waiting and len(attempts) < ROUNDS * threads:
            self._submit(running, waiting.popleft(), 1, attempts)

    def _submit(self, running, chunk, attempt, attempts):
        future = self._client.submit(_run_chunk, *self._arguments, chunk, pure=False)
        attempts[future] = chunk, attempt
        running.add(future)

    def _outcome(self, future):
        """The Part of a chunk; None if it has to be computed again."""
        if self._client.status != RUNNING:
            raise Error(GONE)
        try:
            return future.result()
        except ContentMissing:
            self._register(True)
        except (distributed.KilledWorker, distributed.CancelledError, CommClosedError):
            pass
        return None


def _run_chunk(digest, reference, outputs, batch, chunk):
    """The Part of a chunk, on a worker."""
    source = _made_of(digest, None, pickle.loads)
    _, prepared = reference.prepared()
    with runner.results_of(prepared, source, [chunk], batch) as results:
        (_, part), = runner.parts_of(results, [chunk], outputs)
    return part
