"""Two clients from PyPI that nobody wrote for us submit, read and cancel jobs on a slurmrestd.

    slurmrestd_clients.py URL USER TOKEN VERSION...

`ebi-slurpy` is generated from the vendor's document and checks each answer with pydantic; it knows v0.0.40
to v0.0.42. `pyslurmutils` is written by hand, for v0.0.39 and later. Each says what it saw.
"""

import importlib
import sys
import time

from pyslurmutils.client.rest import SlurmBaseRestClient

SECONDS_MAX = 60
JOB = {
    "name": "from-pypi",
    "current_working_directory": "/tmp",
    "environment": ["PATH=/usr/bin:/bin"],
    "standard_output": "/dev/null",
    "standard_error": "/dev/null",
    "tasks": 1,
    "memory_per_node": {"set": True, "number": 100},
    "time_limit": {"set": True, "number": 5},
}
SHORT = "#!/bin/bash\nsleep 1\n"
LONG = "#!/bin/bash\nsleep 200\n"


def slurpy(url, user, token, version):
    """The generated client."""
    module = importlib.import_module("slurpy." + version.replace(".", ""))
    configuration = module.Configuration(host=url)
    configuration.api_key["user"] = user
    configuration.api_key["token"] = token
    with module.ApiClient(configuration) as client:
        api = module.SlurmApi(client)
        assert api.get_ping().pings, "nobody answers pings"
        request = module.JobSubmitReq
        description = module.JobDescMsg

        def submit(script):
            body = request(script=script, job=description.from_dict(JOB))
            return api.post_job_submit(body).job_id

        def state(number):
            return api.get_job(str(number)).jobs[0].job_state

        def cancel(number):
            return api.delete_job(str(number))

        live(submit, state, cancel)
        assert api.get_jobs().jobs, "the list is empty"
        assert api.get_nodes().nodes, "there are no nodes"
        assert api.get_partitions().partitions, "there are no partitions"
        refused(lambda: api.post_job_submit(
            request(script=SHORT, job=description.from_dict({**JOB, "partition": "nowhere"}))
        ), "partition")


def pyslurmutils(url, user, token, version):
    """The one written by hand."""
    client = SlurmBaseRestClient(url, user, token, version, use_env_credentials=False)
    has, _, versions = client.server_has_api()
    assert has, f"{version} isn't among {versions}"

    # It wants a mapping, and makes the list itself.
    job = {**JOB, "environment": {"PATH": "/usr/bin:/bin"}}

    def submit(script):
        return client.submit_job(script, dict(job))

    def state(number):
        return client.get_full_status(number)["status"]

    live(submit, state, client.cancel_job)
    assert client.get_all_job_properties(), "the list is empty"
    refused(lambda: client.submit_job(SHORT, {**job, "partition": "nowhere"}), "partition")


def live(submit, state, cancel):
    """One job runs to its end; another is cancelled."""
    short, long = submit(SHORT), submit(LONG)
    assert 0 < short < long, f"{short} and {long} are no numbers of jobs"
    reaches(state, short, "COMPLETED")
    reaches(state, long, "RUNNING")
    cancel(long)
    reaches(state, long, "CANCELLED")
    print(f"    job {short} COMPLETED, job {long} RUNNING, then CANCELLED")


def reaches(state, number, wanted):
    began = time.monotonic()
    while wanted not in (found := state(number)):
        assert time.monotonic() - began < SECONDS_MAX, f"job {number} is {found}, not {wanted}"
        time.sleep(0.2)


def refused(ask, word):
    try:
        answer = ask()
    except Exception as error:  # each client has its own, and some chain them
        said = "; ".join(words(error))
        assert word in said.lower(), f"the refusal doesn't speak of a {word}: {said}"
    else:
        raise AssertionError(f"was not refused: {answer}")


def words(error):
    while error is not None:
        yield str(error)
        error = error.__cause__


def main():
    url, user, token, *versions = sys.argv[1:]
    for version in versions:
        if version <= "v0.0.42":
            print(f"  ebi-slurpy {version}")
            slurpy(url, user, token, version)
        print(f"  pyslurmutils {version}")
        pyslurmutils(url, user, token, version)


main()
