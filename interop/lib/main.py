"""Runs the parts against a reference deployment and our own servers; see docs/interop.md."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import grpc

import faults
import ours
from parts import PARTS
from processes import Failure, Processes
from recording import Recording
from reference import Deployment
from report import Report
from rustview import RustView, cargo

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".work")


class Scene:
    """What the parts share: servers that start when the first part asks for them."""

    kvrelay = staticmethod(ours.kvrelay)

    def __init__(self, report, directory, seed, rust):
        self.report = report
        self.directory = directory
        self.seed = seed
        self.rust = rust
        self.processes = Processes(os.path.join(directory, "logs"))
        self._reference = None
        self._server = None

    def reference(self):
        """The reference deployment."""
        if self._reference is None:
            self.report.note("starting the reference deployment: mock engines, frontend, relay")
            begin = time.monotonic()
            deployment = Deployment(self.processes, os.path.join(self.directory, "reference"))
            self._reference = deployment.start()
            self.report.note(f"up after {time.monotonic() - begin:.1f} s at {deployment.address}")
        return self._reference

    def server(self):
        """A server of ours with a small recording, until the run ends."""
        if self._server is None:
            events = os.path.join(self.directory, "small.jsonl")
            Recording(self.seed, events=50).write(events)
            self._server = ours.Replay(
                self.processes, self.directory, "server", events, 1000, 600)
            self.report.note(f"our server is kvrelay replay at {self._server.address}")
        return self._server

    def start_rust_view(self, address, tokens):
        """The reference's own view on a relay, or None if it is not to be had."""
        if self.rust is None:
            return None
        return RustView(self.processes, self.directory, self.rust, address, tokens,
                        quiet_seconds=3)


def rust_program(report, wanted):
    """The program over the reference's crate, built, or None with a line that says why."""
    what = "the reference's own view (Rust)"
    if not wanted:
        report.skip(what, "--without-rust")
        return None
    if cargo() is None:
        report.skip(what, "no cargo")
        return None
    report.note("building the program over the reference's crate (minutes, the first time)")
    return RustView.build(WORK)


def run(report, scene, names):
    for name in names:
        part = PARTS[name]
        report.part(part.__doc__.splitlines()[0])
        try:
            part(scene)
        except (Failure, grpc.RpcError, OSError, KeyError, ValueError, IndexError,
                subprocess.SubprocessError) as e:
            report.crashed(name, e)


def main():
    parser = argparse.ArgumentParser(
        prog="interop/run", description=__doc__, epilog="parts: " + ", ".join(PARTS))
    parser.add_argument("parts", nargs="*", metavar="PART", help="parts to run (default: all)")
    parser.add_argument("--without-rust", action="store_true", help="leave out what needs cargo")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything random")
    parser.add_argument("--prepare", action="store_true", help="only install what the parts need")
    parser.add_argument("--record-errors", action="store_true",
                        help="write the reference's answers to errors_expected.jsonl, and end")
    options = parser.parse_args()
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"no part {name}: there are {', '.join(PARTS)}")
    if options.prepare:
        return 0

    directory = os.path.join(WORK, "run")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(os.path.join(directory, "logs"))
    # Polite signals unwind the stack like Ctrl-C, so that the programs below end with the run.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Report()
    begin = time.monotonic()
    names = options.parts or list(PARTS)
    rust = None
    if {"replay", "dynamo"} & set(names) and not options.record_errors:
        rust = rust_program(report, not options.without_rust)
    scene = Scene(report, directory, options.seed, rust)
    try:
        if not options.record_errors:
            # Builds it if this is a fresh checkout, which takes minutes and must not count later.
            report.note(ours.kvrelay("--version", timeout=1800).strip())
        if options.record_errors:
            with open(faults.EXPECTED, "w") as out:
                for line in faults.ask(scene.reference().address):
                    out.write(json.dumps(line) + "\n")
            return 0
        run(report, scene, names)
    except Failure as e:
        report.crashed("kvrelay", e)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    finally:
        scene.processes.stop_all()
    report.note(f"{time.monotonic() - begin:.0f} s; logs in {os.path.relpath(directory)}")
    return report.summary()


if __name__ == "__main__":
    sys.exit(main())
