"""The device manager: plugins, their devices, and which container holds which."""
