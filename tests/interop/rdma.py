"""A machine without hardware as the plugin for shared RDMA devices looks at one, and a card that can be put into it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

RDMA_SHARES = 3
"""How many share the card."""
RDMA_NODES = tuple(f"/dev/infiniband/{name}" for name in ("issm0", "rdma_cm", "uverbs0", "umad0"))
"""What a container gets of it."""


@frozen
class RdmaMachine:
    """The directories that such a plugin is shown instead of the host's, below one of ours."""

    root: Path

    @classmethod
    def made(cls, root: Path) -> RdmaMachine:
        """One without a card, and the plugin's configuration: it looks for changes every second."""
        for name in ("pci", "class", "dev"):
            (root / name).mkdir(parents=True)
        names = (
            "15b3  Mellanox Technologies\n\t1017  MT27800 Family\nC 02  Network controller\n\t00  Ethernet controller\n"
        )
        (root / "pci.ids").write_text(names, encoding="utf-8")
        pool = {"resourceName": "hca", "rdmaHcaMax": RDMA_SHARES, "selectors": {"ifNames": ["lo"]}}
        config = {"periodicUpdateInterval": 1, "configList": [pool]}
        (root / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return cls(root)

    @property
    def config(self) -> str:
        """The path of the plugin's configuration."""
        return str(self.root / "config.json")

    @property
    def shown(self) -> Mapping[str, Path]:
        """Our directories by the path where the plugin sees them."""
        return {"/sys/bus/pci/devices": self.root / "pci", "/sys/class": self.root / "class", "/dev": self.root / "dev"}

    @property
    def environment(self) -> Mapping[str, str]:
        """The plugin's variables."""
        return {"PCIDB_PATH": str(self.root / "pci.ids")}

    def put_card(self) -> Path:
        """Put a network card in; returns the file without which it can do no RDMA."""
        slot = self.root / "pci" / "0000:03:00.0"
        (slot / "net" / "lo").mkdir(parents=True)
        (slot / "infiniband" / "mlx5_0").mkdir(parents=True)
        (slot / "modalias").write_text("pci:v000015B3d00001017sv000015B3sd00000020bc02sc00i00\n", encoding="utf-8")
        (slot / "driver").symlink_to("/sys/bus/pci/drivers/mlx5_core")
        for place in ("infiniband_mad/issm0", "infiniband_mad/umad0", "infiniband_verbs/uverbs0"):
            (self.root / "class" / place).mkdir(parents=True)
            (self.root / "class" / place / "ibdev").write_text("mlx5_0\n", encoding="utf-8")
        (self.root / "dev" / "infiniband").mkdir()
        (self.root / "dev" / "infiniband" / "rdma_cm").touch()
        return self.root / "class" / "infiniband_verbs" / "uverbs0" / "ibdev"
