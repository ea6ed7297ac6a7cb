#!/usr/bin/env python3
"""Holds the files of this folder against the formats that they are of, and against one another: part of the stage `package`, needs neither
root nor the network. What they do is run by real.py (make test-ci)."""
import fnmatch
import os
import re
import subprocess
import tempfile
import unittest

import files

DEB = "verbena_0.1.0_amd64.deb"  # as scripts/package.sh names it
VALID_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def says_bash(script):
    return subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=20, check=False).stderr


class Action(unittest.TestCase):
    def setUp(self):
        self.action = files.action()
        self.steps = self.action["runs"]["steps"]

    def test_it_is_a_composite_action_whose_steps_have_a_name_and_a_shell(self):
        self.assertEqual(self.action["runs"]["using"], "composite")
        self.assertTrue(self.action["name"] and self.action["description"])
        for step in self.steps:
            self.assertTrue(step["name"])
            self.assertEqual(("run" in step) + ("uses" in step), 1, step)
            if "run" in step:
                self.assertEqual(step["shell"], "bash")
                self.assertEqual(says_bash(step["run"]), "")
            else:
                self.assertRegex(step["uses"], r"^[\w-]+/[\w-]+@v\d+$")

    def test_inputs_are_used_and_described_and_none_is_used_that_is_not_there(self):
        used = set(files.inputs_in(files.text_of("action.yml")))
        self.assertEqual(used, set(self.action["inputs"]))
        for name, entry in self.action["inputs"].items():
            self.assertTrue(entry["description"], name)
            self.assertNotEqual("default" in entry, entry.get("required", False), name)

    def test_no_input_becomes_part_of_a_script(self):
        for step in self.steps:
            self.assertEqual(files.inputs_in(step.get("run", "")), [], "a shell would run what an input says")

    def test_what_is_uploaded_is_what_was_explained(self):
        explain, upload = self.steps[-2:]
        self.assertEqual(upload["with"]["path"], explain["env"]["CAPTURES"])
        self.assertEqual((explain["if"], upload["if"]), ("failure()", "failure()"))

    def test_files_that_steps_run_are_there(self):
        for name in re.findall(r"\$GITHUB_ACTION_PATH/([\w./-]+)", files.text_of("action.yml")):
            self.assertTrue(os.access(os.path.join(files.HERE, name), os.X_OK), name)

    def test_what_it_cannot_be_given_is_an_error(self):
        with self.assertRaises(files.Unknown):
            files.inputs_of({"run": "true"})
        with self.assertRaises(files.Unknown):
            files.inputs_of({"package": "x", "run": "true", "capture": "y"})


