"""The device manager towards a plugin: directory, start, Register, connection, lists (DM-1…DM-61)."""

# fmt: off
# A table: a rule, its sentence and its source are read together, so the formatter keeps out.

from __future__ import annotations

from kubelet_sim.rules.rule import RuleEntry, derived, read, run

RULES: tuple[RuleEntry, ...] = (
    read("DM-1",
        "Where plugins register is compiled in; the kubelet's root directory option does not move it.",
        "DM/manager.go#NewManagerImpl; API/deviceplugin/v1beta1/constants.go"),
    run("DM-2",
        "The directory gets mode 0755 less the umask when the manager is built; the 0750 asked for later never takes "
        "effect, and one that exists keeps its mode.",
        "DM/manager.go#newManagerImpl; KL/util/store/filestore.go#NewFileStore; V1/server.go#Start"),
    run("DM-3",
        "A registration socket path that is empty or relative stops the construction with an error that quotes it.",
        "V1/server.go#NewServer; V1/api.go; DM/manager.go#newManagerImpl"),
    read("DM-4",
        "On a host with SELinux the directory, and nothing inside it, is labelled for containers; failing to do so is "
        "only logged.",
        "V1/server.go#Start; KL/kubeletconfig/defaults.go"),
    derived("DM-5",
        "The manager starts once per process, as soon as the runtime first reports ready, and before any pod can be "
        "admitted.",
        "KL/kubelet.go#updateRuntimeUp,initializeRuntimeDependentModules,syncLoop; CM/container_manager_linux.go#Start"),
    run("DM-6",
        "Starting goes: container snapshot, checkpoint, directory, label, cleaning, listening, serving.",
        "CM/container_manager_linux.go#Start; CM/helpers.go#buildContainerMapAndRunningSetFromRuntime; "
        "DM/manager.go#Start; V1/server.go#Start",
        note="steps 2, 5, 6, 7"),
    read("DM-7",
        "The snapshot holds each container whose sandbox is listed, and calls running only those in the running state;"
        " failing list calls leave it empty.",
        "CM/helpers.go#buildContainerMapAndRunningSetFromRuntime"),
    run("DM-8",
        "Cleaning removes direct entries that are sockets once links are followed, spares the checkpoint's name, and "
        "leaves all else.",
        "DM/manager.go#CleanupPluginDirectory"),
    run("DM-9",
        "A directory that cannot be made or listed, a socket that cannot be removed, or a failing bind ends the "
        "kubelet with status 1.",
        "V1/server.go#Start; DM/manager.go#CleanupPluginDirectory,Start; "
        "KL/kubelet.go#initializeRuntimeDependentModules",
        note="the start's errors"),
    run("DM-10",
        "Nobody sets the registration socket's mode: it is 0777 less the umask.",
        "V1/server.go#Start"),
    run("DM-11",
        "The socket offers plain gRPC with exactly one service of one method, Register; anything else is "
        "Unimplemented.",
        "V1/server.go#Start"),
    run("DM-12",
        "When serving breaks, it is not taken up again: the health check fails, while plugins already connected stay "
        "usable.",
        "V1/server.go#Start,Check,setUnhealthy; KL/server/server.go",
        note="the check itself"),
    run("DM-13",
        "Deleting a socket file, the kubelet's or a plugin's, is not noticed and cuts no connection that exists.",
        "V1/server.go; V1/client.go"),
    run("DM-14",
        "An orderly stop disconnects every client and takes the socket file away, yet a kubelet that exits never "
        "performs it.",
        "V1/server.go#Stop",
        note="the operation"),
    run("DM-15",
        "No DEPRECATION file is created, and one that lies there is left.",
        "V1/handler.go#GetPluginHandler; DM/manager.go#GetWatcherHandler; V1/stub.go#Register",
        note="no file appears, one that is there stays"),
    run("DM-16",
        "A kubelet that ends says nothing to its plugins: connections close, calls are cancelled, and all files "
        "remain.",
        "DM-14"),
    run("DM-17",
        "A kubelet that starts removes the plugins' sockets, makes its own anew, and leaves it to the plugins to come "
        "back.",
        "DM/manager.go#CleanupPluginDirectory; V1/server.go#Start; DM/manager.go#readCheckpoint",
        note="the files, not the events"),
    run("DM-18",
        "A plugin's socket outside the directory, or in a sub-directory of it, survives the restart; registering again"
        " is enough.",
        "DM-8; DM-25"),
    run("DM-19",
        "From the start until a plugin's first list, each resource of the checkpoint counts as registered with no "
        "devices.",
        "DM/manager.go#readCheckpoint,GetCapacity,devicesToAllocate"),
    run("DM-20",
        "Registration is served from the first moment the socket accepts, admissions in progress or not.",
        "V1/server.go#Start,Register"),
    run("DM-21",
        "Register logs, counts, checks the version, checks the name, connects, answers; the first failure ends it, and"
        " refused calls were counted too.",
        "V1/server.go#Register"),
    run("DM-22",
        "Only the version string `v1beta1`, to the letter, is taken; the refusal quotes what was sent.",
        "V1/server.go#Register,isVersionCompatibleWithPlugin; V1/api.go"),
    run("DM-23",
        "A resource name that is no extended resource name is refused with a text that quotes it.",
        "V1/server.go#Register; V1/api.go"),
    run("DM-24",
        "An extended resource name has a domain of at most 244 bytes and a name of at most 63, and contains no "
        "`kubernetes.io/` anywhere.",
        "pkg/apis/core/v1/helper/helpers.go#IsExtendedResourceName,IsNativeResource,IsPrefixedNativeResource; "
        "staging/src/k8s.io/apimachinery/pkg/api/validate/content/kube.go#IsLabelKey; "
        "staging/src/k8s.io/apimachinery/pkg/api/validate/content/dns.go#IsDNS1123Subdomain"),
    run("DM-25",
        "The socket name is joined to the directory and cleaned: absolute paths are appended, and `..` leads out of "
        "it.",
        "V1/server.go#Register"),
    run("DM-26",
        "Connecting replaces the client, dials, reads the options, replaces the endpoint, starts the list; a failure "
        "drops the client entry, whosever it is.",
        "V1/handler.go#connectClient,registerClient,deregisterClient; V1/client.go#Connect; "
        "DM/manager.go#PluginConnected"),
    run("DM-27",
        "The plugin has to serve, and to answer the options call, while its own Register call is still open.",
        "V1/handler.go#connectClient"),
    run("DM-28",
        "Options count as answered by GetDevicePluginOptions at registration; those of the Register request are never "
        "looked at.",
        "DM/manager.go#PluginConnected; V1/server.go#Register"),
    run("DM-29",
        "Each refusal of Register carries the code Unknown and one of a closed list of texts.",
        "V1/server.go#Register; V1/client.go#dial; DM/manager.go#PluginConnected"),
    run("DM-30",
        "The Register caller's deadline and departure cut short the dial and the options call, but never the list "
        "stream.",
        "V1/client.go#Connect,Run,dial; DM/manager.go#PluginConnected"),
    run("DM-31",
        "A name may be registered again by anyone at any time, and the calls go to whoever succeeded last.",
        "V1/handler.go#connectClient; DM/manager.go#PluginConnected"),
    run("DM-32",
        "A new registration leaves the older stream running, and lists from either replace the resource's state.",
        "V1/handler.go#registerClient; V1/client.go#Run; DM/manager.go#PluginListAndWatchReceiver"),
    run("DM-33",
        "When an older stream ends, the newest client of that name is the one that gets disconnected.",
        "V1/handler.go#runClient,getClient,disconnectClient; #135437; #121994"),
    run("DM-34",
        "A plugin that ends its stream before it registers anew is disconnected cleanly and starts fresh.",
        "V1/handler.go#runClient"),
    run("DM-35",
        "A failed registration beside a live client hides that client: when its stream ends, its devices stay healthy "
        "and its endpoint live.",
        "V1/handler.go#connectClient,runClient"),
    run("DM-36",
        "A connection whose options call failed, or whose client was replaced, is never closed by the kubelet.",
        "V1/handler.go#connectClient"),
    run("DM-37",
        "Each registration has its own connection, options call and list stream, also for several resources on one "
        "socket.",
        "V1/handler.go#connectClient; API/deviceplugin/v1beta1/api.proto"),
    run("DM-38",
        "Registrations overlap freely: for one name, the client entry and the endpoint can end up with different "
        "winners.",
        "V1/handler.go#connectClient"),
    run("DM-39",
        "A plugin that does not answer delays only its own Register call.",
        "V1/client.go#Connect; DM/manager.go#PluginConnected"),
    run("DM-40",
        "Dialling tries again with back-off for up to 10 s until HTTP/2 is ready, and each failure reads as an "
        "exceeded deadline.",
        "V1/client.go#dial"),
    run("DM-41",
        "Of all calls to a plugin only PreStartContainer has a deadline of the kubelet's, 30 s; no call gives devices "
        "back.",
        "DM/endpoint.go; V1/client.go#Run; API/deviceplugin/v1beta1/api.proto",
        note="deadlines"),
    run("DM-42",
        "The list stream is read until its first end or error of any kind, and then neither retried nor reconnected.",
        "V1/client.go#Run; V1/handler.go#runClient"),
    run("DM-43",
        "A silent stream counts as healthy for ever; there is no keep-alive.",
        "V1/client.go#Run,dial"),
    run("DM-44",
        "Disconnecting removes the client, closes its connection with the calls on it, makes all devices unhealthy and"
        " sets the stop time.",
        "V1/handler.go#disconnectClient; V1/client.go#Disconnect; "
        "DM/manager.go#PluginDisconnected,markResourceUnhealthy"),
    run("DM-45",
        "An endpoint's stop time is set by a disconnect (again by a later one) and by a restart; a successful "
        "registration clears it.",
        "DM/manager.go#PluginDisconnected,PluginConnected,readCheckpoint; DM/endpoint.go",
        note="all but the repeated disconnect"),
    run("DM-46",
        "Calls through a stopped endpoint fail without reaching the plugin, with a text that ends in `has been "
        "stopped`.",
        "DM/endpoint.go#allocate,getPreferredAllocation,preStartContainer; DM/types.go"),
    run("DM-47",
        "Endpoints go only in a node status computation after the grace period; then the checkpoint is written.",
        "DM/manager.go#GetCapacity"),
    run("DM-48",
        "A plugin back within the grace period is live at once, but its devices stay unhealthy until its first list.",
        "DM/manager.go#PluginConnected,genericDeviceUpdateCallback"),
    run("DM-49",
        "A plugin back after removal has no capacity until its first list, and its resource may still be refused as "
        "unregistered.",
        "DM/manager.go#PluginConnected,genericDeviceUpdateCallback"),
    run("DM-50",
        "Before the first list of a first registration the resource is unknown to capacity and to admission; a stream "
        "that fails then leaves zeros.",
        "DM/manager.go#PluginConnected,markResourceUnhealthy,GetCapacity,isDevicePluginResource; "
        "test/e2e_node/device_plugin_failures_test.go"),
    run("DM-51",
        "Every list is the whole state of its resource and replaces what was known.",
        "DM/manager.go#genericDeviceUpdateCallback"),
    run("DM-52",
        "Only the health string `Healthy`, to the letter, means healthy; the string is kept as sent.",
        "DM/manager.go#genericDeviceUpdateCallback"),
    run("DM-53",
        "Of an id listed twice the last entry is kept, while its healthy and its unhealthy mention each count.",
        "DM/manager.go#genericDeviceUpdateCallback,GetCapacity"),
    run("DM-54",
        "An empty list keeps the resource registered, with no devices.",
        "DM/manager.go#genericDeviceUpdateCallback"),
    run("DM-55",
        "Ids are opaque: neither length, content nor uniqueness across resources is checked.",
        "DM/manager.go#genericDeviceUpdateCallback; API/deviceplugin/v1beta1/api.proto"),
    run("DM-56",
        "A device may name any nodes or none; they are unchecked, and recorded allocations keep those of their time.",
        "DM/topology_hints.go#deviceHasTopologyAlignment,deviceNUMANodes; DM/manager.go#allocateContainerResources; "
        "TM/bitmask/bitmask.go#IsSet"),
    run("DM-57",
        "A list changes no allocation, stops no container and causes no call: a lost device stays with its pod.",
        "DM/manager.go#genericDeviceUpdateCallback; test/e2e_node/device_plugin_failures_test.go",
        note="the manager's tables and RPCs"),
    run("DM-58",
        "A device that vanished while allocated leaves capacity, and on its return is still in use.",
        "DM/manager.go#devicesToAllocate"),
    run("DM-59",
        "Recording or hinting a device that is listed no more crashes the real kubelet since 1.34.",
        "DM/manager.go#allocateContainerResources; DM/topology_hints.go#generateDeviceTopologyHints"),
    run("DM-60",
        "After a list: queue affected pods, write the checkpoint, log; only then is the next one read.",
        "DM/manager.go#genericDeviceUpdateCallback; V1/client.go#Run"),
    run("DM-61",
        "Lists from streams that are no longer current count, and can bring back a removed resource without an "
        "endpoint.",
        "DM/manager.go#PluginListAndWatchReceiver"),
)
