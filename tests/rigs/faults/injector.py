"""Fault injection into the release build: strace on a process that copies.

A `Worker` has imported everything and waits; for each case strace attaches to
it, the worker makes one call, and strace lets go.  That costs about 5 ms a
case, and counting (`when=2+`) starts with the call itself.  An injected error
or result replaces the system call: the kernel does not see it.
"""

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from support.privilege import Unavailable

TIMEOUT = 30


class Hang(AssertionError):
    """The call did not come back, or the process died of it."""


class Worker:
    def __init__(self, **environment):
        self._environment = environment
        self._process = None

    def start(self):
        if self._process is not None:
            return
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(TIMEOUT)
        script = Path(__file__).with_name("worker.py")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, script, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    **self._environment,
                },
            )
        assert self._channel.recv(100) == b"ready"

    def stop(self):
        if self._process is not None:
            self._channel.close()
            self._process.kill()
            self._process.wait()
            self._process = None

    def descriptors(self):
        return sorted(os.listdir(f"/proc/{self._process.pid}/fd"), key=int)

    def call(self, module, name, *arguments, **options):
        """The outcome of a call in the worker, see rigs.outcomes."""
        message = pickle.dumps((module, name, arguments, options))
        try:
            self._channel.send(message)
            answer = self._channel.recv(1 << 16)
        except socket.timeout:  # TimeoutError only since Python 3.10
            answer = b""
        if not answer:
            status = self._process.poll()
            self.stop()
            raise Hang(f"{module}.{name}: no answer, process status {status}")
        return pickle.loads(answer)

    @contextlib.contextmanager
    def fault(self, calls, what):
        """Inject `what`, such as "error=EIO:when=2+", into the system calls
        `calls`, such as "read,write", while the block runs."""
        self.start()
        inject = f"inject={calls}:{what}"
        command = ["strace", "-f", "-o", "/dev/null", "-e", inject, "-p", str(self._process.pid)]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
        ) as strace:
            line = strace.stderr.readline()
            try:
                if "attached" not in line:
                    raise Unavailable(f"strace: {line.strip()}")
                yield
            finally:
                strace.send_signal(signal.SIGINT)
                strace.wait(TIMEOUT)


def check_available():
    """Raise Unavailable where faults cannot be injected."""
    if shutil.which("strace") is None:
        raise Unavailable("strace is not installed")
    probe = Worker()
    try:
        with probe.fault("chdir", "error=EIO"):
            pass
    finally:
        probe.stop()
