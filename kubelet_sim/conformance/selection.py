"""Which checks are made: by id, group, level or pattern, by what the user wants, and by what can be done here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from kubelet_sim.conformance.check import Check, Need, Stage
from kubelet_sim.conformance.config import Mode, SuiteConfig
from kubelet_sim.errors import UsageError, there_are
from kubelet_sim.profiles import Profile


def selected(checks: Iterable[Check], config: SuiteConfig, failed_before: frozenset[str] = frozenset()) -> list[Check]:
    """Those that the user wants, in the order given.

    Without a word of the user that is all but those beyond the kubelet, and in the quick mode the quick ones.

    Args:
        checks: all there are.
        config: the choices.
        failed_before: the ids that did not pass the last time; with `rerun_failed` nothing else is wanted, if any.

    Raises:
        UsageError: a word means no check at all.
    """
    known = list(checks)
    picked = _any_of(known, config.select) if config.select else known
    left_out = _any_of(known, config.skip)
    found = [each for each in picked if each not in left_out]
    if config.rerun_failed and failed_before:
        found = [each for each in found if each.id in failed_before]
    if config.mode is Mode.QUICK:
        found = [each for each in found if each.is_quick]
    is_consumer = bool(config.consumer) and not (config.command or config.attach)
    return [each for each in found if _is_of(each, consumer=is_consumer, config=config)]


def nothing_selected(checks: Iterable[Check], config: SuiteConfig) -> str:
    """Why no check is left of those that the user named, and what would help."""
    meant = _any_of(list(checks), config.select) if config.select else []
    if meant and not config.is_beyond and all(each.is_beyond for each in meant):
        why = f"{_names(meant)}: no kubelet does that: add --beyond"
    elif meant and not config.consumer and all(Need.CONSUMER in each.needs for each in meant):
        why = f"{_names(meant)}: needs --consumer CMD"
    elif meant and config.mode is Mode.QUICK and not any(each.is_quick for each in meant):
        why = f"{_names(meant)}: not in the quick set: leave --quick out"
    else:
        why = "kubelet-sim conform --list shows all"
    return f"no check is selected; {why}"


def _names(checks: Sequence[Check]) -> str:
    more = f" and {len(checks) - 3} more" if len(checks) > 3 else ""  # noqa: PLR2004 - a short line
    return ", ".join(each.id for each in checks[:3]) + more


def _is_of(check: Check, *, consumer: bool, config: SuiteConfig) -> bool:
    needs_consumer = Need.CONSUMER in check.needs
    if needs_consumer:
        return bool(config.consumer)
    return not consumer and (config.is_beyond or not check.is_beyond)


def _any_of(checks: Sequence[Check], words: Sequence[str]) -> list[Check]:
    meant: list[Check] = []
    for word in words:
        of_word = [each for each in checks if is_meant(each, word)]
        if not of_word:
            raise UsageError(f"{word!r} is no check, group, level or pattern of ids; {there_are(_near(checks, word))}")
        meant += of_word
    return [each for each in checks if each in meant]


def is_meant(check: Check, word: str) -> bool:
    """Whether a word of the user means the check: its id, a pattern (`law-*`), a group's name or its module's, a level."""
    folded = word.casefold()
    names = (check.id, check.group.value, check.group.name, check.level.value)
    return any(fnmatchcase(name.casefold(), folded) for name in names)


def _near(checks: Sequence[Check], word: str) -> list[str]:
    stem = word.partition("-")[0]
    near = [each.id for each in checks if each.id.startswith(stem)]
    return near or sorted({each.group.name.lower() for each in checks})


def why_not(check: Check, config: SuiteConfig, profile: Profile) -> str:
    """Why a check cannot be made here, and what would help; empty if it can."""
    if not check.applies(profile):
        return f"does not apply to kubelet {profile.version}"
    if missing := [f"--{name} CMD" for name in check.hooks if name not in config.hooks]:
        return f"needs {' and '.join(missing)}"
    if Need.HOOK in check.needs - check.optional and not check.hooks and not config.hooks:
        return "needs a command that changes devices: --break CMD, --mend CMD, --add CMD, --remove CMD"
    if Need.PROCESS in check.needs - check.optional and config.start is not None:
        return "needs the plugin's process: give its command instead of a plugin in this one"
    if check.stage is Stage.OWN and config.attach is not None:
        return "needs to start the plugin itself: give its command behind -- instead of --attach"
    return ""
