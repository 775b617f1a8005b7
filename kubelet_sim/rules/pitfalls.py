"""What a re-implementation easily gets wrong, and the rules that say how it is (DM-182…DM-221).

Mark and status follow the rules pointed at.
"""

# fmt: off
# A table, one record a line, so the formatter keeps out.

from __future__ import annotations

from kubelet_sim.rules.rule import RuleEntry, pitfall

RULES: tuple[RuleEntry, ...] = (
    pitfall("DM-182", "Counting accepted Register calls only.", "DM-21"),
    pitfall("DM-183", "Answering Register with a code that says more than Unknown.", "DM-29"),
    pitfall("DM-184", "Taking the socket name for a path, or refusing `..` in it.", "DM-25"),
    pitfall("DM-185", "Refusing one domain instead of a substring, and allowing it 253 bytes.", "DM-24"),
    pitfall("DM-186", "Believing the options of the Register request.", "DM-28"),
    pitfall("DM-187", "Answering Register before connecting, or only after the first list.", "DM-27"),
    pitfall("DM-188", "Closing the old connection at a new registration, or forgetting what the old stream's end does.",
            "DM-32", "DM-33"),
    pitfall("DM-189", "Reconnecting after a stream's end, or taking an orderly end for harmless.", "DM-42"),
    pitfall("DM-190", "Merging lists, or reading health without regard to case.", "DM-51", "DM-52"),
    pitfall("DM-191", "Counting allocated devices out of allocatable.", "DM-62"),
    pitfall("DM-192", "Dropping a lost plugin's resource from the node.", "DM-66", "DM-69"),
    pitfall("DM-193", "Ending the grace period by a timer, or not starting it anew at a restart.", "DM-45", "DM-47"),
    pitfall("DM-194", "Showing new devices on the node at once.", "DM-65"),
    pitfall("DM-195", "Running the node predicate before Allocate.", "DM-72"),
    pitfall("DM-196", "Refusing a pod because nobody knows its resource.", "DM-81"),
    pitfall("DM-197", "Skipping a zero limit at admission.", "DM-84"),
    pitfall("DM-198", "Naming the whole request in a shortage, not what is still needed.", "DM-90"),
    pitfall("DM-199", "Handling init containers' devices as exclusive, or giving app containers new ones beside them.",
            "DM-86", "DM-87"),
    pitfall("DM-200", "Asking for a preference always, or never without a choice, or with what remains as its size.",
            "DM-93", "DM-94"),
    pitfall("DM-201", "Failing on a bad preference instead of completing it.", "DM-95", "DM-96"),
    pitfall("DM-202", "Calling Allocate per pod or per device, or with a deadline.", "DM-98"),
    pitfall("DM-203", "Undoing after a failure, telling the plugin, or freeing by timer or container exit.",
            "DM-101", "DM-115"),
    pitfall("DM-204", "Holding on to ids that the kubelet leaks.", "DM-102"),
    pitfall("DM-205", "Calling Allocate at a container restart, or PreStartContainer once per pod.",
            "DM-103", "DM-107"),
    pitfall("DM-206", "Calling PreStartContainer after a restart before the plugin is back.", "DM-105"),
    pitfall("DM-207", "Refusing the pod when PreStartContainer fails.", "DM-104"),
    pitfall("DM-208", "Letting every pod through at a restart: a finished init container that held devices can get it refused.",
            "DM-111"),
    pitfall("DM-209", "Calling Allocate for restored devices, or restoring lists from registered names.",
            "DM-112", "DM-145"),
    pitfall("DM-210", "Hashing JSON, or mixing up the two orders of node ids.", "DM-138", "DM-139"),
    pitfall("DM-211", "Stopping at a corrupt checkpoint, or deleting it.", "DM-143"),
    pitfall("DM-212", "Cleaning files and folders away, or sparing plugins' sockets.", "DM-8"),
    pitfall("DM-213", "Letting the pod's variable replace the plugin's, or expanding plugin variables in values.",
            "DM-128", "DM-129"),
    pitfall("DM-214", "Letting plugin annotations win over the kubelet's.", "DM-131"),
    pitfall("DM-215", "Sending CDI annotations from 1.32 on, or forgetting their key limit before.",
            "DM-132", "DM-133"),
    pitfall("DM-216", "Reporting a lost plugin's devices as unhealthy or unknown, or filling in init containers.",
            "DM-155", "DM-156"),
    pitfall("DM-217", "Moving the device-plugin directory with the root directory.", "DM-1"),
    pitfall("DM-218", "Making the directory with mode 0750.", "DM-2"),
    pitfall("DM-219", "Admitting in parallel, or preparing containers one after the other.", "DM-41", "DM-74"),
    pitfall("DM-220", "Freeing a deleted pod's devices before its containers stop, or keeping those of a vanished pod.",
            "DM-116"),
    pitfall("DM-221", "Relying on an order that the kubelet leaves open.",
            "DM-8", "DM-89", "DM-90", "DM-92", "DM-94", "DM-98", "DM-103", "DM-123", "DM-124", "DM-138"),
)
