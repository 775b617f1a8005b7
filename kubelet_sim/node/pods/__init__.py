"""What a kubelet does with its pods, and the simulated runtime that runs their containers."""
