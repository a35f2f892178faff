"""The device of `--via cache`: every model that it prepares comes from cache files [NN 7]."""

import os

from ..driver.cache_files import TOKEN_BYTES, CacheFiles
from ..driver.device import Device

TOKEN = bytes(range(TOKEN_BYTES))


class CachedDevice(Device):
    """A Device that stores what it prepares in files of memory, and hands out what it loads from them."""

    def prepare(self, model, *arguments, **options):
        descriptors = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("model", "data")]
        try:
            files = CacheFiles(*((descriptor,) for descriptor in descriptors))
            super().prepare(model, *arguments, **options, cache=files, token=TOKEN)
            return self.prepare_from_cache(files, TOKEN, options.get("deadline"))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
