"""Runs bin/kvrelay."""
import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

from processes import Failure, wait_until, log_tail

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Another build than this checkout's can be tried by naming its program.
KVRELAY = os.environ.get("KVRELAY", os.path.join(ROOT, "bin", "kvrelay"))


def kvrelay(*arguments, timeout=90):
    """Runs a command to its end; returns its standard output."""
    done = subprocess.run([KVRELAY, *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failure(f"kvrelay {arguments[0]} exited with {done.returncode}: {done.stderr}")
    return done.stdout


def match(addresses, tokens_file, *options):
    """Depths as `kvrelay match` prints them: one list of matches a prompt, in input order."""
    uris = [f"grpc://{address}" for address in addresses]
    lines = kvrelay("match", *uris, "--tokens", tokens_file, "--json", *options).splitlines()
    answers = [json.loads(line) for line in lines]
    if [one["prompt"] for one in answers] != list(range(len(answers))):
        raise Failure("kvrelay match did not answer in input order")
    return [one["matches"] for one in answers]


class Watch:
    """`kvrelay watch --json` beside the run."""

    def __init__(self, processes, directory, address):
        self.processes = processes
        self.path = os.path.join(directory, "watch.jsonl")
        with open(self.path, "wb") as out:
            self.process = processes.start(
                "kvrelay-watch", [KVRELAY, "watch", f"grpc://{address}", "--json"], stdout=out)

    def lines(self):
        with open(self.path) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def of(self, kind):
        return [line for line in self.lines() if line["type"] == kind]

    def wait_for(self, kind, seconds=60):
        wait_until(f"{kind} from kvrelay watch", lambda: self.of(kind), seconds, [self.process])

    def stop(self):
        return self.processes.stop(self.process, signal.SIGINT)


class Replay:
    """`kvrelay replay --bind` beside the run."""

    def __init__(self, processes, directory, name, events, rate, hold, *options):
        self.processes = processes
        self.path = os.path.join(directory, name + ".json")
        with open(self.path, "wb") as out:
            self.process = processes.start(
                "kvrelay-" + name,
                [KVRELAY, "replay", events, "--json", "--dc-id", "interop",
                 "--bind", "grpc://127.0.0.1:0", "--rate", str(rate), "--hold", str(hold),
                 "--block-size", "16", "--model", "replay", *options], stdout=out)
        self.address = wait_until("address from kvrelay replay", self._address, 60,
                                  [self.process])

    def _address(self):
        with open(self.process.log_path) as log:
            found = re.search(r"grpc://(\S+:\d+)", log.read())
        return found and found.group(1)

    def stop(self):
        """Ends it as Ctrl-C does; returns what it printed."""
        code = self.processes.stop(self.process, signal.SIGINT)
        if code not in (0, 130):
            raise Failure(f"kvrelay replay exited with {code}: {log_tail(self.process)}")
        with open(self.path) as file:
            return json.load(file)


class Relay:
    """`kvrelay relay --dynamo` on a deployment's store."""

    def __init__(self, processes, name, deployment):
        self.processes = processes
        self.process = processes.start(
            "kvrelay-" + name,
            [KVRELAY, "relay", "--dc-id", deployment.dc, "--dynamo", "file:" + deployment.store,
             "--watch-all", "--expected-blocks", str(deployment.expected_blocks),
             "--answer-bind", "127.0.0.1:0", "--bind", "grpc://127.0.0.1:0",
             "--http", "127.0.0.1:0"])
        found = wait_until("addresses from kvrelay relay", self._addresses, 60, [self.process])
        self.address, self.http = found

    def _addresses(self):
        with open(self.process.log_path) as log:
            text = log.read()
        found = [re.search(pattern, text) for pattern in (
            r"serving grpc://(\S+:\d+)", r"operators at (http://\S+:\d+)")]
        return all(found) and [one.group(1) for one in found]

    def health(self):
        try:
            with urllib.request.urlopen(self.http + "/healthz", timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            return json.load(e)

    def kill(self):
        self.processes.stop(self.process, signal.SIGKILL)

    def stop(self):
        return self.processes.stop(self.process, signal.SIGTERM)