class Explain(unittest.TestCase):
    """explain.sh with a `verbena` that says more than a summary holds."""

    def explained(self, captures, said):
        with tempfile.TemporaryDirectory(prefix="verbena-ci.") as place:
            os.mkdir(place + "/bin")
            with open(place + "/bin/verbena", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{said}\n")
            os.chmod(place + "/bin/verbena", 0o755)
            for name in captures:
                os.makedirs(os.path.dirname(f"{place}/captures/{name}"), exist_ok=True)
                with open(f"{place}/captures/{name}", "wb"):
                    pass
            return subprocess.run([os.path.join(files.HERE, "explain.sh"), place + "/captures"], capture_output=True, text=True, timeout=60,
                                  check=True, env={"PATH": f"{place}/bin:/usr/bin:/bin"}).stdout

    def test_long_stories_are_cut_and_say_so(self):
        said = self.explained(["a.pcapng"], "seq 500")
        self.assertIn("\n200\n... 300 lines more: a.pcapng.txt\n```", said)
        self.assertNotIn("\n201\n", said)

    def test_a_summary_that_is_full_names_what_is_left(self):
        said = self.explained([f"{k:03}.pcap" for k in range(60)], "for k in $(seq 200); do printf '%0120d\\n' $k; done")
        self.assertLess(len(said), 1024 * 1024)
        self.assertIn("- 059.pcap.txt: no room for it here", said)

    def test_names_with_blanks_folders_and_what_fails(self):
        said = self.explained(["one/a node.pcap", "b.pcapng"], "echo told; exit 2")
        self.assertEqual(said.count("told\n(exit status 2)"), 2)
        self.assertIn("### one/a node.pcap\n", said)

    def test_a_story_cannot_end_the_fence(self):
        self.assertEqual(re.findall(r"^```", self.explained(["a.pcap"], "echo '```'"), re.M), ["```", "```"])

    def test_without_captures_it_says_how_to_have_some(self):
        self.assertIn("no captures", self.explained([], "exit 9"))


class Gitlab(unittest.TestCase):
    def test_the_job_has_what_it_needs_and_its_scripts_parse(self):
        (name, job), = files.gitlab().items()
        self.assertTrue(name.startswith("."), "GitLab would run it by itself")
        self.assertEqual(job["image"], "debian:12")
        for part in ("before_script", "after_script"):
            self.assertTrue(all(isinstance(line, str) for line in job[part]), part)
            self.assertEqual(says_bash("\n".join(job[part])), "")
        self.assertEqual(job["artifacts"], {"when": "on_failure", "paths": ["$VERBENA_CAPTURES"]})

    def test_variables_are_all_used(self):
        job = files.gitlab()[".verbena"]
        used = set(re.findall(r"\$(VERBENA_\w+)", files.text_of("gitlab.yml").partition(".verbena:")[2]))
        self.assertEqual(used, set(job["variables"]))
        self.assertTrue(fnmatch.fnmatch(DEB, job["variables"]["VERBENA_PACKAGE"]))


class Container(unittest.TestCase):
    def test_the_dockerfile_starts_from_a_release_and_ends_as_a_user(self):
        instructions = files.dockerfile()
        self.assertEqual(instructions[0], ("FROM", "debian:12"))
        phases, user = files.phases_of_dockerfile()
        self.assertEqual(user, "verbena")
        for phase in phases:
            self.assertEqual(says_bash(phase["argv"][2]), "")

    def test_it_takes_the_package_and_not_its_debug_symbols(self):
        pattern = next(rest for instruction, rest in files.dockerfile() if instruction == "COPY").split()[0]
        self.assertTrue(fnmatch.fnmatch(DEB, pattern))
        self.assertFalse(fnmatch.fnmatch("verbena-dbgsym_0.1.0_amd64.deb", pattern))

    def test_the_devcontainer_builds_from_what_its_comment_copies(self):
        made = files.devcontainer()
        copied = re.search(r"cp (.*) \.devcontainer/", files.text_of("devcontainer/devcontainer.json")).group(1).split()
        names = {os.path.basename(path) for path in copied}
        self.assertEqual(made["build"]["context"], ".")
        self.assertIn(made["build"]["dockerfile"], names)
        self.assertIn("devcontainer.json", names)
        for path in copied:
            self.assertTrue(path.startswith("build/package/") or os.path.exists(os.path.join(files.ROOT, path)), path)
        self.assertIn(made["remoteUser"], [rest for instruction, rest in files.dockerfile() if instruction == "USER"])
        arguments = {rest.partition("=")[0] for instruction, rest in files.dockerfile() if instruction == "ARG"}
        self.assertLessEqual(set(made["build"]["args"]), arguments)


class Kubernetes(unittest.TestCase):
    API = {"Service": "v1", "Job": "batch/v1"}

    def test_every_document_has_the_fields_that_its_kind_requires(self):
        for document in files.manifests():
            self.assertEqual(document["apiVersion"], self.API[document["kind"]])
            self.assertTrue(VALID_NAME.fullmatch(document["metadata"]["name"]))
            if document["kind"] == "Job":
                spec = document["spec"]["template"]["spec"]
                self.assertIn(spec["restartPolicy"], ("Never", "OnFailure"))
                for container in spec["containers"]:
                    self.assertTrue(VALID_NAME.fullmatch(container["name"]) and container["image"])
                    self.assertTrue(all(isinstance(word, str) for word in container["command"]), container["command"])

    def test_the_service_is_headless_and_selects_the_server(self):
        service = next(document for document in files.manifests() if document["kind"] == "Service")
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertIn(service["spec"]["selector"]["app"], files.jobs())
        client = next(job for name, job in files.jobs().items() if name.endswith("-client"))
        self.assertIn(f" {service['metadata']['name']} &&", client["command"][-1])
        self.assertEqual(says_bash(client["command"][-1]), "")

    def test_pods_ask_for_no_privilege(self):
        for name, container in files.jobs().items():
            context = container["securityContext"]
            self.assertTrue(context["runAsNonRoot"] and context["runAsUser"] > 0, name)
            self.assertEqual((context["allowPrivilegeEscalation"], context["capabilities"]), (False, {"drop": ["ALL"]}), name)

    def test_the_image_has_one_name(self):
        image, = {container["image"] for container in files.jobs().values()}
        self.assertIn(f"-t {image} ", files.text_of("kubernetes/pair.yaml"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
