"""A device plugin with one fault, chosen by name: what a conformance suite is tried on. See README.md beside this file."""
