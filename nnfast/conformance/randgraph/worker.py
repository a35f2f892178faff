"""The process that tries random graphs for the runner: seeds come in, what became of them goes out."""

from multiprocessing.connection import Connection

from ...errors import Error
from .trial import Trial


def main(handle, size, names, version, subjects, threads, against, folder):
    """Entry point of the process; handle: number of the inherited socket, the rest as for Trial."""
    try:
        with Connection(handle) as connection:
            trial = None
            while (task := connection.recv()) is not None:
                try:
                    trial = trial or Trial(size, names, version, subjects, threads, against, folder)
                    for seed in task[1]:
                        connection.send(("start", seed))
                        connection.send(("result", trial.run(seed)))
                except Error as error:
                    connection.send(("error", str(error)))
                    return
                connection.send(("idle", ()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the runner is gone
