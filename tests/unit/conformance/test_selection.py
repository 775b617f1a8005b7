from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from kubelet_sim.conformance import Mode, SuiteConfig
from kubelet_sim.conformance.check import CHECKS, in_order
from kubelet_sim.conformance.selection import nothing_selected, selected, why_not
from kubelet_sim.errors import UsageError
from kubelet_sim.profiles import profile_of

PLUGIN = SuiteConfig(command=("plugin",))


def ids(config: SuiteConfig, *failed: str) -> set[str]:
    """What is selected."""
    return {each.id for each in selected(in_order(), config, frozenset(failed))}


def test_without_a_word_nothing_beyond_the_kubelet_is_selected() -> None:
    """What no kubelet does comes with `is_beyond` only."""
    beyond = {each.id for each in CHECKS.values() if each.is_beyond}
    assert not ids(PLUGIN) & beyond
    assert ids(evolve(PLUGIN, is_beyond=True)) >= beyond


@pytest.mark.parametrize("word", ["law-unique-ids", "LAW-unique-*", "listandwatch", "Listing", "error"])
def test_a_word_is_an_id_a_pattern_a_group_or_a_level(word: str) -> None:
    """In any case of letters."""
    assert "law-unique-ids" in ids(evolve(PLUGIN, select=(word,)))
    assert "law-unique-ids" not in ids(evolve(PLUGIN, skip=(word,)))


def test_a_word_that_means_nothing_is_refused() -> None:
    """With names that are near."""
    with pytest.raises(UsageError, match="law-unique-ids"):
        ids(evolve(PLUGIN, select=("law-uniqe",)))


def test_the_quick_mode_has_the_quick_checks_only() -> None:
    """They are errors that can be seen from outside."""
    assert ids(evolve(PLUGIN, mode=Mode.QUICK)) == {each.id for each in CHECKS.values() if each.is_quick}


@pytest.mark.parametrize(
    "word, mode, help_",
    [
        ("law-two-streams", Mode.DEFAULT, "law-two-streams: no kubelet does that: add --beyond"),
        ("consumers", Mode.DEFAULT, "podres-tolerates-resource-exhausted, .* and 2 more: needs --consumer CMD"),
        ("scale-idle-cpu", Mode.QUICK, "scale-idle-cpu: not in the quick set: leave --quick out"),
    ],
)
def test_what_is_named_and_not_made_says_what_would_help(word: str, mode: Mode, help_: str) -> None:
    """The check is there, so that no list of all checks tells more."""
    config = evolve(PLUGIN, select=(word,), mode=mode)
    assert not ids(config)
    assert re.search(help_, nothing_selected(in_order(), config))


def test_what_failed_before_is_selected_alone_if_there_is_any() -> None:
    """Nothing failed: everything is made."""
    again = evolve(PLUGIN, rerun_failed=True)
    assert ids(again, "law-unique-ids") == {"law-unique-ids"}
    assert ids(again) == ids(PLUGIN)


def test_a_missing_hook_is_named() -> None:
    """The reason says which option would help; a need that is optional is no reason."""
    profile = profile_of("1.36")
    assert why_not(CHECKS["law-full-list-every-time"], PLUGIN, profile) == "needs --break CMD and --mend CMD"
    assert not why_not(CHECKS["law-full-list-every-time"], evolve(PLUGIN, hooks={"break": "b", "mend": "m"}), profile)
    assert not why_not(CHECKS["law-handler-exits-on-cancel"], PLUGIN, profile)


def test_a_plugin_that_was_attached_to_cannot_be_started() -> None:
    """Checks with an instance of their own say so."""
    attached = SuiteConfig(attach=Path("/tmp/root"))
    assert "command" in why_not(CHECKS["reg-error-surfaced"], attached, profile_of("1.36"))


def test_the_window_is_short_unless_all_is_wanted() -> None:
    """5 s, 1 s in the quick mode, else what the table says; never more than that."""
    assert PLUGIN.window_s(60) == 5
    assert PLUGIN.window_s(3) == 3
    assert evolve(PLUGIN, mode=Mode.QUICK).window_s(60) == 1
    assert evolve(PLUGIN, mode=Mode.FULL).window_s(60) == 60


@pytest.mark.parametrize(
    "config",
    [
        SuiteConfig(),
        SuiteConfig(command=("p",), attach=Path("/tmp")),
        SuiteConfig(command=("p",), hooks={"explode": "x"}),
        SuiteConfig(command=("p",), kubelet_versions=()),
    ],
)
def test_choices_that_cannot_be_are_refused(config: SuiteConfig) -> None:
    """Before anything is started."""
    with pytest.raises(UsageError):
        config.check()


@pytest.mark.parametrize(
    "command, env, tells",
    [
        (("plugin",), {}, False),
        (("plugin", "--socket-dir", "{dir}"), {}, True),
        (("plugin", "--kubelet=unix://{socket}"), {}, True),
        (("plugin",), {"PLUGIN_SOCK_DIR": "{dir}/"}, True),
        (("docker", "run", "-v", "{dir}:/var/lib/kubelet/device-plugins", "image"), {}, False),
        (("docker", "run", "--mount", "type=bind,source={dir},target=/d", "image"), {}, False),
        (("docker", "run", "-v={dir}:/d", "-v={dir}/../plugins_registry:/r:ro", "image"), {}, False),
        (("docker", "run", "-v", "{dir}:{dir}", "image", "--socket-dir", "{dir}"), {}, True),
    ],
)
def test_a_mount_of_a_container_tells_the_plugin_nothing(
    command: tuple[str, ...], env: dict[str, str], tells: bool
) -> None:
    """What an engine mounts is not what the plugin is told."""
    assert SuiteConfig(command=command, env=env).tells_directory is tells
