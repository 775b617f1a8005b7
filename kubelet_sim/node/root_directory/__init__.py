"""The root directory of a node, and the files in it."""
