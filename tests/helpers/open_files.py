"""Descriptors of this process, for tests that must leave none: they look at those that came, for what earlier tests
left may close meanwhile.
"""

import gc
import os


def open_files():
    """{(descriptor, what it leads to)} of now, after a collection."""
    gc.collect()
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add((int(name), os.readlink(f"/proc/self/fd/{name}")))
        except FileNotFoundError:
            pass  # that of the listing itself
    return found
