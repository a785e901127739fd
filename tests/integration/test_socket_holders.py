"""Who holds a socket, among processes that come and go."""

import os
import socket
import subprocess
import threading

from corral.adapters.procfs import sockets


def test_processes_that_end_while_they_are_looked_at_are_passed_over() -> None:
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            subprocess.run(["true"], check=True)

    crowd = [threading.Thread(target=come_and_go) for _ in range(4)]
    for one in crowd:
        one.start()
    try:
        with socket.socket() as own:
            own.bind(("127.0.0.1", 0))
            inode = int(own_inode(own))
            for _ in range(100):
                found = sockets.holders({inode})
                assert len(found[inode]) >= 1
    finally:
        over.set()
        for one in crowd:
            one.join()


def own_inode(one: socket.socket) -> str:
    return os.readlink(f"/proc/self/fd/{one.fileno()}").removeprefix("socket:[").removesuffix("]")
