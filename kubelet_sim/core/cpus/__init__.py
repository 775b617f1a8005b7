"""The CPU manager: exclusive cpus for guaranteed pods."""
