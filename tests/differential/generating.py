"""Stories that nobody wrote down: one a seed, the same one every time.

The generator keeps a rough picture of what it has told so far, only to avoid what takes real time (a dial to nobody) or is no
step at all (looking at a pod that was never admitted). What comes of a step is none of its business.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field

RESOURCES = ("example.com/gpu", "acme.io/nic", "vendor.org/fpga", "x/y")
IDS = ("a", "b", "c", "d", "e", "f", "g", "h", "dev-1", "ünï")
_MACHINES: tuple[list[int], ...] = ([0], [0], [0, 1], [0, 1], [0, 1, 2, 3], list(range(8)), [], [0, 2], [1, 3, 5])
_POLICIES = ("none", "none", "best-effort", "best-effort", "restricted", "single-numa-node")
_ERRORS = ("INTERNAL", "UNKNOWN", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "NOT_FOUND")
_ADVANCES = (110, 301)
"""Sums of these are never exactly the five minutes of grace, to which real time would add some more."""

Plain = dict[str, Any]


@define
class _Part:
    """What is known of a plugin."""

    script: Plain
    is_serving: bool = False
    is_swept: bool = False
    """Its socket's file was removed by a start."""
    streams: int = 0


@define
class _Teller:
    """A story in the making."""

    chance: random.Random
    numa: list[int]
    shared: list[str]
    """Where the responses of all plugins have the same key, with values of their own: the first one wins in all of them."""
    parts: dict[str, _Part] = field(factory=dict)
    steps: list[Plain] = field(factory=list)
    pods: dict[str, Plain] = field(factory=dict)
    runs: bool = True

    def say(self, do: str, **arguments: Any) -> None:
        self.steps.append({"do": do, **arguments})

    # --- values

    def likely(self, percent: float) -> bool:
        return self.chance.random() * 100 < percent

    def some(self, items: Sequence[Any], most: int | None = None) -> list[Any]:
        return self.chance.sample(list(items), self.chance.randint(0, min(len(items), most or len(items))))

    def devices(self) -> list[Plain]:
        ids = self.chance.sample(IDS, self.chance.choice([0, 1, 2, 3, 4, 4, 5, 6, 8]))
        if ids and self.likely(8):
            ids.append(self.chance.choice(ids))
        has_topology = self.likely(70)
        return [self.device(each, has_topology=has_topology) for each in ids]

    def device(self, device_id: str, *, has_topology: bool) -> Plain:
        device: Plain = {"id": device_id, "health": self.chance.choice(["Healthy"] * 8 + ["Unhealthy", "Sick"])}
        if has_topology and self.likely(90):
            nodes = [*self.numa, *([9, 70, -1] if self.likely(4) else [])]
            device["numa"] = self.chance.sample(nodes, min(len(nodes), self.chance.choice([0, 1, 1, 1, 1, 1, 2])))
        return device

    def error(self) -> list[str]:
        return [self.chance.choice(_ERRORS), self.chance.choice(["bad day", "no: 100%", ""])]

    def during(self) -> Plain:
        if self.likely(96):
            return {}
        return {"push": self.devices()} if self.likely(80) else {"drop": True}

    def script(self, resource: str, name: str) -> Plain:
        script: Plain = {
            "resource": resource,
            "socket": f"{name}.sock",
            "options": {"preStart": self.likely(30), "preferred": self.likely(40)},
        }
        if self.likely(97):
            script["devices"] = self.devices()
        if self.likely(3):
            script["options_error"] = self.error()
        if self.likely(2):
            script["list_error"] = self.error()
        script.update(self.answers(resource, name))
        return script

    def answers(self, resource: str, name: str) -> Plain:
        key = name.upper()
        shared = f"{resource}#{self.chance.randint(0, 9)}"
        allocate: Plain = {"envs": {key: "{ids}"}, **self.during()}
        if "env" in self.shared:
            allocate["envs"]["SHARED"] = shared
        mounts = [[f"/{name}", f"/host/{name}", self.likely(50)]] if self.likely(30) else []
        if mounts or "mount" in self.shared:
            allocate["mounts"] = [*mounts, *([["/shared", f"/{shared}", False]] if "mount" in self.shared else [])]
        if self.likely(30):
            allocate["device_per_id"] = True
        if "annotation" in self.shared:
            allocate["annotations"] = {key: "yes", "shared": shared}
        if self.likely(20):
            allocate["cdi"] = [f"{resource}=all", *(["vendor/common=1"] if self.likely(50) else [])]
        if self.likely(5):
            allocate["responses"] = self.chance.choice([0, 2])
        if self.likely(4):
            allocate["no_response"] = True
        if self.likely(5):
            allocate["error"] = self.error()
        answers: Plain = {"allocate": allocate}
        preferred: Plain = {"ids": self.some(IDS, 5), **self.during()}
        if self.likely(8):
            preferred["error"] = self.error()
        elif self.likely(8):
            preferred["no_response"] = True
        answers["preferred"] = preferred
        answers["prestart"] = {"error": self.error()} if self.likely(8) else {}
        return answers

    # --- pods

    def resources(self) -> list[str]:
        return list(dict.fromkeys(part.script["resource"] for part in self.parts.values()))

    def limits(self) -> Plain:
        limits: Plain = {}
        for resource in self.some(self.resources(), 3):
            limits[resource] = self.chance.choice(["0", "1", "1", "1", "1", "2", "2", "3", "4"])
            if self.likely(2):
                limits[resource] = self.chance.choice(["1500m", "1k"])
        if self.likely(15):
            limits["cpu"] = self.chance.choice(["1", "500m", "40"])
        if self.likely(5):
            limits["example.com/unknown"] = "1"
        return limits

    def container(self, name: str) -> Plain:
        limits = self.limits()
        return {"name": name, "image": "i", "resources": {"limits": limits, "requests": dict(limits)}}

    def pod(self, uid: str) -> Plain:
        init = []
        for number in range(self.chance.choice([0, 0, 0, 1, 1, 2, 3])):
            init.append(self.container(f"i{number}"))
            if self.likely(30):
                init[-1]["restartPolicy"] = "Always"
        spec: Plain = {"containers": [self.container(f"c{n}") for n in range(self.chance.choice([1, 1, 1, 2, 3]))]}
        if init:
            spec["initContainers"] = init
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": uid, "namespace": "default", "uid": uid},
            "spec": spec,
        }

    def containers(self, uid: str) -> list[str]:
        spec = self.pods[uid]["spec"]
        return [each["name"] for each in [*spec.get("initContainers", []), *spec["containers"]]]

    def look(self) -> None:
        """One or two looks at what came of it."""
        looks: list[Callable[[], None]] = [
            lambda: self.say("in-use"),
            lambda: self.say("state"),
            lambda: self.say("checkpoint"),
        ]
        if self.runs:
            looks += [lambda: self.say("capacity")]
        if self.pods:
            uid = self.chance.choice(list(self.pods))
            looks += [
                lambda: self.say("allocated", pod=uid),
                lambda: self.say("status", pod=uid),
                lambda: self.say("affinity", pod=uid, container=self.chance.choice(self.containers(uid))),
            ]
        name = self.chance.choice(list(self.parts))
        looks += [lambda: self.say("calls", plugin=name), lambda: self.say("streams", plugin=name)]
        for look in self.chance.sample(looks, self.chance.choice([0, 1, 1, 2])):
            if self.runs or look not in looks[:2]:
                look()

    # --- what happens

    def register(self) -> None:
        name = self.chance.choice(list(self.parts))
        part = self.parts[name]
        if part.is_swept:
            self.say("reserve", plugin=name)
            part.is_swept, part.streams = False, 0
        self.say("register", plugin=name)
        part.is_serving = True
        part.streams += 1

    def register_as(self) -> None:
        name = self.chance.choice(list(self.parts))
        part = self.parts[name]
        if part.is_swept:
            return
        over = self.chance.choice(
            [
                {"version": "v1alpha"},
                {"resource": "example.com"},
                {"resource": "requests.x/y"},
                {"endpoint": "kubelet.sock"},
            ]
        )
        self.say("register-as", plugin=name, over=over)
        part.is_serving = True

    def update(self) -> None:
        name = self.chance.choice(list(self.parts))
        part = self.parts[name]
        old = part.script.get("devices") or []
        if old and self.likely(75):
            devices = [dict(each) for each in old]
            for _ in range(self.chance.choice([1, 1, 2])):
                self.change(devices)
        else:
            devices = self.devices()
        part.script = {**part.script, "devices": devices}
        self.say("update", plugin=name, devices=devices)

    def change(self, devices: list[Plain]) -> None:
        if devices and self.likely(60):
            device = self.chance.choice(devices)
            device["health"] = "Healthy" if device["health"] != "Healthy" else "Unhealthy"
        elif devices and self.likely(50):
            devices.remove(self.chance.choice(devices))
        else:
            devices.append(self.device(self.chance.choice(IDS), has_topology=True))

    def set(self) -> None:
        name = self.chance.choice(list(self.parts))
        script = self.parts[name].script
        self.say("set", plugin=name, spec=self.answers(script["resource"], name))

    def stop(self) -> None:
        serving = [name for name, part in self.parts.items() if part.is_serving]
        if serving:
            name = self.chance.choice(serving)
            self.say("stop", plugin=name)
            self.parts[name].is_serving, self.parts[name].streams = False, 0
            self.parts[name].is_swept = False

    def drop(self) -> None:
        serving = [name for name, part in self.parts.items() if part.is_serving]
        if serving:
            name = self.chance.choice(serving)
            do = self.chance.choice(["drop", "drop", "end-first-stream", "fail-stream"])
            self.say(do, plugin=name, **({"error": self.error()} if do == "fail-stream" else {}))

    def restart(self) -> None:
        running = (
            [[uid, name] for uid in self.pods for name in self.containers(uid) if self.likely(60)]
            if self.likely(60)
            else []
        )
        ready = self.likely(50)
        if self.likely(60):
            self.say("restart", running=running, ready=ready)
        else:
            self.say("kill")
            self.runs = False
            for _ in range(self.chance.choice([0, 1, 2])):
                self.chance.choice([self.put_checkpoint, self.update, self.stop])()
            self.say("start", running=running, ready=ready)
            self.runs = True
        for part in self.parts.values():
            part.is_swept, part.streams = part.is_serving, 0
        for _ in range(self.chance.choice([0, 1, 2, 3])):
            self.chance.choice([self.register, self.register, self.again, self.container_step])()
        if not ready and self.likely(80):
            self.say("ready", value=True)

    def put_checkpoint(self) -> None:
        if self.likely(20):
            text = self.chance.choice(["", "{}", "null", "[]", "nonsense", '{"Data":{},"Checksum":0}'])
            self.say("put-checkpoint", text=text)
            return
        uids = [*self.pods, "gone"]
        entries = []
        for _ in range(self.chance.choice([0, 1, 2, 3])):
            uid = self.chance.choice(uids)
            name = self.chance.choice(self.containers(uid)) if uid in self.pods else "c0"
            ids = self.some(IDS, 3)
            key = str(self.chance.choice([-1, -1, *self.numa[:2]]))
            entries.append(
                {
                    "PodUID": uid,
                    "ContainerName": name,
                    "ResourceName": self.chance.choice(RESOURCES),
                    "DeviceIDs": {key: ids},
                    "AllocResp": self.chance.choice(["CgYKAUsSAVY=", "", "CgYKAUsSAVY="]),
                }
            )
        entries = list({(e["PodUID"], e["ContainerName"], e["ResourceName"]): e for e in entries}.values())
        registered: Plain = {resource: [] for resource in self.some(RESOURCES, 3)}
        self.say(
            "put-checkpoint",
            entries=entries,
            registered=registered,
            off=1 if self.likely(10) else 0,
            foreign=self.likely(10),
        )

    def admit(self) -> None:
        uid = f"u{len(self.pods) + 1}"
        self.pods[uid] = self.pod(uid)
        self.say("admit", pod=self.pods[uid])
        if self.likely(30):
            self.container_step(uid)

    def again(self) -> None:
        """A pod is admitted again, as after a restart; seldom with other amounts."""
        if not self.pods:
            return
        uid = self.chance.choice(list(self.pods))
        if self.likely(12):
            self.pods[uid] = self.pod(uid)
        self.say("admit", pod=self.pods[uid])

    def container_step(self, uid: str = "") -> None:
        if self.pods:
            uid = uid or self.chance.choice(list(self.pods))
            self.say("container", pod=uid, container=self.chance.choice(self.containers(uid)))

    def remove(self) -> None:
        if self.pods:
            self.say("remove-if-active", pod=self.chance.choice(list(self.pods)))

    def advance(self) -> None:
        self.say("advance", seconds=self.chance.choice(_ADVANCES))


