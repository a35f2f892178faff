"""The one table of knobs; the only place that reads the environment."""

import os
from functools import cache

from .errors import InvalidArgument
from .record import record


@record(frozen=True, slots=True)
class Knob:
    """An environment variable: name, default (as text), and one line of help.

    properties: names under which Android knows it [NN 12.2]; variables of these names count too, in this order.
    """

    name: str
    default: str
    help: str
    properties: tuple = ()


KNOBS = (
    Knob("NNFAST_CPU", "", "highest instruction level: scalar, avx2, avxvnni, avx512, avx512vnni, avx512vbmi, "
         "avx512bf16, avx512amx, neon, neondot, neoni8mm, neonbf16"),
    Knob("NNFAST_CACHES", "", "sizes of a core's level 1 and level 2 data caches in KB, as 48,2048, by which work is "
         "cut; default: what Linux tells (results do not change)"),
    Knob("NNFAST_NUM_THREADS", "", "threads per run where nobody says; default: what affinity and quota allow"),
    Knob("NNFAST_TEAM", "own", "threads that programs run on where nobody says: own or openmp"),
    Knob("NNFAST_VLOG", "", "verbose log tags with commas, colons or spaces between: model, compilation, "
         "execution, cpuexe, manager, driver, memory; all or 1"),
    Knob("NNFAST_CACHE_DIR", "", "folder for compiled models"),
    Knob("NNFAST_KEY", "", "file with the secret key that signs compiled models, made if missing; default: "
         "nnfast/key in the user's state folder (XDG)"),
    Knob("NNFAST_BURST_DRIVER_WINDOW", "", "microseconds for which the driver's end of a burst polls before it sleeps; "
         "default: 50, and 0 for models prepared for low power",
         ("debug.nn.sample-driver-burst-polling-window", "debug.nn.burst-server-polling-window")),
    Knob("NNFAST_BURST_CONTROLLER_WINDOW", "0", "microseconds for which the caller's end of a burst polls before it "
         "sleeps", ("debug.nn.burst-controller-polling-window",)),
    Knob("NNFAST_SOCKET", "", "socket of the driver's process; default: nnfast.sock in XDG_RUNTIME_DIR, else in the "
         "cache folder"),
    Knob("NNFAST_LITERT_PYTHON", "", "a Python that has LiteRT, for nnfast check and for tests; default: the own one"),
    Knob("NNFAST_POISON", "", "for tests: byte, 0 to 255, that working memory, outputs and packed weights hold before "
         "they are written, so that what is never written shows"),
    Knob("NNFAST_SHARED", "../shared", "folder with conformance vectors and benchmark models, for tests"),
)
_BY_NAME = {knob.name: knob for knob in KNOBS}
_OTHERS = ("NNFAST_DRIVER", "NNFAST_WERROR", "NNFAST_CFLAGS", "NNFAST_MARCH_NATIVE")
"""Variables that the C library and the build read."""


def get(name):
    """Text value of a knob: environment, else default."""
    knob = _BY_NAME[name]
    for variable in (name, *knob.properties):
        found = os.environ.get(variable, "").strip()
        if found:
            return found
    return knob.default


def variables():
    """Names of all variables that somebody reads."""
    return [name for knob in KNOBS for name in (knob.name, *knob.properties)] + list(_OTHERS)


def environment():
    """{name: value} of these variables that the environment has, and of others that look like them."""
    known = set(variables())
    return {name: value.strip() for name, value in sorted(os.environ.items())
            if value.strip() and (name in known or name.startswith("NNFAST_"))}


def cache_folder():
    """Folder for what can be made anew: NNFAST_CACHE_DIR, else `nnfast` in the user's cache folder (XDG)."""
    return get("NNFAST_CACHE_DIR") or _user_folder("XDG_CACHE_HOME", ".cache")


def data_folder():
    """Folder for what was measured on this machine: `nnfast` in the user's data folder (XDG)."""
    return _user_folder("XDG_DATA_HOME", ".local", "share")


def _user_folder(variable, *default):
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), *default)
    return os.path.join(base, "nnfast")


def key_path():
    """File with the user's key: NNFAST_KEY, else nnfast/key in the user's state folder (XDG); None without a home."""
    return _key_path(get("NNFAST_KEY"), os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"), os.getuid())


@cache
def _key_path(given, *_):
    """The rest is what the user's folder follows from."""
    path = given or os.path.join(_user_folder("XDG_STATE_HOME", ".local", "state"), "key")
    return path if given or os.path.isabs(path) else None


def socket_path():
    """Path of the socket at which a driver's process serves: NNFAST_SOCKET, else nnfast.sock in XDG_RUNTIME_DIR."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return get("NNFAST_SOCKET") or os.path.join(base if os.path.isabs(base) else cache_folder(), "nnfast.sock")


def trim_threshold():
    """Bytes of freed memory beyond which malloc gives it back, as the environment says (text); None if it does not."""
    return os.environ.get("MALLOC_TRIM_THRESHOLD_")


def passed_listeners():
    """How many listening sockets systemd has passed to this process, from descriptor 3 on; they are passed once."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return 0
    try:
        count = int(os.environ.pop("LISTEN_FDS", "0"))
    except ValueError:
        count = 0
    os.environ.pop("LISTEN_PID", None)
    os.environ.pop("LISTEN_FDNAMES", None)
    return max(0, count)


def notify_address():
    """Address at which systemd wants to be told of this process' state (sd_notify); None where it does not."""
    found = os.environ.get("NOTIFY_SOCKET", "")
    return "\0" + found[1:] if found.startswith("@") else found if found.startswith("/") else None


def get_int(name, low):
    """Whole-number value of a knob, at least `low`; None when unset. Raises InvalidArgument on anything else."""
    text = get(name)
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or value < low:
        raise InvalidArgument(f"{name}: {text!r} is not a whole number of at least {low}")
    return value
