"""The checkpoint file (CP-1…CP-19).

Its specification marks no single rule: run means that recorded vectors, or a rule of the device manager, show it.
"""

# fmt: off
# A table: a rule, its sentence and its source are read together, so the formatter keeps out.

from __future__ import annotations

from kubelet_sim.rules.rule import RuleEntry, derived, run

RULES: tuple[RuleEntry, ...] = (
    run("CP-1",
        "The checkpoint lies in the device-plugin directory under a fixed name.",
        "DM/types.go",
        note="as DM-135"),
    run("CP-2",
        "It is written after each list, after a container's successful allocation and after a deletion, never because "
        "a pod ended.",
        "DM/manager.go#writeCheckpoint",
        note="as DM-136"),
    run("CP-3",
        "A hidden temporary file is synced and renamed over the target; an error matters to a pod's admission only.",
        "KL/util/store/filestore.go; KL/checkpointmanager/checkpoint_manager.go#CreateCheckpoint",
        note="as DM-135, DM-136"),
    run("CP-4",
        "Cleaning keeps the checkpoint, and any visible entry of the directory tells that the node is not new.",
        "DM/manager.go#CleanupPluginDirectory,ShouldResetExtendedResourceCapacity",
        note="as DM-8, DM-68"),
    run("CP-5",
        "The file is one compact JSON object whose members stand in a fixed order.",
        "DM/checkpoint/checkpoint.go",
        note="by vectors"),
    run("CP-6",
        "It holds an entry per allocation that has a response, `null` without any, and the healthy ids of each "
        "registered resource.",
        "DM/manager.go#writeCheckpoint; DM/pod_devices.go#toCheckpointData",
        note="as DM-138"),
    run("CP-7",
        "Strings are escaped as Go's encoder does: `<`, `>`, `&` and two line separators as well, other non-ASCII raw.",
        "DM/checkpoint/checkpoint.go",
        note="by vectors"),
    run("CP-8",
        "Object keys are sorted by their bytes, node ids too: as strings.",
        "DM/checkpoint/checkpoint.go",
        note="by vectors"),
    run("CP-9",
        "The checksum is 32-bit FNV-1a over the dump of the data, without itself.",
        "KL/checkpointmanager/checksum/checksum.go; pkg/util/hash/hash.go#DeepHashObject",
        note="by vectors"),
    run("CP-10",
        "The dump names types at fields only, writes strings raw, sorts maps, with node ids as numbers, and keeps nil "
        "and empty apart.",
        "pkg/util/hash/hash.go#DeepHashObject; k8s.io/utils/dump#ForHash",
        note="by vectors"),
    run("CP-11",
        "Verification hashes what was decoded, so the file's spelling does not matter unless decoding changes a value.",
        "KL/checkpointmanager/checksum/checksum.go",
        note="by vectors"),
    run("CP-12",
        "Decoding follows Go: missing members are empty, nulls nil, names match in any case, wrong types are errors.",
        "DM/checkpoint/checkpoint.go; DM/manager.go#getCheckpoint",
        note="by vectors"),
    run("CP-13",
        "A stored checksum that differs from the computed one makes the file corrupt.",
        "KL/checkpointmanager/checkpoint_manager.go#GetCheckpoint; KL/checkpointmanager/errors/errors.go",
        note="by vectors"),
    run("CP-14",
        "A missing file is an error with a text of its own.",
        "KL/checkpointmanager/errors/errors.go",
        note="as DM-141"),
    run("CP-15",
        "A restore happens once, before listening: all that is readable or nothing, and the start goes on either way.",
        "DM/manager.go#readCheckpoint; DM/pod_devices.go#fromCheckpointData",
        note="as DM-143, DM-145"),
    run("CP-16",
        "A resource found in entries alone is known as allocated, not as registered.",
        "DM/manager.go#readCheckpoint",
        note="as DM-145"),
    run("CP-17",
        "Restored pods that are gone are reclaimed as any other, once sources are ready.",
        "DM/manager.go#UpdateAllocatedDevices",
        note="as DM-118"),
    derived("CP-18",
        "Files pass between real and emulated kubelets as long as each response is a serialized one, whatever its byte"
        " order.",
        "DM/checkpoint/checkpoint.go; API/deviceplugin/v1beta1/api.proto"),
    derived("CP-19",
        "A writer may choose any order, provided that it hashes the order it writes.",
        "DM/checkpoint/checkpoint.go"),
)
