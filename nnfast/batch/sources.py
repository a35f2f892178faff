"""Where items come from: pictures, arrays in .npy, .npz and zarr, columns of parquet files.

A source has a length, `name(k)` and `item(k)`: the inputs of an item in model order; InvalidArgument says what is wrong
with a single item, and when the source is made, what is wrong with all. `identity` changes when the items do. Any
number of threads may read; a pickled source opens its files anew.
"""

import os
import threading
import zipfile
from bisect import bisect_right
from collections import OrderedDict
from itertools import accumulate

import numpy as np

from ..checks import counted
from ..driver.mapping import Rows
from ..errors import InvalidArgument
from ..extras import needed
from ..forks import renewed
from . import image

PICTURES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Ends of the names that count as pictures in a folder."""

KEPT_BLOCKS = 4
"""Blocks of a compressed file that stay decoded."""


def open_sources(paths, entries, recipe, columns=None):
    """The items of files and folders, in this order. entries: TensorInfos of the model's inputs; recipe(): image.Recipe
    of pictures; columns: {input name: column} of parquet files. Raises InvalidArgument.
    """
    columns = columns or {}
    unknown = set(columns) - {entry.name for entry in entries}
    if unknown:
        raise InvalidArgument(f"--column {min(unknown)}: no such input; there are "
                              f"{', '.join(entry.name for entry in entries)}")
    parts = [_open_one(path, entries, recipe, columns, len(paths) > 1) for path in paths]
    return parts[0] if len(parts) == 1 else Joined(parts)


def _open_one(path, entries, recipe, columns, has_others):
    if not os.path.exists(path):
        raise InvalidArgument(f"{path}: no such file or folder")
    end = os.path.splitext(path.rstrip("/"))[1].lower()
    if os.path.isdir(path):
        if any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup")):
            return ZarrFile(path, entries)
        names = sorted(_pictures_in(path))
        if not names:
            raise InvalidArgument(f"{path}: holds no pictures ({' '.join(PICTURES)}), and is no zarr array")
        return Pictures(path, names, entries, recipe(), path if has_others else "")
    if end == ".npy":
        return NumpyFile(path, entries)
    if end == ".npz":
        return NumpyArchive(path, entries)
    if end in (".parquet", ".pq"):
        return ParquetFile(path, entries, columns)
    if end in PICTURES:
        return Pictures(os.path.dirname(path), [os.path.basename(path)], entries, recipe(), os.path.dirname(path))
    raise InvalidArgument(f"{path}: must be a folder of pictures, a picture, .npy, .npz, .zarr or .parquet")


def _pictures_in(folder):
    """Names of the pictures in a folder and those below it, relative to it."""
    def failed(error):
        raise InvalidArgument(f"{error.filename}: {error.strerror}")

    for place, folders, files in os.walk(folder, onerror=failed):
        folders.sort()
        for name in files:
            if name.lower().endswith(PICTURES):
                yield os.path.relpath(os.path.join(place, name), folder)


def _stamp(path):
    """What changes when a file does, as far as its folder knows."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


class Pictures:
    """Picture files as the only input. prefix: folder that the names of items begin with, or ""."""

    def __init__(self, folder, names, entries, recipe, prefix=""):
        if len(entries) != 1:
            raise InvalidArgument(f"a picture feeds one input, the model has {len(entries)}; use .npz, .zarr or "
                                  ".parquet")
        self._folder, self._names, self._entry = os.path.abspath(folder), names, entries[0]
        self._recipe, self._prefix = recipe, prefix
        image.place_of(self._entry, recipe)  # raises: no picture fits

    def __len__(self):
        return len(self._names)

    def name(self, k):
        return os.path.join(self._prefix, self._names[k])

    def item(self, k):
        return [image.prepare(os.path.join(self._folder, self._names[k]), self._entry, self._recipe)]

    def __setstate__(self, state):
        self.__dict__ = state
        if not os.path.isdir(self._folder):
            raise InvalidArgument(f"{self._folder}: this worker does not see the folder of the pictures; share it")

    def identity(self):
        recipe = [self._recipe.crop, self._recipe.layout, self._recipe.mean, self._recipe.std]
        return ["pictures", recipe, [[self.name(k), _stamp(os.path.join(self._folder, name))]
                                     for k, name in enumerate(self._names)]]


