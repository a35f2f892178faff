"""Cache files as a client of the driver opens them."""

import os

from nnfast import CacheFiles

TOKEN = bytes(range(32))


def files_in(folder, name="cache"):
    """Open cache files of a folder, as a client passes them."""
    return CacheFiles(*((os.open(folder / f"{name}.{kind}", os.O_RDWR | os.O_CREAT),) for kind in ("model", "data")))
