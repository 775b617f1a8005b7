"""The verdict of the kubelet on a pod: admitted, or rejected with a reason."""

from __future__ import annotations

from attrs import frozen


@frozen
class Admitted:
    """The verdict that the pod may run on the node."""


@frozen
class Rejected:
    """The pod fails for good; the kubelet never tries it again. Rules: DM-77"""

    reason: str
    message: str
    """Without the prefix that the pod's status adds."""


Admission = Admitted | Rejected