def generated(seed: int) -> Plain:
    """The story of a seed, as a file of stories has it."""
    chance = random.Random(seed)  # noqa: S311 - nothing here is a secret
    numa = list(chance.choice(_MACHINES))
    node: Plain = {
        "numa": numa,
        "policy": chance.choice(_POLICIES),
        "scope": chance.choice(["container", "container", "pod"]),
    }
    if node["policy"] != "none" and chance.random() < 0.3:
        node["options"] = {"prefer-closest-numa-nodes": "true"}
    shared = [part for part in ("env", "mount", "annotation") if chance.random() < 0.3]
    teller = _Teller(chance, numa, shared)
    resources = chance.sample(RESOURCES, chance.choice([1, 1, 2, 2, 3]))
    for number, resource in enumerate([*resources, *([resources[0]] if teller.likely(15) else [])]):
        teller.parts[f"p{number}"] = _Part(teller.script(resource, f"p{number}"))
    plugins = {name: part.script for name, part in teller.parts.items()}
    for name in list(plugins):
        if teller.likely(85):
            teller.say("register", plugin=name)
            teller.parts[name].is_serving, teller.parts[name].streams = True, 1
    weighted: Mapping[Callable[[], None], int] = {
        teller.admit: 30,
        teller.again: 6,
        teller.container_step: 10,
        teller.update: 14,
        teller.set: 4,
        teller.register: 5,
        teller.register_as: 1,
        teller.stop: 3,
        teller.drop: 3,
        teller.restart: 5,
        teller.remove: 9,
        teller.advance: 4,
        (lambda: teller.say("reclaim")): 3,
        (lambda: teller.say("capacity")): 8,
    }
    for _ in range(chance.randint(5, 30)):
        chance.choices(list(weighted), list(weighted.values()))[0]()
        teller.look()
    return {"name": f"seed-{seed}", "node": node, "plugins": plugins, "steps": teller.steps}
