"""The topology manager: which NUMA nodes a container's resources should come from, and whether a pod is refused for it.

Masks and hints are values (`masks`, `hints`), merging is a function of them (`hint_merge`), the settings are checked once
(`settings`), and the scopes are the walks of admission (`topology_manager`). Who has hints to give is a `HintProvider`.
"""
