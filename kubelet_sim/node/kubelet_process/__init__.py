"""One kubelet process after the other: how each is put together, runs, and ends."""
