"""Generated messages, in a descriptor pool of their own. Made by `tools/generate_protos.py` from `protos/`."""
