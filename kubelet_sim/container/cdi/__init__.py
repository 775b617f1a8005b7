"""The Container Device Interface, version 1.1.0: spec files, which of them counts for a name, and the edits they ask for.

It knows nothing of kubelets and plugins: a name goes in, changes to an OCI runtime configuration come out.
"""
