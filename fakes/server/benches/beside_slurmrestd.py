#!/usr/bin/env python3
"""Ten thousand jobs in our slurmrestd and, in the same run, in the real one.

    beside_slurmrestd.py DRAWBRIDGE [JOBS]

Starts `DRAWBRIDGE serve --slurm-only` and `DRAWBRIDGE lab`, fills both over HTTP and prints how long lists take,
and what a submission takes while others read all jobs. It needs nothing but Python; the lab needs
Linux, root and apt.
"""

import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

CONF = """\
ClusterName=lab
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MaxJobCount=20000
NodeName=n[1-4] Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000
PartitionName=main Nodes=n[1-4] Default=YES
"""
# So many run; the others are held.
RUNNING = 64
# So many read all jobs, again and again, while others submit.
READERS = 2
TIMES = 11
PATIENCE_S = 900


class Peer:
    """A slurmrestd that was started for this."""

    def __init__(self, name, command, folder, exports):
        self.name = name
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        exported = {}
        while not exports <= exported.keys():
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"{name} did not start")
            if line.startswith("export "):
                key, value = line.removeprefix("export ").strip().split("=", 1)
                exported[key] = value.strip("'\"")
        self.host = urllib.parse.urlsplit(exported["SLURM_REST_API"]).netloc
        self.token = exported["SLURM_JWT"]
        self.environment = {**os.environ, **exported}

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def connect(self):
        return http.client.HTTPConnection(self.host, timeout=PATIENCE_S)

    def ask(self, connection, method, path, body=None):
        headers = {"X-SLURM-USER-TOKEN": self.token}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, f"/slurm/v0.0.42/{path}", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, f"{self.name}: {answer.status} {text[:500]}"
        return text

    def submit(self, connection, held):
        job = {
            "name": "one of many",
            "current_working_directory": "/tmp",
            "environment": ["PATH=/usr/bin:/bin"],
            "standard_output": "/dev/null",
            "standard_error": "/dev/null",
            "memory_per_node": {"set": True, "number": 100},
            "hold": held,
        }
        body = json.dumps({"script": "#!/bin/sh\nsleep 100000\n", "job": job})
        assert json.loads(self.ask(connection, "POST", "job/submit", body))["job_id"]

    def fill(self, jobs):
        def some(numbers):
            connection = self.connect()
            for number in numbers:
                self.submit(connection, RUNNING <= number)

        threads = [threading.Thread(target=some, args=(range(at, jobs, 4),)) for at in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        found = len(json.loads(self.ask(self.connect(), "GET", "jobs/state"))["jobs"])
        assert found == jobs, f"{self.name} has {found} of {jobs} jobs"


def took(work, many=TIMES):
    """The middle one of several, in milliseconds, and the longest."""
    times = []
    for _ in range(many):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times), max(times)


def among_readers(peer, work):
    """Does something while others read all jobs."""
    stop = threading.Event()

    def read():
        connection = peer.connect()
        while not stop.is_set():
            peer.ask(connection, "GET", "jobs")

    threads = [threading.Thread(target=read) for _ in range(READERS)]
    [thread.start() for thread in threads]
    time.sleep(0.5)
    found = work()
    stop.set()
    [thread.join() for thread in threads]
    return found


def squeue(peer, command, jobs):
    """A whole process, from its start to its last line."""

    def work():
        said = subprocess.run(command + ["squeue", "-h"], env=peer.environment, capture_output=True, check=True)
        lines = said.stdout.count(b"\n")
        assert lines == jobs, f"squeue shows {lines} of {jobs} jobs"

    return took(work, many=5)


def measure(peer, binary, jobs):
    connection = peer.connect()
    yield "our squeue", squeue(peer, [binary], jobs)
    lab = peer.environment.get("SLURM_LAB")
    if peer.name == "real":
        yield "Slurm's own squeue", squeue(peer, [f"{lab}/in"], jobs)
    yield "jobs/state", took(lambda: peer.ask(connection, "GET", "jobs/state"))
    yield "jobs", took(lambda: peer.ask(connection, "GET", "jobs"), many=3)
    yield "submit", took(lambda: peer.submit(connection, True))
    among = among_readers(peer, lambda: took(lambda: peer.submit(connection, True)))
    yield f"submit while {READERS} read jobs", among


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        conf = pathlib.Path(folder, "slurm.conf")
        conf.write_text(CONF)
        serve = [binary, "serve", "--slurm-only", "--slurm-addr", "127.0.0.1:0", "--conf", str(conf)]
        exports = {"SLURM_REST_API", "SLURM_JWT"}
        peers = [Peer("ours", serve, folder, exports)]
        try:
            peers.append(Peer("real", [binary, "lab", "--conf", str(conf)], folder, exports | {"SLURM_LAB"}))
            found = {}
            for peer in peers:
                began = time.perf_counter()
                peer.fill(jobs)
                print(f"{peer.name}: {jobs} jobs submitted in {time.perf_counter() - began:.0f} s", flush=True)
                found[peer.name] = {}
                for what, (median, longest) in measure(peer, binary, jobs):
                    found[peer.name][what] = median
                    print(f"  {what}: {median:.1f} ms, {longest:.1f} at the longest", flush=True)
        finally:
            [peer.stop() for peer in peers]
    print("how many times as fast ours is")
    for what, ours in found["ours"].items():
        print(f"  {what}: {found['real'][what] / ours:.2f}")


main()
