"""Drivers that a client starts by itself, in processes of their own."""

import os
import select
import signal
import sys

import nnfast


def starter_in(folder):
    """Path of a program that serves as `nnfast serve` does, wherever nnfast is installed."""
    path = folder / "nnfast"
    path.write_text(f"#!{sys.executable}\nimport sys\nsys.path[:] = {sys.path!r}\nfrom nnfast.cli.main import main\n"
                    f"sys.exit(main(sys.argv[1:]))\n")
    path.chmod(0o755)
    return path


def stop(socket):
    """End the driver that serves there, as kill -9 does; it is gone afterwards."""
    with nnfast.connect(socket) as device:
        pid = os.pidfd_open(device.pid)
        signal.pidfd_send_signal(pid, signal.SIGKILL)
        select.select([pid], [], [])
        os.close(pid)
