"""What people and machines read of a run: each module makes one form of the values in `kubelet_sim.conformance.verdict`."""
