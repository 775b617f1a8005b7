"""The checks behind a kubelet's `healthz`, and its answers in its words.

A check is a name and a function that says what is wrong, if anything. Where they are asked over HTTP is `http_endpoint`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from kubelet_sim.core.go_text import quoted

SYNC_LOOP_LIMIT_S = 300.0
"""How long the main loop may be without progress. Rules: DM-74"""

Check = Callable[[], str | None]
"""What is wrong; `None` if all is well."""


@frozen
class Answer:
    """An HTTP status and the text that comes with it."""

    status: int
    text: str


@frozen
class Healthz:
    """The checks of one kubelet process, in the order in which they are told."""

    checks: Mapping[str, Check]

    def all(self, *, is_verbose: bool = False, excluded: Sequence[str] = ()) -> Answer:
        """All checks together: `ok`, or one line each. What is wrong is withheld, as anybody may ask.

        Rules: DM-12, DM-74
        """
        lines, failed = [], False
        for name, check in self.checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif check() is None:
                lines.append(f"[+]{name} ok")
            else:
                failed = True
                lines.append(f"[-]{name} failed: reason withheld")
        unknown = sorted(set(excluded) - set(self.checks))
        if unknown:
            names = ", ".join(map(quoted, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            return Answer(500, "\n".join([*lines, "healthz check failed", ""]))
        return Answer(200, "\n".join([*lines, "healthz check passed", ""]) if is_verbose else "ok")

    def one(self, name: str) -> Answer | None:
        """One check with its reason; `None` if there is none of that name."""
        check = self.checks.get(name)
        if check is None:
            return None
        problem = check()
        return Answer(200, "ok") if problem is None else Answer(500, f"internal server error: {problem}\n")


def sync_loop(busy_for_s: Callable[[], float]) -> Check:
    """Fails when the main loop has been without progress for too long. Rules: DM-74"""
    return lambda: "sync Loop took longer than expected" if busy_for_s() > SYNC_LOOP_LIMIT_S else None


def device_plugin(failure: Callable[[], str | None]) -> Check:
    """Fails for good when the registration server has ended with an error; `failure` is that error. Rules: DM-12"""

    def check() -> str | None:
        cause = failure()
        words = "device plugin registration gRPC server failed and no device plugins can register"
        return None if cause is None else f"device registration error: {words}: {cause}"

    return check


def always_well() -> None:
    """The checks `ping` and `log`: whoever can answer at all passes them."""
