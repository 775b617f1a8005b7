"""Faults of resource names."""

from __future__ import annotations

import itertools

from plugins_examples.faulty.conduct import Conduct
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2


@fault("odd-name", "name-valid")
def odd_name(conduct: Conduct) -> None:
    """Its name has a blank."""
    conduct.resources = ["example.com/two words"]


@fault("native-name", "name-not-native")
def native_name(conduct: Conduct) -> None:
    """Its name belongs to Kubernetes."""
    conduct.resources = ["devices.kubernetes.io/faulty"]


@fault("new-names", "name-stable")
def new_names(conduct: Conduct) -> None:
    """It has another name at each registration."""
    number = itertools.count()

    def request(good: api_pb2.RegisterRequest) -> api_pb2.RegisterRequest:
        good.resource_name = f"{good.resource_name}-{next(number)}"
        return good

    conduct.request = request


@fault("name-per-device", "name-stable")
def name_per_device(conduct: Conduct) -> None:
    """Each device is a resource of its own."""
    conduct.resources = ["example.com/card-0", "example.com/card-1"]
    conduct.devices = lambda resource: [api_pb2.Device(ID=resource.rpartition("/")[2], health="Healthy")]
