"""Device plugins as an outsider would write them: they know the kubelet's API and nothing of kubelet_sim."""