class _Arrays:
    """Arrays with the items along their first dimension, one for each input. Subclasses open them."""

    def __init__(self, path, entries):
        self._path, self._where, self._entries = path, os.path.abspath(path), entries
        self._open()

    def _open(self):
        arrays = self._load()
        self._rows = [_checked(entry, array, self._path) for entry, array in zip(self._entries, arrays)]
        counts = [len(rows) for rows in self._rows]
        if len(set(counts)) != 1:
            have = ", ".join(f"{count} of {entry.name}" for count, entry in zip(counts, self._entries))
            raise InvalidArgument(f"{self._path}: has {have}, must be as many of each")

    def _load(self):
        raise NotImplementedError

    def _found(self, names, get):
        """The array of each input: of its name, or of the only name there is for the only input."""
        if len(self._entries) == 1 and self._entries[0].name not in names:
            if len(names) == 1 or "input" in names:
                return [get("input" if "input" in names else next(iter(names)))]
        missing = [entry.name for entry in self._entries if entry.name not in names]
        if missing:
            raise InvalidArgument(f"{self._path}: holds {', '.join(sorted(names)) or 'nothing'}; there is no array for "
                                  f"input {', '.join(missing)}")
        return [get(entry.name) for entry in self._entries]

    def _only(self):
        if len(self._entries) != 1:
            names = ", ".join(entry.name for entry in self._entries)
            raise InvalidArgument(f"{self._path}: holds one array, the model has "
                                  f"{counted(len(self._entries), 'input')} ({names}); use .npz or a zarr group")

    def __getstate__(self):
        return self._path, self._where, self._entries

    def __setstate__(self, state):
        self._path, self._where, self._entries = state
        self._open()

    def __len__(self):
        return len(self._rows[0])

    def name(self, k):
        return f"{self._path}[{k}]"

    def item(self, k):
        return [rows[k] for rows in self._rows]

    def identity(self):
        return ["arrays", self._path, len(self), _stamp(self._where)]


def _checked(entry, array, path):
    """Rows of an array whose items fit an input. Raises InvalidArgument."""
    what = f"{path}: array for input {entry.name}"
    if array.dtype != entry.dtype and {str(array.dtype), str(entry.dtype)} != {"bool", "uint8"}:
        raise InvalidArgument(f"{what}: dtype is {array.dtype}, must be {entry.dtype}")
    rows = Rows(entry, array, what)
    if entry.shape is not None:
        own = tuple(array.shape)[-len(entry.shape) + (len(array.shape) == len(entry.shape)):] if entry.shape else ()
        wanted = entry.shape[len(entry.shape) - len(own):]
        if any(size not in (None, found) for size, found in zip(wanted, own)):
            raise InvalidArgument(f"{what}: shape is {list(array.shape)}, an item must have the shape "
                                  f"{['?' if size is None else size for size in entry.shape]}")
    return rows


class NumpyFile(_Arrays):
    """A .npy, of which each item is read when it is needed."""

    def _load(self):
        self._only()
        try:
            array = np.load(self._where, mmap_mode="r", allow_pickle=False)
            return [_NumpyRows(self._where, array) if array.flags.c_contiguous and array.ndim else np.array(array)]
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise InvalidArgument(f"{self._path}: not a .npy file with a plain array: {error}") from None


class _NumpyRows:
    """A .npy in the order of C, read by rows: a mapping of a file that is cut short would end this process.

    mapped: the np.memmap of it, of which only the description is used.
    """

    def __init__(self, path, mapped):
        self.shape, self.dtype = mapped.shape, mapped.dtype
        self._path, self._start = path, mapped.offset
        self._row_bytes = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    def __getitem__(self, key):
        first, count = (key.start, key.stop - key.start) if isinstance(key, slice) else (key, 1)
        try:
            with open(self._path, "rb") as stream:
                data = os.pread(stream.fileno(), count * self._row_bytes, self._start + first * self._row_bytes)
        except OSError as error:
            raise InvalidArgument(f"{self._path}: {error.strerror or error}") from None
        if len(data) != count * self._row_bytes:
            raise InvalidArgument(f"{self._path}: ends before row {first + count}")
        rows = np.frombuffer(data, self.dtype).reshape(count, *self.shape[1:])
        return rows if isinstance(key, slice) else rows[0]


class NumpyArchive(_Arrays):
    """A .npz, whose arrays are read as a whole."""

    def _load(self):
        try:
            with np.load(self._where, allow_pickle=False) as archive:
                return self._found(archive.files, archive.__getitem__)
        except InvalidArgument:
            raise
        except (OSError, ValueError, EOFError, KeyError, MemoryError, SyntaxError, zipfile.BadZipFile,
                AttributeError, TypeError) as error:
            raise InvalidArgument(f"{self._path}: not a .npz file with plain arrays: {error}") from None


class ZarrFile(_Arrays):
    """A zarr array, or a group of arrays by input name; read in its own chunks."""

    def _load(self):
        zarr = needed("zarr", self._path)
        try:
            found = zarr.open(self._where, mode="r")
        except Exception as error:  # of zarr, codecs, stores
            raise InvalidArgument(f"{self._path}: not a zarr array or group: {error}") from None
        if hasattr(found, "shape"):
            self._only()
            return [_Chunked(found)]
        return [_Chunked(array) for array in self._found(dict(found.arrays()), found.__getitem__)]

    def identity(self):
        return ["zarr", self._path, len(self), [_stamp(os.path.join(self._where, name))
                                                for name in ("zarr.json", ".zarray", ".zgroup")]]


