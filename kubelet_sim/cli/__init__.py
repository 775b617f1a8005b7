"""The command line: parse, call the library once, render. Commands import what they need when they run.

So `--help` answers at once, and without gRPC. Exit codes: 0 clean, 1 findings, 2 misuse, 3 could not run.
"""
