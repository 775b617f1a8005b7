"""Faults of restarts: what a plugin does not notice, or does wrong when it does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from plugins_examples.chassis.sockets import socket_identity, socket_stem
from plugins_examples.faulty.conduct import Conduct, Watch
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

USED = ".faulty-used"
MOMENT_S, WHILE_S, LONG_S = 1.0, 3.0, 11.0
ANY_RESTART = (
    "restart-reregister restart-socket-recreated restart-delayed-kubelet-sock restart-same-inode restart-quick"
    " restart-created-event-after-register restart-during-startup restart-dir-recreated restart-reregister-fast"
)
LOST_STREAM = " law-reconnect-after-stream-loss takeover-surge"


def _notice_only(conduct: Conduct, restarted: Callable[[Watch], bool]) -> None:
    """Nothing else makes it begin again, not even the loss of its stream."""
    conduct.restarted, conduct.notices_lost_stream = restarted, False


def _looks_from(conduct: Conduct, after_s: float, begins: Callable[[Watch], bool]) -> None:
    """With such servers it takes the kubelet's socket for the one it knows until so long after its registration."""

    def restarted(watch: Watch) -> bool:
        if watch.age_s < after_s and begins(watch):
            watch.before = socket_identity(watch.kubelet)
        return socket_identity(watch.kubelet) != watch.before

    _notice_only(conduct, restarted)


@fault("deaf-from-third-restart", "restart-reregister", also=ANY_RESTART + LOST_STREAM)
def deaf_from_third_restart(conduct: Conduct) -> None:
    """It notices two restarts of the kubelet, and no more."""
    good = conduct.restarted
    _notice_only(conduct, lambda watch: watch.number <= 2 and good(watch))  # noqa: PLR2004 - as it says


@fault("drops-late-events", "restart-created-event-after-register", also=ANY_RESTART + LOST_STREAM)
def drops_late_events(conduct: Conduct) -> None:
    """For three seconds after it has registered again it looks at no events."""
    _looks_from(conduct, WHILE_S, lambda watch: watch.number > 1)


@fault("compares-inodes", "restart-same-inode", also=ANY_RESTART + LOST_STREAM)
def compares_inodes(conduct: Conduct) -> None:
    """It looks at the inode number of the kubelet's socket alone."""

    def restarted(watch: Watch) -> bool:
        now = socket_identity(watch.kubelet)
        return now is None or watch.before is None or now[:2] != watch.before[:2]

    _notice_only(conduct, restarted)


@fault("looks-whether-it-is-there", "restart-quick", also=ANY_RESTART + LOST_STREAM)
def looks_whether_it_is_there(conduct: Conduct) -> None:
    """It looks whether there is a kubelet's socket, whichever it is, and believes that it is gone after three seconds."""
    seen_s = [0.0]

    def restarted(watch: Watch) -> bool:
        if socket_identity(watch.kubelet) is not None:
            seen_s[0] = watch.age_s
        return watch.age_s - seen_s[0] > WHILE_S

    _notice_only(conduct, restarted)


@fault("keeps-server", "restart-socket-recreated")
def keeps_server(conduct: Conduct) -> None:
    """After a restart it registers again first, and makes a new socket only when that fails."""
    conduct.serves_anew = False


@fault("impatient", "restart-delayed-kubelet-sock")
def impatient(conduct: Conduct) -> None:
    """It waits a second for a kubelet that is gone, and no longer."""
    conduct.waits_for_socket_s = MOMENT_S


@fault("watches-late", "restart-during-startup", also=LOST_STREAM)
def watches_late(conduct: Conduct) -> None:
    """It begins to watch only when it has registered for the first time, and three seconds later."""
    _looks_from(conduct, WHILE_S, lambda watch: watch.number == 1)


@fault("watches-old-directory", "restart-dir-recreated", also=LOST_STREAM)
def watches_old_directory(conduct: Conduct) -> None:
    """It watches the directory that there was when it started."""
    good = conduct.restarted
    # Held open, it keeps its inode number, which the next directory would get otherwise.
    held = os.open(conduct.folder, os.O_PATH)

    def restarted(watch: Watch) -> bool:
        try:
            return os.path.samestat(watch.kubelet.parent.stat(), os.fstat(held)) and good(watch)
        except OSError:
            return False

    _notice_only(conduct, restarted)


@fault("slow-to-return", "restart-reregister-fast", also="shutdown-gap-short" + LOST_STREAM, is_slow=True)
def slow_to_return(conduct: Conduct) -> None:
    """It does nothing for eleven seconds after a restart of the kubelet."""
    good = conduct.restarted
    since: list[float] = []

    def restarted(watch: Watch) -> bool:
        if not good(watch):
            since.clear()
            return False
        since.append(watch.age_s)
        return watch.age_s - since[0] > LONG_S

    _notice_only(conduct, restarted)


@fault("hides-used-devices", "restart-lists-inuse-devices")
def hides_used_devices(conduct: Conduct) -> None:
    """When it starts it leaves out what it has once allocated."""
    used = conduct.folder.parent / USED
    hidden = set(used.read_text(encoding="utf-8").split()) if used.exists() else set()
    listed, allocated = conduct.devices, conduct.allocate_one
    conduct.devices = lambda resource: [each for each in listed(resource) if each.ID not in hidden]

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        with used.open("a", encoding="utf-8") as file:
            file.write("".join(f"{each}\n" for each in ids))
        return allocated(ids)

    conduct.allocate_one = allocate_one


@fault("cleans-up-grants", "restart-no-side-effects-on-running")
def cleans_up_grants(conduct: Conduct) -> None:
    """At its end it removes the files that it has given to containers."""
    good = conduct.allocate_one

    def allocate_one(ids: Sequence[str]) -> api_pb2.ContainerAllocateResponse:
        answer = good(ids)
        for each in ids:
            path = conduct.folder.parent / f"granted-{each}"
            path.touch()
            answer.mounts.add(container_path=f"/granted/{each}", host_path=str(path), read_only=True)
        return answer

    def at_stop() -> None:
        for path in conduct.folder.parent.glob("granted-*"):
            path.unlink(missing_ok=True)

    conduct.allocate_one, conduct.at_stop = allocate_one, at_stop


@fault("stays-cut-off", "takeover-surge", also="law-reconnect-after-stream-loss")
def stays_cut_off(conduct: Conduct) -> None:
    """It does not notice that its stream was cut, as an older instance's end cuts it."""
    conduct.notices_lost_stream = False


@fault("one-socket-name", "takeover-unique-socket", also="takeover-surge")
def one_socket_name(conduct: Conduct) -> None:
    """Every instance has the same socket name."""
    conduct.socket_path = lambda folder, resource: folder / f"{socket_stem('faulty', resource)}.sock"
