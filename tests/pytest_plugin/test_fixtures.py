"""The fixtures that users get, used as users use them: from a test file that knows only their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.pytest_plugin.inner_pytest import BY_MODULE, ROOT, run_inner_pytest

pytest_plugins = ["pytester"]

USES = """
import pytest
from kubelet_sim.manifests import pod_from_mapping


def pod(name, count):
    container = {"name": "main", "image": "busybox", "resources": {"limits": {"example.com/dev": count}}}
    return pod_from_mapping({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]},
    })


def test_a_pod_gets_devices(kubelet, fake_plugin):
    plugin = fake_plugin("example.com/dev", devices=["a", "b"], allocate={"envs": {"IDS": "{ids}"}})
    kubelet.admit(pod("one", 2))
    kubelet.wait_for(lambda node: node.pods[0].phase == "Running")
    assert kubelet.container_spec("one").envs == (("IDS", "a,b"),)
    assert plugin.calls() == [{"rpc": "Allocate", "requests": 1, "ids": ["a", "b"]}]


def test_five_minutes_pass_at_once(kubelet, manual_clock, fake_plugin):
    plugin = fake_plugin("example.com/dev")
    kubelet.status_round()
    plugin.stop()
    kubelet.wait_for(lambda node: node.resources[0].endpoint == "stopped")
    kubelet.advance(311)
    assert manual_clock.now() == 311
    assert kubelet.status().resources[0].node_capacity == "0"


def test_devices_break_and_mend(kubelet, fake_plugin):
    plugin = fake_plugin("example.com/dev", devices=["a"])
    plugin.send({"id": "a", "health": "Unhealthy"})
    assert kubelet.status().resources[0].healthy == 0
    plugin.send("a", "b")
    assert kubelet.status().resources[0].healthy == 2
    plugin.end_streams("Unavailable", "going away")
    kubelet.wait_for(lambda node: node.resources[0].endpoint == "stopped")


def test_several_kubelets(make_kubelet):
    first, second = make_kubelet(), make_kubelet()
    assert first.registration_socket != second.registration_socket
    first.restart()
    assert first.status().incarnation == 2
    assert second.status().incarnation == 1


class TestWithChoices:
    @pytest.fixture
    def kubelet_sim_config(self):
        return {"runs_containers": False}

    def test_the_config_is_used(self, kubelet, fake_plugin):
        fake_plugin("example.com/dev")
        kubelet.admit(pod("one", 1))
        assert kubelet.status().pods[0].containers[0].state == "waiting"
        assert kubelet.prepare("one", "main") is not None


class TestAnotherRelease:
    @pytest.fixture
    def kubelet_sim_config(self):
        return {"kubelet_version": "1.31", "feature_gates": {"ResourceHealthStatus": True}}

    def test_the_release_and_its_gates_are_used(self, kubelet, make_kubelet, fake_plugin):
        fake_plugin("example.com/dev")
        kubelet.admit(pod("one", 1))
        kubelet.wait_for(lambda node: node.pods[0].phase == "Running")
        statuses = kubelet.pod("one")["status"]["containerStatuses"]
        assert kubelet.status().kubelet_version == "v1.31.14"
        assert statuses[0]["allocatedResourcesStatus"][0]["name"] == "example.com/dev"
        older = make_kubelet(kubelet_version="1.25.0", feature_gates={})
        assert older.status().kubelet_version == "v1.25.0"

    def test_gates_are_turned_in_a_profile_that_is_given(self, make_kubelet):
        from kubelet_sim.profiles import profile_of

        node = make_kubelet(kubelet_version=None, profile=profile_of("1.32"))
        assert node.status().kubelet_version == "v1.32.13"

    def test_what_cannot_be_is_refused(self, make_kubelet):
        from kubelet_sim.errors import UsageError

        with pytest.raises(UsageError, match="kubelet version '1.19' is not known"):
            make_kubelet(kubelet_version="1.19")
        with pytest.raises(UsageError, match="unrecognized feature gate: ResourceHealthStatus"):
            make_kubelet(kubelet_version="1.30")
"""


def test_the_fixtures_work(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's tests pass with nothing but the fixtures, in a process that has nothing else, and nothing is left to warn about."""
    pytester.makepyfile(USES)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = pytester.runpytest_subprocess(*BY_MODULE, "-W", "error", "-q")
    result.assert_outcomes(passed=8)


