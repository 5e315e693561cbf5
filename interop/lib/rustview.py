"""The reference's own view as a small program over its published crate."""
import json
import os
import shutil
import subprocess

from processes import Failure, log_tail

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peer")


def cargo():
    home = os.path.join(os.path.expanduser("~"), ".cargo", "bin", "cargo")
    return shutil.which("cargo") or (home if os.path.exists(home) else None)


class RustView:
    """Follows a relay until its streams are quiet, then answers prompts."""

    def __init__(self, processes, directory, program, address, tokens, quiet_seconds):
        self.processes = processes
        self.path = os.path.join(directory, "reference-view.jsonl")
        with open(self.path, "wb") as out:
            self.process = processes.start(
                "reference-view", [program, address, tokens, str(quiet_seconds)], stdout=out)

    @staticmethod
    def build(work):
        target = os.environ.get("CARGO_TARGET_DIR", os.path.join(work, "cargo"))
        built = subprocess.run(
            [cargo(), "build", "--release", "--quiet",
             "--manifest-path", os.path.join(PROGRAM, "Cargo.toml")],
            env={**os.environ, "CARGO_TARGET_DIR": target}, stdin=subprocess.DEVNULL)
        if built.returncode:
            raise Failure("the program over the reference's crate does not build")
        return os.path.join(target, "release", "interop-peer")

    def finish(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"the reference's view did not end: {log_tail(self.process)}") from None
        self.processes.stop(self.process)
        if code:
            raise Failure(f"the reference's view exited with {code}: {log_tail(self.process)}")
        with open(self.path) as file:
            return [json.loads(line) for line in file]
