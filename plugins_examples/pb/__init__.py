"""The kubelet's APIs as these plugins speak them: `api.proto`, `registration.proto`, and what protoc makes of them.

Everything but these two is generated (`tools/generate_example_stubs.py`). The messages live in protobuf's default
pool, as those of any plugin do.
"""
