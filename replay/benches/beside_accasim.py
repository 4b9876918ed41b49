#!/usr/bin/env python3
"""The same trace through drawbridge and through AccaSim, on the same machine, in one run.

    replay/benches/beside_accasim.py DRAWBRIDGE TRACE.swf[.gz] [JOBS]

AccaSim comes from PyPI into a folder of its own (ACCASIM_VENV, or target/accasim). Its dispatcher is
EASY backfilling with first fit, as its own examples use it. Both read the trace and schedule every
job; processor time is compared, because wall-clock time moves with whatever else runs.
"""

import gzip, json, os, resource, subprocess, sys, tempfile, time

VERSION = "accasim==1.1.3"


def venv():
    folder = os.environ.get("ACCASIM_VENV", "target/accasim")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", VERSION], check=True)
    return python


def cut(trace, jobs, to):
    """The header and the first jobs, as plain text; and how many processors there are."""
    opened = gzip.open if trace.endswith(".gz") else open
    processors, kept = 0, 0
    with opened(trace, "rt", encoding="latin-1") as lines, open(to, "w", encoding="latin-1") as out:
        for line in lines:
            if line.startswith(";"):
                if "MaxProcs:" in line:
                    processors = int(line.split(":")[1].split()[0])
            elif line.strip():
                kept += 1
                if kept > jobs:
                    break
            out.write(line)
    return processors, min(kept, jobs)


def drawbridge(binary, trace, mode):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [binary, "replay", trace, "--mode", mode, "-o", "json"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    secs = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return json.loads(ran.stdout)["jobs"], secs


def accasim(python, trace, processors, folder):
    config = os.path.join(folder, "machine.json")
    with open(config, "w") as out:
        json.dump({"groups": {"node": {"core": 1}}, "resources": {"node": processors}}, out)
    command = [python, __file__, "--inside", trace, config]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    jobs, secs = ran.stdout.split()[-2:]
    return int(jobs), float(secs)


def inside(trace, config):
    # AccaSim was written for an older Python: these names have moved since.
    import collections, collections.abc

    for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "OrderedDict"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    from accasim.base.allocator_class import FirstFit
    from accasim.base.scheduler_class import EASYBackfilling
    from accasim.base.simulator_class import Simulator

    simulator = Simulator(
        trace, config, EASYBackfilling(FirstFit()), scheduling_output=False,
        statistics_output=False, show_statistics=False,
    )
    began = time.process_time()
    simulator.start_simulation()
    secs = time.process_time() - began
    jobs = sum(1 for line in open(trace, encoding="latin-1") if line.strip() and line[0] != ";")
    print(jobs, secs)


def main():
    binary, trace = os.path.abspath(sys.argv[1]), sys.argv[2]
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else 10**9
    python = os.path.abspath(venv())
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, "part.swf")
        processors, _ = cut(trace, jobs, part)
        rows = [(f"drawbridge, {mode}", *drawbridge(binary, part, mode)) for mode in ("slurm", "easy")]
        rows.append((f"AccaSim ({VERSION}), EASY", *accasim(python, part, processors, folder)))
    theirs = rows[-1][1] / max(rows[-1][2], 0.001)
    print(f"{'':32} {'jobs':>8} {'CPU s':>9} {'jobs/s':>10} {'ratio':>8}")
    for name, count, secs in rows:
        rate = count / max(secs, 0.001)
        print(f"{name:32} {count:8} {secs:9.2f} {rate:10.0f} {rate / theirs:8.1f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    elif len(sys.argv) < 3:
        sys.exit(__doc__)
    else:
        main()
