"""A device plugin that grants by an environment variable, as the NVIDIA plugin does. See README.md beside this file."""
