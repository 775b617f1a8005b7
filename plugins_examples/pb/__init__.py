"""The device plugin API as these plugins speak it: `api.proto` and what protoc makes of it.

Everything but `api.proto` is generated (`tools/generate_example_stubs.py`). The messages live in protobuf's default
pool, as those of any plugin do.
"""
