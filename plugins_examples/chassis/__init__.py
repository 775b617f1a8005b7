"""What every device plugin here needs and none is about: the life beside a kubelet, the socket, the command line.

A plugin of its own is a `Plugin` (`plugin.py`) and a few options; the rest of a process around it is made of this:

- `devices`: devices, their health, and a list that tells its readers when it has changed
- `sockets`: how a socket is named, found and told from another one at the same path
- `plugin`: what an example has to say for itself
- `service`: the gRPC service and the socket on which it is served
- `lifecycle`: wait for a kubelet, serve, register, watch for a restart, begin again
- `options`, `process`: the command line, and a process that ends cleanly at SIGTERM
"""
