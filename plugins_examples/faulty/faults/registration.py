"""Faults of registration."""

from __future__ import annotations

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2


@fault("never-registers", "reg-happens")
def never_registers(conduct: Conduct) -> None:
    """It starts, and that is all."""
    conduct.registers = False


@fault("registers-before-serving", "reg-serve-before-register", "reg-listening-when-registered")
def registers_before_serving(conduct: Conduct) -> None:
    """It serves only when Register was answered."""
    conduct.serves_after_s = -1


@fault("listens-late", "reg-listening-when-registered")
def listens_late(conduct: Conduct) -> None:
    """It listens a moment after it has called Register."""
    conduct.serves_after_s = 0.4


@fault("wrong-version", "reg-version-v1beta1")
def wrong_version(conduct: Conduct) -> None:
    """It sends a version of its own."""

    def request(good: api_pb2.RegisterRequest) -> api_pb2.RegisterRequest:
        good.version = "v1.2.0"
        return good

    conduct.request = request


@fault("path-as-endpoint", "reg-endpoint-basename")
def path_as_endpoint(conduct: Conduct) -> None:
    """Its endpoint is a path, one that happens to lead to its socket."""

    def request(good: api_pb2.RegisterRequest) -> api_pb2.RegisterRequest:
        good.endpoint = f"../device-plugins/{good.endpoint}"
        return good

    conduct.request = request


@fault("serves-elsewhere", "reg-endpoint-basename")
def serves_elsewhere(conduct: Conduct) -> None:
    """Its socket is in the directory above the one of kubelet.sock."""
    good = conduct.socket_path
    conduct.socket_path = lambda folder, resource: good(folder.parent, resource)


@fault("swallows-refusal", "reg-error-surfaced")
def swallows_refusal(conduct: Conduct) -> None:
    """It says nothing when it is refused, and tries again."""
    conduct.complains = False


@fault("gives-up-after-refusal", "reg-retry-backoff")
def gives_up_after_refusal(conduct: Conduct) -> None:
    """It tells of the refusal, and does nothing for ever."""
    conduct.retries = False


@fault("hot-retries", "reg-retry-backoff")
def hot_retries(conduct: Conduct) -> None:
    """It tries again at once."""
    conduct.retry_pause_s = 0.001


@fault("gives-up-without-kubelet", "reg-retry-when-no-kubelet")
def gives_up_without_kubelet(conduct: Conduct) -> None:
    """It does nothing for ever if no kubelet listens when it starts."""
    conduct.waits_for_kubelet = False


@fault("short-deadline", "reg-deadline-sane")
def short_deadline(conduct: Conduct) -> None:
    """It gives Register three seconds."""
    conduct.register_timeout_s = 3.0


@fault("registers-periodically", "reg-not-periodic")
def registers_periodically(conduct: Conduct) -> None:
    """It registers again and again, on the same socket."""
    conduct.registers_again_after_s = 2.0
