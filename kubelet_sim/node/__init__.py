"""Where the world comes in: driver, clock, files, sockets and simulated containers around the core."""
