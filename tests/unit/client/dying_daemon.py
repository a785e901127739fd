"""A daemon's socket whose daemon dies: the kernel still takes a connection, and closes it together with the socket."""

import os
import select
import socket
import threading


class DyingDaemon:
    """Listens at `path` until somebody has connected, and then no more. Takes no connection, and reads nothing."""

    def __init__(self, path: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._die, name="dying daemon")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _die(self) -> None:
        with self._listener:
            select.select([self._listener], [], [], 30)
