"""The only room that knows gRPC and protobuf: bytes on sockets to values of the model, and back.

`plugin_client` and `registration_server` fit the ports of `kubelet_sim.node`; `messages` translates, `status` names errors.
"""
