"""Where results go: .npy, .npz, zarr and parquet, made from the parts of a finished run.

A target has `check(path, outputs)`, which refuses what it cannot hold, `write(path, results)`, which writes everything
to a new file or folder, and `beside(results)`: {end of a name: bytes} of further files. Rows are in the order of the
items that have results.
"""

import csv
import io
import os
import zipfile
from typing import NamedTuple

import numpy as np

from ..errors import InvalidArgument
from ..extras import needed


class OutputInfo(NamedTuple):
    """One output of a model over many items: name, unique and fit for files; numpy dtype; shape of a row."""

    name: str
    dtype: np.dtype
    shape: tuple


class Results(NamedTuple):
    """All results. outputs: OutputInfos; count: rows; rows: of a chunk, the most; names(): iterator over lists of item
    names; arrays(place): iterator over arrays of rows of an output; both chunk by chunk."""

    outputs: list
    count: int
    rows: int
    names: object
    arrays: object


def target_of(path):
    """The target for the end of a name. Raises InvalidArgument."""
    end = os.path.splitext(path)[1].lower()
    for kind in (NumpyTarget, ArchiveTarget, ZarrTarget, ParquetTarget):
        if end in kind.ends:
            return kind()
    raise InvalidArgument(f"--output {path}: must end in .npy, .npz, .zarr or .parquet")


class NumpyTarget:
    """One output in a .npy; the names of its rows in a table beside it."""

    ends = (".npy",)

    def check(self, path, outputs):
        if len(outputs) != 1:
            raise InvalidArgument(f"--output {path}: a .npy holds one output, the model has {len(outputs)} "
                                  f"({', '.join(o.name for o in outputs)}); use .npz, .zarr or .parquet")

    def write(self, path, results):
        with open(path, "wb") as stream:
            _write_npy(stream, results.outputs[0], results.count, results.arrays(0))

    def beside(self, results):
        return {".items.csv": table(["row", "item"], enumerate(name for names in results.names() for name in names))}


class ArchiveTarget:
    """All outputs by name in a .npz, and `item` with the names of the rows."""

    ends = (".npz",)

    def check(self, path, outputs):
        pass

    def write(self, path, results):
        names = np.array([name for names in results.names() for name in names], str)
        with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
            for place, output in enumerate(results.outputs):
                with archive.open(zipfile.ZipInfo(f"{output.name}.npy"), "w", force_zip64=True) as stream:
                    _write_npy(stream, output, results.count, results.arrays(place))
            with archive.open(zipfile.ZipInfo("item.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, names, allow_pickle=False)

    def beside(self, results):
        return {}


def _write_npy(stream, output, count, arrays):
    np.lib.format.write_array_header_1_0(stream, {
        "descr": np.lib.format.dtype_to_descr(output.dtype), "fortran_order": False, "shape": (count, *output.shape)})
    for array in arrays:
        stream.write(np.ascontiguousarray(array).tobytes())


class ZarrTarget:
    """A group with an array for each output, and `item` with the names of the rows."""

    ends = (".zarr",)

    def check(self, path, outputs):
        needed("zarr", f"--output {path}")

    def write(self, path, results):
        zarr = needed("zarr", path)
        group = zarr.open_group(path, mode="w")
        rows = min(results.rows, max(results.count, 1))
        for place, output in enumerate(results.outputs):
            array = group.create_array(output.name, shape=(results.count, *output.shape), chunks=(rows, *output.shape),
                                       dtype=output.dtype)
            _fill(array, results.arrays(place), rows)
        names = group.create_array("item", shape=(results.count,), chunks=(rows,), dtype=str)
        _fill(names, (np.array(names, object) for names in results.names()), rows)

    def beside(self, results):
        return {}


def _fill(array, pieces, rows):
    """Write pieces one after the other, in whole chunks of `rows`."""
    at, waiting = 0, []
    for piece in pieces:
        waiting.append(piece)
        have = np.concatenate(waiting) if len(waiting) > 1 else piece
        whole = len(have) - len(have) % rows
        if whole:
            array[at:at + whole] = have[:whole]
            at += whole
        waiting = [have[whole:]]
    if waiting and len(waiting[0]):
        array[at:at + len(waiting[0])] = waiting[0]


class ParquetTarget:
    """A column `item`, and one for each output: numbers, or lists of fixed size in the order of the elements. The
    metadata of a field has its shape."""

    ends = (".parquet", ".pq")

    def check(self, path, outputs):
        needed("pyarrow.parquet", f"--output {path}")

    def write(self, path, results):
        arrow, parquet = needed("pyarrow", path), needed("pyarrow.parquet", path)
        fields = [arrow.field("item", arrow.string())]
        for output in results.outputs:
            kind = arrow.from_numpy_dtype(output.dtype)
            if output.shape:
                kind = arrow.list_(kind, int(np.prod(output.shape)))
            fields.append(arrow.field(output.name, kind, metadata={"shape": str(list(output.shape))}))
        schema = arrow.schema(fields)
        with parquet.ParquetWriter(path, schema) as writer:
            for names, *arrays in zip(results.names(), *map(results.arrays, range(len(results.outputs)))):
                columns = [arrow.array(names, arrow.string())]
                for field, array in zip(fields[1:], arrays):
                    flat = arrow.array(np.ascontiguousarray(array).reshape(-1))
                    columns.append(flat if flat.type == field.type else
                                   arrow.FixedSizeListArray.from_arrays(flat, field.type.list_size))
                writer.write_batch(arrow.record_batch(columns, schema=schema))

    def beside(self, results):
        return {}


def table(headers, rows):
    """Bytes of a CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return text.getvalue().encode()
