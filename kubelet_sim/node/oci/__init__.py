"""Containers really made: bundles, and the OCI runtime of this machine."""
