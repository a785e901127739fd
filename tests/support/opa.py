"""A real OPA server, with the files of a policy.

Taken from PATH, or from a cache outside of the repository. With `CORRAL_OPA=build` or `require` in the environment it
is built there with Go from its module, once, which takes some minutes; with `require` it is a failure if that cannot be
done. Else the tests are skipped where there is none, and say so.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import wait_for

#: A new one is a decision, and shows in a test what it changed.
VERSION = "1.22.0"
_BUILD_SECONDS = 1200


def program() -> str:
    """The path of an `opa`."""
    found = shutil.which("opa")
    if found is not None:
        return found
    # Not below HOME: tests have one of their own, which goes with them.
    cache = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "corral-tests"
    place = cache / f"opa-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{place.name}.lock", "w") as lock:
        # Tests run side by side, and in several checkouts.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "opa").exists() and (why := _not_built(place)):
            if os.environ.get("CORRAL_OPA") == "require":
                pytest.fail(why)
            pytest.skip(why)
    return str(place / "opa")


@functools.cache
def _not_built(place: Path) -> str:
    """Why there is none even now; empty if it has been built."""
    go = shutil.which("go")
    if os.environ.get("CORRAL_OPA") not in ("build", "require"):
        return "there is no opa on PATH; CORRAL_OPA=build builds one with Go"
    if go is None:
        return "there is neither an opa nor a go on PATH"
    work = place / "work"
    own = {"GOPATH": str(work / "path"), "GOCACHE": str(work / "cache")}
    environment = {**own, **os.environ, "GOBIN": str(work / "bin"), "GOFLAGS": "-modcacherw"}
    module = f"github.com/open-policy-agent/opa@v{VERSION}"
    work.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(
            [go, "install", "-p", "1", module],
            env=environment,
            cwd=work,
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            return f"opa {VERSION} could not be built: {done.stderr.strip().splitlines()[-1:]}"
        (work / "bin" / "opa").rename(place / "opa")
        return ""
    except subprocess.TimeoutExpired:
        return f"opa {VERSION} could not be built within {_BUILD_SECONDS} s"
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def server(directory: Path) -> Iterator[str]:
    """An OPA server with the files in `directory`; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [program(), "run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error", str(directory)]
    with subprocess.Popen([*words, "--skip-version-check"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as opa:
        try:

            def listens() -> bool:
                if opa.poll() is not None:
                    assert opa.stderr is not None
                    raise AssertionError(f"opa ended: {opa.stderr.read().decode()}")
                with socket.socket() as tried:
                    return tried.connect_ex(("127.0.0.1", port)) == 0

            wait_for(listens, what="opa listens")
            yield f"http://127.0.0.1:{port}"
        finally:
            opa.terminate()
            opa.wait()
