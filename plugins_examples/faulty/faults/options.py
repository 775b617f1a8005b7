"""Faults of the options that a plugin states."""

from __future__ import annotations

import itertools
import time

import grpc

from plugins_examples.faulty.conduct import Conduct, Context
from plugins_examples.faulty.faults.table import fault
from plugins_examples.pb import api_pb2

PREFERRED = api_pb2.DevicePluginOptions(get_preferred_allocation_available=True)
PRE_START = api_pb2.DevicePluginOptions(pre_start_required=True)


@fault("no-options", "opt-rpc-answers", "reg-serve-before-register")
def no_options(conduct: Conduct) -> None:
    """It does not implement GetDevicePluginOptions."""

    def options(context: Context) -> api_pb2.DevicePluginOptions:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not implemented")

    conduct.options = options


@fault("slow-options", "opt-rpc-answers")
def slow_options(conduct: Conduct) -> None:
    """It takes its time for GetDevicePluginOptions."""

    def options(context: Context) -> api_pb2.DevicePluginOptions:
        del context
        time.sleep(1.5)
        return api_pb2.DevicePluginOptions()

    conduct.options = options


def advertise(conduct: Conduct, options: api_pb2.DevicePluginOptions) -> None:
    """In both places."""

    def request(good: api_pb2.RegisterRequest) -> api_pb2.RegisterRequest:
        good.options.CopyFrom(options)
        return good

    conduct.options, conduct.request = lambda _: options, request


@fault("preferred-not-implemented", "opt-pref-flag-consistent")
def preferred_not_implemented(conduct: Conduct) -> None:
    """It advertises preferred allocation, and that is all."""
    advertise(conduct, PREFERRED)

    def prefer(request: api_pb2.PreferredAllocationRequest, context: Context) -> api_pb2.PreferredAllocationResponse:
        del request
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not implemented")

    conduct.prefer = prefer


@fault("pre-start-not-implemented", "opt-prestart-flag-consistent")
def pre_start_not_implemented(conduct: Conduct) -> None:
    """It requires PreStartContainer, and that is all."""
    advertise(conduct, PRE_START)

    def pre_start(request: api_pb2.PreStartContainerRequest, context: Context) -> api_pb2.PreStartContainerResponse:
        del request
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "not implemented")

    conduct.pre_start = pre_start


@fault("options-in-register-only", "opt-register-matches-rpc")
def options_in_register_only(conduct: Conduct) -> None:
    """Register says that it wants to be called before containers start, GetDevicePluginOptions does not."""
    advertise(conduct, PRE_START)
    conduct.options = lambda _: api_pb2.DevicePluginOptions()


@fault("options-change", "opt-stable")
def options_change(conduct: Conduct) -> None:
    """Every sixth answer is another one."""
    count = itertools.count(1)
    conduct.options = lambda _: api_pb2.DevicePluginOptions() if next(count) % 6 else PREFERRED
