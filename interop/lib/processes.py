"""Child processes that never outlive the run, free ports, and waiting."""
import ctypes
import os
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """The run cannot go on as it is; the message says why."""


def _die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Processes:
    """Starts programs, each in a process group of its own, and ends exactly those."""

    def __init__(self, logs):
        self.logs = logs
        self.started = []

    def start(self, name, command, env=None, stdout=None):
        log = open(os.path.join(self.logs, name + ".log"), "wb")
        out = stdout if stdout is not None else log
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True,
            env={**os.environ, **(env or {})}, preexec_fn=_die_with_parent)
        log.close()
        process.log_path = os.path.join(self.logs, name + ".log")
        process.title = name
        self.started.append(process)
        return process

    def stop(self, process, how=signal.SIGTERM, patience=10):
        """Ends one program and everything it started. Returns its exit code."""
        if process in self.started:
            self.started.remove(process)
        if process.poll() is None:
            _signal(process, how)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                pass
        _signal(process, signal.SIGKILL)  # what it left behind
        return process.wait()

    def stop_all(self):
        for process in reversed(list(self.started)):
            self.stop(process, patience=3)


def _signal(process, how):
    try:
        os.killpg(process.pid, how)
    except ProcessLookupError:
        pass


def log_tail(process, lines=5):
    with open(process.log_path, errors="replace") as log:
        return " | ".join(log.read().strip().splitlines()[-lines:])


def free_ports(count):
    """Ports that nobody listens on now, all different."""
    sockets = []
    try:
        for _ in range(count):
            one = socket.socket()
            one.bind(("127.0.0.1", 0))
            sockets.append(one)
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_until(what, condition, seconds, processes=()):
    """Polls until the condition holds; fails early if a process it depends on is gone."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        for process in processes:
            if process.poll() is not None:
                raise Failure(f"{process.title} ended with {process.returncode} while waiting for"
                              f" {what}: {log_tail(process)}")
        if time.monotonic() > end:
            tails = "; ".join(f"{p.title}: {log_tail(p)}" for p in processes)
            raise Failure(f"no {what} within {seconds} s ({tails})")
        time.sleep(0.05)
