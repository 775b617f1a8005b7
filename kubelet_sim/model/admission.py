"""The verdict on a pod."""

from __future__ import annotations

from attrs import frozen


@frozen
class Admitted:
    """The pod may run."""


@frozen
class Rejected:
    """The pod fails for good; the kubelet never tries it again. Rules: DM-77"""

    reason: str
    message: str
    """Without the prefix that the pod's status adds."""


Admission = Admitted | Rejected
