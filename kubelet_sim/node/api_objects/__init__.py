"""What the API server knows of this node: its pods, their statuses, events and the node object."""
