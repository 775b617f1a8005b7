"""The whole kubelet as far as it decides: facts in, walks out; admission, node status, pods that are active."""
