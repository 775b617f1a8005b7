"""`python -m kubelet_sim`: the same as the command `kubelet-sim`."""

from __future__ import annotations

from kubelet_sim.cli.entry import main

if __name__ == "__main__":
    main()