class _Chunked:
    """A zarr array whose rows come from chunks that stay decoded for a while."""

    def __init__(self, array):
        self.shape, self.dtype = array.shape, array.dtype
        self._rows = array.chunks[0] if array.shape else 1
        self._blocks = _Blocks(lambda block: array[block * self._rows:(block + 1) * self._rows])

    def __getitem__(self, key):
        if not isinstance(key, slice):
            block, row = divmod(key, self._rows)
            return self._blocks[block][row]
        pieces, at = [], key.start
        while at < key.stop:
            block, row = divmod(at, self._rows)
            pieces.append(self._blocks[block][row:row + key.stop - at])
            at += len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


class _Blocks:
    """The blocks of a file by number, the last ones kept. read(number): decodes one."""

    def __init__(self, read):
        self._read, self._kept, self._lock = read, OrderedDict(), renewed(threading.Lock())

    def __getitem__(self, number):
        with self._lock:
            block = self._kept.pop(number, None)
            if block is None:
                block = self._read(number)
            self._kept[number] = block
            if len(self._kept) > KEPT_BLOCKS:
                self._kept.popitem(last=False)
            return block


class ParquetFile:
    """Columns of a parquet file, by input name or as `columns` says: numbers, or lists of them in any nesting."""

    def __init__(self, path, entries, columns):
        self._path, self._where = path, os.path.abspath(path)
        self._entries, self._columns = entries, columns
        self._open()

    def _open(self):
        parquet = needed("pyarrow.parquet", self._path)
        try:
            self._file = parquet.ParquetFile(self._where)
        except Exception as error:  # of pyarrow, which has its own kinds
            raise InvalidArgument(f"{self._path}: not a parquet file: {' '.join(str(error).split())}") from None
        schema = self._file.schema_arrow
        self._found = [self._column(entry, schema) for entry in self._entries]
        groups = self._file.metadata
        self._starts = [0, *accumulate(groups.row_group(k).num_rows for k in range(groups.num_row_groups))]
        self._blocks = _Blocks(lambda group: self._file.read_row_group(group, columns=self._found))

    def _column(self, entry, schema):
        """Name of the column for an input, which must hold its dtype."""
        name = self._columns.get(entry.name, entry.name)
        if name not in schema.names and entry.name not in self._columns and len(self._entries) == 1 and \
                len(schema.names) == 1:
            name = schema.names[0]
        if name not in schema.names:
            raise InvalidArgument(f"{self._path}: holds the columns {', '.join(schema.names)}; there is none for input "
                                  f"{entry.name} (--column {entry.name}=NAME)")
        kind = schema.field(name).type
        while hasattr(kind, "value_type"):
            kind = kind.value_type
        try:
            dtype = np.dtype(kind.to_pandas_dtype())
        except (NotImplementedError, TypeError):
            dtype = None
        if dtype != entry.dtype:
            raise InvalidArgument(f"{self._path}: column {name} holds {kind}, input {entry.name} must be {entry.dtype}")
        return name

    def __getstate__(self):
        return self._path, self._where, self._entries, self._columns

    def __setstate__(self, state):
        self._path, self._where, self._entries, self._columns = state
        self._open()

    def __len__(self):
        return self._starts[-1]

    def name(self, k):
        return f"{self._path}[{k}]"

    def item(self, k):
        group = bisect_right(self._starts, k) - 1
        table = self._blocks[group]
        return [self._value(table.column(name)[k - self._starts[group]], entry, name)
                for name, entry in zip(self._found, self._entries)]

    def _value(self, cell, entry, name):
        """Array of a cell, in the shape of an input."""
        if not cell.is_valid:
            raise InvalidArgument(f"column {name}: has no value")
        if not hasattr(cell, "values"):
            flat = np.array([cell.as_py()], entry.dtype)
        else:
            values = cell.values
            while hasattr(values.type, "value_type"):
                values = values.flatten()
            if values.null_count:
                raise InvalidArgument(f"column {name}: has {values.null_count} missing numbers")
            flat = values.to_numpy(zero_copy_only=False)
        open_sizes = entry.shape is None or None in entry.shape[1:]
        shape = (flat.size,) if open_sizes else (entry.shape[0] or 1, *entry.shape[1:]) if entry.shape else ()
        if open_sizes or flat.size != np.prod(shape, dtype=np.int64):
            raise InvalidArgument(f"column {name}: has {flat.size} numbers, input {entry.name} needs the shape "
                                  f"{list(entry.shape or ())}")
        return np.ascontiguousarray(flat, entry.dtype).reshape(shape)

    def identity(self):
        return ["parquet", self._path, self._found, len(self), _stamp(self._where)]


class Joined:
    """Several sources, one after the other."""

    def __init__(self, parts):
        self._parts, self._starts = parts, [0, *accumulate(map(len, parts))]

    def _at(self, k):
        part = bisect_right(self._starts, k) - 1
        return self._parts[part], k - self._starts[part]

    def __len__(self):
        return self._starts[-1]

    def name(self, k):
        part, k = self._at(k)
        return part.name(k)

    def item(self, k):
        part, k = self._at(k)
        return part.item(k)

    def identity(self):
        return ["joined", [part.identity() for part in self._parts]]
