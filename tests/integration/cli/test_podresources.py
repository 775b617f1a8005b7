from __future__ import annotations

from click.testing import CliRunner

from kubelet_sim.cli.main import cli


def test_no_socket_is_one_line() -> None:
    """It could not run: exit code 3, and the path that was tried."""
    done = CliRunner().invoke(cli, ["podresources", "list", "--socket", "/nowhere/kubelet.sock"])
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == "error: there is no socket /nowhere/kubelet.sock; does a kubelet run, with this API?\n"
