"""Faults that somebody could make in the core: what is told of each, where it is planted, and what stands there then."""

from __future__ import annotations

from attrs import frozen


@frozen
class Fault:
    """One text of one file, and what takes its place. The text has to be there exactly once."""

    what: str
    file: str
    """Below `kubelet_sim/core`."""
    old: str
    new: str


_SELECTION, _REUSABLE, _SPLIT, _ALLOCATION = (
    "devices/device_selection.py",
    "devices/reusable_devices.py",
    "devices/affinity_split.py",
    "devices/allocation.py",
)
_HINTS, _PREPARATION, _ALLOCATIONS = (
    "devices/device_hints.py",
    "devices/container_preparation.py",
    "devices/allocations.py",
)
_MERGE, _SETTINGS, _MANAGER = "topology/hint_merge.py", "topology/settings.py", "topology/topology_manager.py"

FAULTS = (
    # ------------------------------------------------------------------------------------------ device selection
    Fault(
        "the plugin is asked although just as many are aligned as needed",
        _SELECTION,
        "if taking.needed < len(split.aligned):",
        "if taking.needed <= len(split.aligned):",
    ),
    Fault(
        "the remaining size is asked for", _SELECTION, "must_include, size)", "must_include, size - len(taking.taken))"
    ),
    Fault(
        "what was taken already is not offered",
        _SELECTION,
        "frozenset(free).union(taking.taken)",
        "frozenset(free).difference(taking.taken)",
    ),
    Fault("must-include is empty", _SELECTION, 'tuple(arrange("DM-94", taking.taken))', "()"),
    Fault(
        "everything free is offered in place of the aligned",
        _SELECTION,
        "resource, split.aligned, taking, required)",
        "resource, available, taking, required)",
    ),
    Fault(
        "preferred devices outside of the aligned are taken",
        _SELECTION,
        "taking.take(preferred & split.aligned,",
        "taking.take(preferred & available,",
    ),
    Fault(
        "foreign preferred ids are taken",
        _SELECTION,
        "taking.take(preferred & available,",
        "taking.take(preferred,",
    ),
    Fault(
        "the plugin's preference is not listened to",
        _SELECTION,
        "taking.take(preferred & available,",
        "taking.take(frozenset[DeviceID](),",
    ),
    Fault(
        "devices without affinity come before unaligned ones",
        _SELECTION,
        'taking.take(split.unaligned, "DM-92")\n            taking.take(split.no_affinity, "DM-92")',
        'taking.take(split.no_affinity, "DM-92")\n            taking.take(split.unaligned, "DM-92")',
    ),
    Fault(
        "unaligned devices are not taken",
        _SELECTION,
        'taking.take(split.unaligned, "DM-92")',
        "pass",
    ),
    Fault(
        "the total is told in place of what is still needed",
        _SELECTION,
        "Requested: {taking.needed}, Available",
        "Requested: {required}, Available",
    ),
    Fault(
        "one device too few passes",
        _SELECTION,
        "if len(available) < taking.needed:",
        "if len(available) < taking.needed - 1:",
    ),
    Fault(
        "handed-on devices have to be healthy",
        _SELECTION,
        'taking.take(reusable, "DM-90")',
        'taking.take(reusable & state.healthy[resource], "DM-90")',
    ),
    Fault("handed-on devices are not taken over", _SELECTION, 'taking.take(reusable, "DM-90")', "pass"),
    Fault(
        "a plugin is asked that does not want to be",
        _SELECTION,
        "or not endpoint.options.get_preferred_allocation_available",
        "or False",
    ),
    Fault(
        "an error of the question is swallowed",
        _SELECTION,
        'raise AllocationFailed(text, rule="DM-96") from failure',
        "return frozenset()",
    ),
    Fault(
        "a stopped endpoint is asked",
        _SELECTION,
        "CallGetPreferredAllocation(live_client(endpoint),",
        "CallGetPreferredAllocation(endpoint.client or ClientID(0),",
    ),
    Fault(
        "chosen ids are in use only when they are recorded",
        _SELECTION,
        "allocations.take(self._resource, device)",
        "pass",
    ),
    Fault(
        "running containers are checked first",
        _SELECTION,
        "if record is not None and needed != 0:",
        "if state.sources_ready and record is not None and needed != 0:",
    ),
    Fault("a running container is checked", _SELECTION, "if spares and ran_at_start(", "if False and ran_at_start("),
    Fault("health of held devices is not looked at", _SELECTION, "if not have <= healthy:", "if False:"),
    Fault(
        "an error frees what was taken",
        _SELECTION,
        'text = f"device plugin GetPreferredAllocation',
        'context.state.allocations.recount()\n        text = f"device plugin GetPreferredAllocation',
    ),
    Fault(
        "a device that others took meanwhile is looked at again",
        _SELECTION,
        "taking.take(preferred & available,",
        "taking.take(preferred & frozenset(state.healthy.get(resource, ())),",
    ),
    # ------------------------------------------------------------------------------------------- reuse
    Fault("a sidecar hands on", _REUSABLE, "if kind is ContainerKind.INIT:", "if kind is not ContainerKind.APP:"),
    Fault(
        "an app container hands on",
        _REUSABLE,
        "if kind is ContainerKind.INIT:",
        "if kind is not ContainerKind.SIDECAR:",
    ),
    Fault("an init container takes away", _REUSABLE, "if kind is ContainerKind.INIT:", "if False:"),
    Fault("an app container takes nothing away", _REUSABLE, ".difference_update(record.ids)", ".difference_update(())"),
    Fault(
        "a later init container replaces what is handed on",
        _REUSABLE,
        "self._ids.setdefault(resource, set()).update(record.ids)",
        "self._ids[resource] = set(record.ids)",
    ),
    Fault("the table survives another pod", _REUSABLE, "self._pod, self._ids = pod, {}", "self._pod = pod"),
    Fault("the table ends with every container", _REUSABLE, "if pod != self._pod:", "if True:"),
    Fault("other pods take over, too", _REUSABLE, " if pod == self._pod else frozenset()", ""),
    # ---------------------------------------------------------------------------------------- affinity
    Fault("an empty mask is none", _SPLIT, "if affinity is None or", "if not affinity or"),
    Fault(
        "node -1 is a node elsewhere", _SPLIT, "any(node != NO_NUMA_NODE for node in on)", "any(True for node in on)"
    ),
    Fault(
        "all nodes of a device have to be in the mask",
        _SPLIT,
        "if touching(on) & affinity)",
        "if touching(on) and not touching(on) & ~affinity)",
    ),
    Fault(
        "only the first node of a device counts",
        _SPLIT,
        "if touching(on) & affinity)",
        "if touching(on[:1]) & affinity)",
    ),
    Fault(
        "only healthy devices bring topology",
        _SPLIT,
        "is not None) for device in devices)",
        "is not None) for device in devices if device.is_healthy)",
    ),
    # -------------------------------------------------------------------------------------- allocation
    Fault(
        "a failed allocation settles the table",
        _ALLOCATION,
        "    yield from _allocating_limits(context, pod, container)\n    kind =",
        "    try:\n        yield from _allocating_limits(context, pod, container)\n    finally:\n"
        "        state.reuse.settle(container.kind, state.allocations.of_container(pod.uid, container.name))\n    kind =",
    ),
    Fault(
        "a missing endpoint leaves the ids in use",
        _ALLOCATION,
        '        context.state.allocations.recount()\n        raise AllocationFailed(f"unknown',
        '        raise AllocationFailed(f"unknown',
    ),
    Fault(
        "no answer frees the ids",
        _ALLOCATION,
        "    if not answer.responses:\n",
        "    if not answer.responses:\n        context.state.allocations.recount()\n",
    ),
    Fault(
        "a failed call leaves the ids in use",
        _ALLOCATION,
        "    except PluginFault as failure:\n        context.state.allocations.recount()\n",
        "    except PluginFault as failure:\n",
    ),
    Fault(
        "a lost id is in use again when it is recorded",
        _ALLOCATION,
        "    record = AllocationRecord(devices, response)\n",
        "    record = AllocationRecord(devices, response)\n    context.state.allocations.know(resource).update(record.ids)\n",
    ),
    Fault(
        "a vanished device is left out of the record",
        _ALLOCATION,
        "or (nowhere,):",
        "or ((nowhere,) if device else ()):",
    ),
    Fault("a vanished device is not warned of", _ALLOCATION, "        if device is None:\n", "        if False:\n"),
    Fault("the reclaim comes for every resource", _ALLOCATION, "            has_reclaimed = True\n", ""),
    Fault(
        "limits of zero are skipped",
        _ALLOCATION,
        "if not context.state.is_device_plugin_resource(name):",
        "if not container.limits[name].value or not context.state.is_device_plugin_resource(name):",
    ),
    # ------------------------------------------------------------------------------------------- hints
    Fault(
        "only available devices make the preferred size",
        _HINTS,
        "_touching(everything, mask) >= count",
        "_touching(available, mask) >= count",
    ),
    Fault(
        "a subset that is just large enough does not count",
        _HINTS,
        "_touching(everything, mask) >= count",
        "_touching(everything, mask) > count",
    ),
    Fault("handed-on devices pin nothing", _HINTS, "if all(mask & of for of in reusable) and ", "if "),
    Fault(
        "handed-on devices do not count",
        _HINTS,
        "reusable.total() + _touching(available, mask)",
        "_touching(available, mask)",
    ),
    Fault("handed-on devices without topology count", _HINTS, " and listed[device].topology is not None", ""),
    Fault(
        "every node of the machine is a candidate",
        _HINTS,
        "sorted(node for node in known if node in hosting) or known",
        "sorted(known)",
    ),
    Fault(
        "no candidate at all when no device is on a known node",
        _HINTS,
        "if node in hosting) or known",
        "if node in hosting)",
    ),
    Fault("hints of a held number that differs", _HINTS, "        if len(held) != count:\n            return ()\n", ""),
    Fault("held devices are forgotten", _HINTS, "    if held:\n", "    if False:\n"),
    Fault("too few free ones are not noticed", _HINTS, "if len(available | reusable) < count:", "if False:"),
    Fault(
        "pod scope looks at what is handed on",
        _HINTS,
        "held, lambda _: frozenset())",
        "held, lambda resource: context.state.reuse.of(pod.uid, resource))",
    ),
    Fault(
        "devices in use are available for hints",
        _HINTS,
        "frozenset(state.healthy.get(resource, set()) - state.allocations.in_use.get(resource, set()))",
        "frozenset(state.healthy.get(resource, set()))",
    ),
    Fault("no topology is impossible", _HINTS, "        return None\n", "        return ()\n"),
    Fault(
        "hints of the pod reclaim nothing",
        _HINTS,
        "    reclaim(context)\n\n    def held(resource: ResourceName) -> frozenset[DeviceID]:\n        return context.state.allocations.ids_of_pod",
        "\n    def held(resource: ResourceName) -> frozenset[DeviceID]:\n        return context.state.allocations.ids_of_pod",
    ),
    # ---------------------------------------------------------------------------------------- merging
    Fault(
        "overlap is agreement",
        _MERGE,
        "set.intersection(*outspoken) if outspoken else set().union(*opinions)",
        "{a & b for a in opinions[0] for b in opinions[-1] if a is not None and b is not None} if outspoken else set().union(*opinions)",
    ),
    Fault(
        "the default is cut before masks are compared",
        _MERGE,
        "opinions = [{hint.mask for",
        "opinions = [{hint.mask if hint.mask is None else hint.mask & default for",
    ),
    Fault(
        "hints that are not preferred agree",
        _MERGE,
        " for hint in hints if hint.is_preferred} for hints in lists]",
        " for hint in hints} for hints in lists]",
    ),
    Fault("who abstains spoils the agreement", _MERGE, "if None not in opinion]", "if opinion]"),
    Fault(
        "the narrowest result always wins",
        _MERGE,
        "max((w for w in widths if w <= best), default=min(widths))",
        "min(widths)",
    ),
    Fault(
        "the widest result wins", _MERGE, "max((w for w in widths if w <= best), default=min(widths))", "max(widths)"
    ),
    Fault(
        "the least demanding resource counts",
        _MERGE,
        "return max((width(mask) for mask in narrowest",
        "return min((width(mask) for mask in narrowest",
    ),
    Fault("empty masks stay", _MERGE, "for other in offered} - {0}", "for other in offered}"),
    Fault("single nodes need not be preferred", _MERGE, "if hint.is_preferred and (hint.mask", "if (hint.mask"),
    Fault("single nodes may be two", _MERGE, "width(hint.mask) == 1)", "width(hint.mask) <= 2)"),
    # ------------------------------------------------------------------------------ settings and scopes
    Fault("best-effort refuses", _SETTINGS, "in (Policy.NONE, Policy.BEST_EFFORT)", "is Policy.NONE"),
    Fault(
        "a full affinity stays one under single-numa-node",
        _SETTINGS,
        "if best.mask == self.default else best",
        "if best.mask is None else best",
    ),
    Fault(
        "closeness goes by one direction",
        _SETTINGS,
        "for a in members for b in members)",
        "for a in members for b in members if a <= b)",
    ),
    Fault("closeness before width", _SETTINGS, "return width(mask), sum(", "return sum("),
    Fault(
        "the hint of the container before is used",
        _MANAGER,
        "self.context.state.affinities.store(pod.uid, container.name, hint)",
        "self.context.state.affinities.store(pod.uid, next(pod.all_containers()).name, hint)",
    ),
    Fault(
        "the providers after the first do not allocate",
        _MANAGER,
        "            for provider in self.providers:\n                yield",
        "            for provider in self.providers[:1]:\n                yield",
    ),
    Fault("hints are stored under policy none", _MANAGER, "if scope is not Scope.NONE:", "if True:"),
    Fault(
        "all containers are judged before any is allocated",
        _MANAGER,
        "            if scope is Scope.CONTAINER:\n                answers",
        "            if scope is not Scope.NONE:\n                answers",
    ),
    Fault(
        "a refusal is an unexpected error",
        _MANAGER,
        "return Rejected(refusal.reason, refusal.text)",
        'return Rejected("UnexpectedAdmissionError", refusal.text)',
    ),
    # ------------------------------------------------------------------------------------ preparation
    Fault(
        "PreStartContainer is called for a limit of zero",
        _PREPARATION,
        "if not container.limits[resource].value and not",
        "if False and not",
    ),
    Fault(
        "PreStartContainer is called unasked", _PREPARATION, "or not endpoint.options.pre_start_required:", "or False:"
    ),
    Fault(
        "PreStartContainer fails in silence",
        _PREPARATION,
        "raise _failed(context, pod, container, text) from failure",
        "return",
    ),
    Fault(
        "what has no record need not be started",
        _PREPARATION,
        '        raise _failed(context, pod, container, f"no devices found allocated in local cache for {whose}")',
        "        return",
    ),
    Fault("pods that are over are allocated late", _PREPARATION, "pod.uid in state.active_pods or not", "True or not"),
    Fault(
        "late allocation takes no turn",
        _PREPARATION,
        "has_waited = yield from ask(TakeAdmissionTurn())",
        "has_waited = False",
    ),
    Fault("nobody is told of a turn that was waited for", _PREPARATION, "    if has_waited:\n", "    if False:\n"),
    Fault(
        "of every error the description alone is shown",
        _PREPARATION,
        ' and failure.rule == "DM-98" else None',
        " else None",
    ),
    Fault("of a bare status all is shown", _PREPARATION, "cause.description if", "None if"),
    Fault("late allocation is left out", _PREPARATION, "    if is_incomplete:\n", "    if False:\n"),
    # ------------------------------------------------------------------------------------------ allocations
    Fault("a new count forgets nothing", _ALLOCATIONS, "self.in_use = {resource:", "self.in_use |= {resource:"),
    Fault("sharing is not noted", _ALLOCATIONS, "self.shared |= {(resource, device) for device in also_held}", "pass"),
    Fault(
        "containers of one pod share like pods",
        _ALLOCATIONS,
        "self._holders.pods(resource, device) - {pod}",
        "self._holders.of(resource, device)",
    ),
    Fault(
        "an entry outlives its record",
        _ALLOCATIONS,
        "            if self._entries.pop(key, None) is not None:\n",
        "            if False:\n",
    ),
    Fault(
        "who let go of a device still holds it",
        _ALLOCATIONS,
        "            self._holders.remove(resource, record.ids, (pod, container))\n",
        "",
    ),
    # ------------------------------------------------------------------------------------ the checkpoint's text
    Fault(
        "a list is known by its name alone",
        "checkpoint_file/encoder.py",
        "if part is None or part.of is not ids:",
        "if part is None:",
    ),
    Fault(
        "a set is known by its name alone",
        "devices/ordered_lists.py",
        "if before is not None and before[0] is ids:",
        "if before is not None:",
    ),
    Fault(
        "the checksum behind an entry is not kept",
        "checkpoint_file/encoder.py",
        "state = part.state = part.dump",
        "state = part.dump",
    ),
    Fault(
        "a stretch is the same behind any state",
        "checkpoint_file/running_hash.py",
        "kind = state & _LOWEST",
        "kind = 0",
    ),
    # --------------------------------------------------------------------------------- around all these
    Fault(
        "no sidecar runs beside an init container",
        "kubelet/pod_requests.py",
        "beside = dict(running)",
        "beside: dict[str, Fraction] = {}",
    ),
    Fault(
        "a sidecar is over before the apps start",
        "kubelet/pod_requests.py",
        "        if container.kind is ContainerKind.SIDECAR:\n            _add(running, of(container))\n",
        "        if container.kind is ContainerKind.SIDECAR:\n            pass\n",
    ),
    Fault(
        "an empty answer is no possible hint",
        "topology/hints.py",
        "NO_PREFERENCE if hints is None else hints or IMPOSSIBLE",
        "hints or IMPOSSIBLE",
    ),
    Fault(
        "an empty list is no preference",
        "topology/hints.py",
        "NO_PREFERENCE if hints is None else hints or IMPOSSIBLE",
        "hints or NO_PREFERENCE",
    ),
    Fault("a silent provider is left out", "topology/hints.py", "lists.append(NO_PREFERENCE)\n", "pass\n"),
    Fault(
        "subsets go by size only to pairs",
        "topology/masks.py",
        "range(1, len(bits) + 1)",
        "range(1, min(len(bits), 2) + 1)",
    ),
    Fault(
        "a node of 64 is one of 0",
        "topology/masks.py",
        "for node in nodes if 0 <= node <= LAST_NODE)",
        "for node in (each % 64 for each in nodes))",
    ),
    Fault(
        "a refused pod stays active", "kubelet/pod_admission.py", "context.state.active_pods.pop(pod.uid, None)", "pass"
    ),
    Fault(
        "a pod is active after its admission only",
        "kubelet/pod_admission.py",
        "    context.state.active_pods[pod.uid] = pod\n",
        "",
    ),
    Fault(
        "a reclaim that finds nobody counts anew",
        "devices/reclaim.py",
        "<= state.active_pods.keys():\n        return",
        ">= {0}:\n        return",
    ),
    Fault(
        "a reclaim does not wait for the sources",
        "devices/reclaim.py",
        "    if not state.sources_ready:\n        return\n",
        "",
    ),
    Fault("eight nodes are one too many", _SETTINGS, "if len(nodes) > limit:", "if len(nodes) >= limit:"),
)
