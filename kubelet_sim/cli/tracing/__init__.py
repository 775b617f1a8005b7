"""What `trace` shows: records picked by criteria, on lines, as a diagram, as a page; from a running node or from a file."""
