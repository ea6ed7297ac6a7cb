#!/usr/bin/env python3
"""Carries out what the files of this folder say, in a Debian 12 that has never seen Verbena: make test-ci.

  real.py [TEST ...]

Needs root, what `make package` and `make tarball` have left in build/, and the release below build/distributions that `make
test-distributions` runs in, which is made where it is missing; nothing else of the network: what the steps have apt install besides the
package lies there already. What of the systems themselves is not run (uploads, a registry, a kubelet) is said in docs/ci.md.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

import files

sys.path.insert(0, os.path.join(files.ROOT, "tests", "distributions"))

import distributions  # noqa: E402

TIMEOUT_S = 900
DEB, TARBALL = "package/verbena_*_amd64.deb", "portable/verbena-*.tar.gz"
# The client waits for its server, whichever starts first.
LOSSY_PAIR = """
verbena exec --node 1 --seed 1 -- ibv_rc_pingpong -g 0 -n 3 -c &
verbena exec --node 2 --wait-for-listener 1 --seed 1 --fault 'drop psn=6' --pcap "$VERBENA_CAPTURES/node2.pcapng" -- \\
  ibv_rc_pingpong -g 0 -n 3 -c 127.47.91.1
wait
"""
LOST = "! dropped by fault 'drop psn=6'"
# Two pods' networks as a CNI makes them; the name is what a headless Service's would resolve to.
PODS = """set -e
for pod in server client; do
  ip netns add $pod
  ip -n $pod link set lo up
done
ip -n server link add eth0 type veth peer name eth0 netns client
ip -n server address add 10.77.0.1/24 dev eth0
ip -n client address add 10.77.0.2/24 dev eth0
ip -n server link set eth0 up
ip -n client link set eth0 up
echo '10.77.0.1 ib-write-bw' >> /etc/hosts
"""
POD = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]

BOTH = """
import json, subprocess, sys
server, client = (json.loads(word) for word in sys.argv[1:])
serving = subprocess.Popen(server)
done = subprocess.run(client)
if done.returncode != 0:
    serving.kill()
sys.exit(done.returncode or serving.wait(60))
"""


def release():
    """The folder with Debian 12, as distributions.py has it: not another one, half a gigabyte each."""
    chosen = next(entry for entry in distributions.RELEASES if entry.installs)
    folder = os.path.join(files.ROOT, "build", "distributions", chosen.suite)
    subprocess.run([os.path.join(files.ROOT, "packaging", "chroot.sh"), chosen.suite, folder, *distributions.PROGRAMS, *chosen.more],
                   check=True)
    return folder


def carry_out(phases, copy=(), read=()):
    """What inside.py found, in a release as it was made. `copy`: patterns of files in build/, for the job's folder."""
    with tempfile.TemporaryDirectory(prefix="verbena-ci-files.") as shown, tempfile.TemporaryDirectory(prefix="verbena-ci.") as place:
        os.chmod(shown, 0o755)
        shutil.copytree(files.HERE, shown + "/ci", ignore=shutil.ignore_patterns("__pycache__"))
        names = []
        for pattern in copy:
            path = distributions.only_one(pattern, "make package, make tarball")
            shutil.copy(path, shown)
            names.append(f"{files.FILES}/{os.path.basename(path)}")
        with open(shown + "/plan.json", "w", encoding="utf-8") as file:
            json.dump({"copy": names, "phases": phases, "read": list(read)}, file)
        command = [os.path.join(files.ROOT, "tests", "distributions", "enter.sh"), release(), shown, place, "/usr/bin/python3", "-B",
                   files.FILES + "/ci/inside.py", files.FILES + "/plan.json"]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=True)
    return json.loads(done.stdout)


class Real(unittest.TestCase):
    def statuses(self, found):
        """Of the phases that ran, by name; what they printed goes with a failure's message."""
        self.said = "\n".join(phase["out"] for phase in found["phases"] if phase["ran"])
        return {phase["name"]: phase["status"] for phase in found["phases"] if phase["ran"]}


class Action(Real):
    def run_action(self, command, copy=(DEB,), package="verbena_*_amd64.deb", **options):
        return carry_out(files.phases_of_action({"package": package, "run": command} | options), copy, ["summary.md"])

    def test_a_command_that_passes_leaves_no_summary(self):
        found = self.run_action(LOSSY_PAIR)
        self.assertEqual(self.statuses(found), {"Install Verbena": 0, "Run": 0}, self.said)
        self.assertIn("3 iters in", self.said)
        self.assertIsNone(found["read"]["summary.md"])

    def test_a_command_that_fails_has_its_captures_explained(self):
        found = self.run_action(LOSSY_PAIR + 'echo rubbish > "$VERBENA_CAPTURES/a.pcap"\nfalse\necho not reached', captures="kept here")
        self.assertEqual(self.statuses(found), {"Install Verbena": 0, "Run": 1, "Explain captures": 0}, self.said)
        self.assertNotIn("not reached", self.said)
        summary = found["read"]["summary.md"]
        self.assertIn("### node2.pcapng\n", summary)
        self.assertIn(LOST, summary)
        self.assertRegex(summary, r"### a\.pcap\n\n```\n.*\n\(exit status \d+\)\n```")
        self.assertLessEqual({f"kept here/{name}" for name in ("a.pcap", "a.pcap.txt", "node2.pcapng", "node2.pcapng.txt")},
                             set(found["files"]))

    def test_the_tarball_is_in_the_path_of_the_steps_that_follow(self):
        found = self.run_action(LOSSY_PAIR + "command -v verbena", copy=(TARBALL,), package="verbena-*.tar.gz")
        self.assertEqual(self.statuses(found), {"Install Verbena": 0, "Run": 0}, self.said)
        self.assertIn("\n/tmp/verbena/bin/verbena\n", self.said)

    def test_a_package_that_is_not_there_is_said(self):
        found = self.run_action("true", copy=())
        self.assertEqual(self.statuses(found), {"Install Verbena": 1, "Explain captures": 0}, self.said)
        self.assertIn("verbena: 'verbena_*_amd64.deb' is not one file\n", self.said)

    def test_what_is_no_package_is_said(self):
        found = self.run_action("true", copy=(DEB,), package="/etc/hostname")
        self.assertEqual(self.statuses(found)["Install Verbena"], 1)
        self.assertIn("verbena: '/etc/hostname' is neither a .deb nor a .tar.gz\n", self.said)


