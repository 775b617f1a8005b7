"""What a kubelet process serves and watches besides Register: pod resources, metrics, health, plugin watcher."""
