"""`conformance_suite`, used as users use it."""

from __future__ import annotations

import pytest

from tests.pytest_plugin.inner_pytest import run_inner_pytest

pytest_plugins = ["pytester"]
COMMAND = '(sys.executable, "-m", "plugins_examples.env_gpu", "--socket-dir", "{dir}")'
IMPORTS = "import sys\n\nfrom kubelet_sim.conformance.pytest import conformance_suite\n\n"
THREE = 'select=("reg-happens", "name-valid", "law-unique-ids")'


def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, text: str, *options: str) -> pytest.RunResult:
    """A pytest of its own with that test file."""
    pytester.makepyfile(IMPORTS + text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    return run_inner_pytest(pytester, monkeypatch, *options)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_every_check_is_a_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """Its id is the check's; the plugin is started once for all of them, in however many workers."""
    log = pytester.path / "starts"
    text = f"""
command = ("sh", "-c", 'echo >>"{log}"; exec "$@"', "sh", *{COMMAND})
test_plugin = conformance_suite(*command, {THREE})
"""
    result = run(pytester, monkeypatch, text, "-v", "-W", "error", *workers)
    result.assert_outcomes(passed=3)
    for id_ in ("reg-happens", "name-valid", "law-unique-ids"):
        result.stdout.fnmatch_lines([f"*test_plugin?{id_}?*"])
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1


def test_only_what_is_collected_is_played(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that pytest deselects are not made."""
    result = run(pytester, monkeypatch, f"test_plugin = conformance_suite(*{COMMAND}, {THREE})\n", "-k", "name")
    result.assert_outcomes(passed=1, deselected=2)


@pytest.mark.parametrize("command", ["/no/such/plugin", "false"])
def test_a_plugin_that_cannot_be_run_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Without the check that tells of it as well: tests that are all skipped would be a green run."""
    text = (
        f"""test_plugin = conformance_suite("{command}", "{{dir}}", select=("name-valid", "shutdown-exit-prompt"))\n"""
    )
    result = run(pytester, monkeypatch, text)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*the plugin c*: it ended with exit code *"])


def test_what_needs_more_is_skipped(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of nothing else is no failure: nobody has looked at the plugin."""
    text = f'test_plugin = conformance_suite(*{COMMAND}, select=("health-recovers",))\n'
    run(pytester, monkeypatch, text).assert_outcomes(skipped=1)


def test_a_failure_says_what_and_why(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding, evidence, why and fix, and the transcript; no traceback. A check that cannot be made is skipped."""
    text = f"""
test_plugin = conformance_suite(
    *{COMMAND},
    select=("reg-happens", "law-health-transition"),
    expected_resources=("example.com/none",),
    start_timeout_s=10.0,
)
"""
    result = run(pytester, monkeypatch, text.replace('"law-health-transition"', '"name-valid"'))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*example.com/none was expected and never registered*",
            "*why it matters: *",
            "*kubelet-sim explain reg-happens*",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_several_kubelets(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each version is in the ids; those of the choices go before those of the command line."""
    text = f"""
test_plugin = conformance_suite(*{COMMAND}, select=("name-valid",))
test_old = conformance_suite(*{COMMAND}, select=("name-valid",), kubelet_versions=("1.24",))
"""
    options = ("--kubelet-version", "1.30", "--kubelet-version", "1.36")
    result = run(pytester, monkeypatch, text, "-v", *options)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*test_plugin?1.30-name-valid?*", "*test_plugin?1.36-name-valid?*", "*test_old?name-valid?*"]
    )


def test_a_plugin_that_cannot_be_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test says so, in one line."""
    text = 'test_plugin = conformance_suite("x", cwd="/no/such/folder", select=("name-valid", "reg-happens"))\n'
    result = run(pytester, monkeypatch, text)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*cannot start a plugin in '/no/such/folder'*"])


def test_choices_that_cannot_be(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are an error of the collection, which says what there is instead."""
    result = run(pytester, monkeypatch, f'test_plugin = conformance_suite(*{COMMAND}, select=("nme-valid",))\n')
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*UsageError: 'nme-valid' is no check*"])


IN_PROCESS = """
import threading
from concurrent import futures
from contextlib import contextmanager

import grpc

from plugins_examples.pb import api_pb2, api_pb2_grpc


class Plugin(api_pb2_grpc.DevicePluginServicer):
    def __init__(self):
        self.stopping = threading.Event()

    def GetDevicePluginOptions(self, request, context):
        return api_pb2.DevicePluginOptions()

    def ListAndWatch(self, request, context):
        yield api_pb2.ListAndWatchResponse(devices=[api_pb2.Device(ID="a", health="Healthy")])
        self.stopping.wait()


@contextmanager
def my_plugin(directory):
    plugin, server = Plugin(), grpc.server(futures.ThreadPoolExecutor(4))
    api_pb2_grpc.add_DevicePluginServicer_to_server(plugin, server)
    server.add_insecure_port(f"unix://{directory}/mine.sock")
    server.start()
    with grpc.insecure_channel(f"unix://{directory}/kubelet.sock") as channel:
        request = api_pb2.RegisterRequest(version="v1beta1", endpoint="mine.sock", resource_name="example.com/mine")
        api_pb2_grpc.RegistrationStub(channel).Register(request, wait_for_ready=True, timeout=100)
    yield
    plugin.stopping.set()
    server.stop(1).wait()


test_plugin = conformance_suite(
    start=my_plugin,
    select=("reg-happens", "reg-serve-before-register", "law-unique-ids", "opt-rpc-answers", "name-valid"),
)
"""


def test_a_plugin_in_the_same_process(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with its own stubs of the API, and threads of its own."""
    run(pytester, monkeypatch, IN_PROCESS).assert_outcomes(passed=5)


def test_warnings(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that warns is a warning of pytest's, and a failure with `--kubelet-sim-strict`."""
    odd = IN_PROCESS.replace('ID="a"', 'ID="a,b"', 1)
    text = odd[: odd.index("test_plugin")] + (
        'test_plugin = conformance_suite(start=my_plugin, select=("law-id-charset",))\n'
    )
    result = run(pytester, monkeypatch, text)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*ConformanceWarning: law-id-charset: *"])
    run(pytester, monkeypatch, text, "--kubelet-sim-strict").assert_outcomes(failed=1)
