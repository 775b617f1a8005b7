"""The device manager: it decides, and touches nothing.

No socket, clock, thread, lock or chance is imported here. Facts go in (`Kubelet.apply`), walks are advanced from
outside, effects come out; see `docs/explanation/architecture.md`.
"""