def test_a_choice_that_there_is_not_is_named(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure says which choices there are, and shows no traceback of ours."""
    pytester.makepyfile("def test_it(make_kubelet):\n    make_kubelet(numa_nodes=2)\n")
    result = run_inner_pytest(pytester, monkeypatch, "-q")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*numa_nodes: no choice for a node; there are: root, *numa*"])


VERSIONS = """
import asyncio
import sys

import pytest


def release(kubelet):
    return kubelet.config.profile.version


def test_the_default(kubelet, kubelet_sim_version):
    assert (release(kubelet), kubelet_sim_version) == (DEFAULT, NAMED)


@pytest.mark.kubelet_version("1.24")
def test_a_marker(kubelet):
    assert release(kubelet) == "1.24"


@pytest.mark.kubelet_version("1.24", "1.30")
def test_several(kubelet, kubelet_sim_version):
    assert release(kubelet) == kubelet_sim_version


def test_a_choice_goes_before_all(make_kubelet):
    assert release(make_kubelet(kubelet_version="1.28")) == "1.28"


@pytest.mark.kubelet_version("1.26")
def test_with_a_loop(make_node, manual_clock):
    async def body():
        async with make_node(clock=manual_clock) as node:
            await node.advance(10)
            assert node.status().resources == ()
            return node.kubelet

    assert asyncio.run(body()) is not None


def test_a_process(kubelet, plugin_process):
    plugin = plugin_process(sys.executable, "-m", "plugins_examples.env_gpu", "--gpus", "2", "--socket-dir", "{dir}")
    kubelet.wait_for(lambda node: any(each.healthy == 2 for each in node.resources))
    assert plugin.exit_code is None
    assert plugin.stop() == 0
    kubelet.wait_for(lambda node: node.resources[0].endpoint == "stopped")
    plugin.close()
    assert isinstance(plugin.output(), str)
"""


@pytest.mark.parametrize(
    "options, ini, default, named, passed",
    [
        ((), "", "1.36", None, 7),
        (("--kubelet-version", "1.25"), "kubelet_sim_version = 1.20", "1.25", "1.25", 7),
        ((), "kubelet_sim_version = 1.20", "1.20", "1.20", 7),
        (("-n", "2"), "", "1.36", None, 7),
    ],
)
def test_which_kubelet(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    ini: str,
    default: str,
    named: str | None,
    passed: int,
) -> None:
    """A choice goes before the marker, that before the option, that before the ini file; several are a test each.

    Processes and nodes with a loop work as well, in workers of pytest-xdist, too.
    """
    pytester.makeini(f"[pytest]\n{ini}\n")
    pytester.makepyfile(f"DEFAULT, NAMED = {default!r}, {named!r}\n{VERSIONS}")
    result = run_inner_pytest(pytester, monkeypatch, "-W", "error", "-q", "--strict-markers", *options)
    result.assert_outcomes(passed=passed)


def test_two_versions_on_the_command_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that use a kubelet run on each; the others run once."""
    pytester.makepyfile("def test_a(kubelet):\n    pass\n\ndef test_b():\n    pass\n")
    result = run_inner_pytest(pytester, monkeypatch, "-v", "--kubelet-version", "1.25", "--kubelet-version", "1.36")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_a?1.25? PASSED*", "*test_a?1.36? PASSED*", "*test_b PASSED*"])


def test_a_failure_shows_what_happened(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's transcript and the plugin's output stand below the traceback, escaped; a test that passes shows neither."""
    pytester.makepyfile(
        """
        import sys

        SAYS = [sys.executable, "-c", r"print('\\x1b[31mspoken\\x1b[0m')"]


        def test_bad(kubelet, plugin_process, fake_plugin):
            fake_plugin("example.com/dev", devices=["a"])
            plugin_process(*SAYS, isolated=False).wait()
            assert False


        def test_good(plugin_process):
            plugin_process(*SAYS, isolated=False).wait()
        """
    )
    result = run_inner_pytest(pytester, monkeypatch)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*transcript of kubelet-sim node 1, the last records*",
            "*example.com/dev*",
            "*- output of *",
            "*x1b?31mspoken*",
        ]
    )
    assert "\x1b[31m" not in result.stdout.str()
    assert result.stdout.str().count("transcript of kubelet-sim node") == 1


def test_a_plugin_is_told_the_directory_in_its_environment(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Placeholders in variables count, and what it has started ends with it."""
    pytester.makepyfile(
        """
        import os
        import sys

        import pytest

        CODE = "import os, subprocess; print(os.environ['WHERE'], subprocess.Popen(['sleep', '600']).pid, flush=True)"


        def test_it(kubelet, plugin_process):
            plugin = plugin_process(sys.executable, "-c", CODE, env={"WHERE": "{socket}"})
            assert plugin.wait() == 0
            where, pid = plugin.output().split()
            assert where == str(kubelet.registration_socket)
            plugin.close()
            with pytest.raises(ProcessLookupError):
                for _ in range(1_000_000):
                    os.kill(int(pid), 0)
                    if open(f"/proc/{pid}/stat").read().split()[2] in "ZX":
                        raise ProcessLookupError


        def test_not_there(plugin_process):
            with pytest.raises(TimeoutError):
                plugin_process("sleep", "600", isolated=False).wait(0.01)
            assert plugin_process("/no/such/program", isolated=False).wait() == 127
        """
    )
    run_inner_pytest(pytester, monkeypatch).assert_outcomes(passed=2)


def test_the_plugin_imports_nothing_heavy() -> None:
    """Loading the plugin, which every pytest run of a user's project does, imports neither gRPC nor our own rooms."""
    code = (
        "import sys, kubelet_sim.pytest_plugin;"
        "heavy = {'grpc', 'google.protobuf', 'click', 'rich', 'yaml', 'attrs', 'kubelet_sim.node', 'kubelet_sim.core'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['attrs']")  # pytest itself may bring attrs


FAILS = """
def test_bad(kubelet, fake_plugin):
    fake_plugin("example.com/dev", devices=["\\x1b[31m"])
    assert False


def test_good(kubelet):
    pass
"""


def test_a_failing_test_shows_and_keeps_its_transcript(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last records are a section of the report; the file stays for a test that failed, and for no other."""
    pytester.makepyfile(FAILS)
    done = run_inner_pytest(pytester, monkeypatch, "--kubelet-sim-transcripts=kept")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        ["*transcript of kubelet-sim node 1*", "*fact*example.com/dev: client 1 sent a list of 1*"]
    )
    assert "\x1b[31m" not in done.stdout.str()
    (kept,) = (pytester.path / "kept").iterdir()
    assert kept.name.endswith("test_bad.1.jsonl")
    from kubelet_sim.node.recording.replay import replay

    with kept.open() as lines:
        assert replay(lines).differences == ()


def test_a_wait_in_vain_says_what_there_was_instead(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resources, and a process that has ended, with its code and words; of our own code nothing is shown."""
    pytester.makepyfile(
        """
        CODE = "import sys; print('no such \\x1b option'); sys.exit(3)"


        def test_it(kubelet, fake_plugin, plugin_process):
            fake_plugin("example.com/dev", devices=["a", {"id": "b", "health": "Unhealthy"}])
            assert plugin_process(sys.executable, "-c", CODE, "{dir}").wait(60) == 3
            kubelet.wait_for(lambda node: False, 0.01)
        """.replace("CODE =", "import sys\n\n        CODE =", 1)
    )
    result = run_inner_pytest(pytester, monkeypatch)
    result.assert_outcomes(failed=1)
    devices = "example.com/dev has 1 healthy and 1 unhealthy devices, endpoint live"
    process = "the process * ended with exit code 3, and said no such ?x1b option"
    result.stdout.fnmatch_lines([f"*what was waited for did not come in 0.01 s; {devices}; {process}"])
    result.stdout.no_fnmatch_line("*sync.py*")


def test_a_wait_for_a_command_that_cannot_be_run_is_given_up(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, however long it might have waited: the test's own limit is not reached."""
    pytester.makepyfile(
        """
        import pytest


        @pytest.mark.timeout(100)
        def test_it(kubelet, plugin_process):
            plugin_process("/nope/x", "{dir}")
            kubelet.wait_for(lambda node: node.resources, 3600)
        """
    )
    result = run_inner_pytest(pytester, monkeypatch)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what was waited for cannot come: the process /nope/x ended with exit code 127, *"])
