"""The values that all rooms speak in: frozen, without behaviour beyond what their fields say, ready to be compared."""