class Gitlab(Real):
    def test_a_job_that_fails_has_its_captures_explained(self):
        found = carry_out(files.phases_of_gitlab([LOSSY_PAIR, "false"], "failed"), [DEB])
        self.assertEqual(self.statuses(found), {"script": 1, "after_script": 0}, self.said)
        self.assertIn("== verbena-captures/node2.pcapng\n", self.said)
        self.assertIn(LOST, self.said)
        self.assertIn("verbena-captures/node2.pcapng.txt", found["files"])

    def test_a_job_that_passes_explains_nothing(self):
        found = carry_out(files.phases_of_gitlab([LOSSY_PAIR], "success"), [DEB])
        self.assertEqual(self.statuses(found), {"script": 0, "after_script": 0}, self.said)
        self.assertIn("verbena-captures/node2.pcapng", found["files"])
        self.assertNotIn("verbena-captures/node2.pcapng.txt", found["files"])


class Init(Real):
    """What `verbena init` writes, with the package where it says that it belongs."""

    def carry_out_lines(self, wanted, steps_of):
        with tempfile.TemporaryDirectory(prefix="verbena-init.") as project:
            subprocess.run([os.path.join(files.ROOT, "build", "verbena"), "init", "--ci", wanted, project], check=True, timeout=30,
                           stdout=subprocess.DEVNULL)
            texts = {}
            for folder, _, names in os.walk(project):
                for name in names:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        texts[os.path.relpath(os.path.join(folder, name), project)] = file.read()
        put = "import os, sys\nos.mkdir('verbena')\nopen('verbena/first.yaml', 'w').write(sys.argv[1])\n"
        phases = [{"name": "project", "argv": ["/usr/bin/python3", "-c", put, texts["verbena/first.yaml"]]},
                  {"name": "package", "argv": ["bash", "-c", "mv verbena_*_amd64.deb verbena/"]}]
        phases += [{"name": line, "argv": ["bash", "-ec", line]} for line in steps_of(texts)]
        found = carry_out([{"when": "success", "user": 0, "env": {}, **phase} for phase in phases], [DEB])
        self.assertEqual(set(self.statuses(found).values()), {0}, self.said)
        self.assertIn("first", self.said)

    def test_the_workflow_for_github_installs_the_package_and_its_scenario_holds(self):
        def steps_of(texts):
            job = yaml.safe_load(texts[".github/workflows/verbena.yml"])["jobs"]["scenarios"]
            self.assertEqual(job["container"], "debian:12")
            return [step["run"] for step in job["steps"] if "run" in step]
        self.carry_out_lines("github", steps_of)

    def test_the_job_for_gitlab_installs_the_package_and_its_scenario_holds(self):
        def steps_of(texts):
            job = yaml.safe_load(texts["verbena/ci/gitlab.yml"])["verbena"]
            self.assertEqual(job["image"], "debian:12")
            return job["before_script"] + job["script"]
        self.carry_out_lines("gitlab", steps_of)


class Image(Real):
    def build_and(self, *phases):
        build, user = files.phases_of_dockerfile()
        self.assertEqual(user, "verbena")
        return carry_out([*build, *({"when": "success", "user": 0, "env": {}, **phase} for phase in phases)], [DEB])

    def test_a_pair_runs_in_the_image_as_its_user(self):
        pair = {"name": "pair", "argv": ["bash", "-ec", "id -un\n" + LOSSY_PAIR], "user": 1000, "env": {"VERBENA_CAPTURES": "/tmp/job"}}
        found = self.build_and(pair)
        self.assertEqual(set(self.statuses(found).values()), {0}, self.said)
        self.assertIn("\nverbena\n", self.said)
        self.assertIn("3 iters in", self.said)

    def pods(self, server, client):
        """The two jobs' commands in networks as of two pods, as the users and with the capabilities that they ask for."""
        start = [json.dumps(["ip", "netns", "exec", pod, *POD, *command]) for pod, command in (("server", server), ("client", client))]
        return [{"name": "networks", "argv": ["bash", "-c", PODS]},
                {"name": "jobs", "argv": ["/usr/bin/python3", "-c", BOTH, *start]}]

    def test_the_jobs_of_kubernetes_find_each_other_over_udp(self):
        jobs = files.jobs()
        commands = [jobs[f"ib-write-bw-{end}"]["command"] for end in ("server", "client")]
        found = self.build_and(*self.pods(*commands))
        self.assertEqual(set(self.statuses(found).values()), {0}, self.said)
        self.assertRegex(self.said, r"\n 65536 +1000 +[\d.]+ +[\d.]+")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("real.py: needs root: the folders of a release are root's, and so is entering them")
    unittest.main(verbosity=2)
