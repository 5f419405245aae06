"""Which machines of EC2 stand behind the shapes: only data.

Prices are not here: they differ by region and change, and come in from outside.
"""

from typing import NamedTuple

VCPUS = {"xs": 4, "small": 8, "medium": 16, "large": 32, "xlarge": 64}

TYPE_SIZES = {4: "xlarge", 8: "2xlarge", 16: "4xlarge", 32: "8xlarge", 64: "16xlarge"}
"""What EC2 calls a machine with so many vCPUs; the same in all generations below."""

GIB_PER_VCPU = {"compute": 2, "general": 4, "memory": 8}

BY_FAMILY = {
    ("compute", "amd64"): ("c7i", "c6i", "c7a"),
    ("compute", "arm64"): ("c7g", "c6g", "c8g"),
    ("general", "amd64"): ("m7i", "m6i", "m7a"),
    ("general", "arm64"): ("m7g", "m6g", "m8g"),
    ("memory", "amd64"): ("r7i", "r6i", "r7a"),
    ("memory", "arm64"): ("r7g", "r6g", "r8g"),
}
"""Generations, the one to prefer first where prices are not known."""


class GpuMachine(NamedTuple):
    model: str
    gpus: int
    type: str
    vcpus: int
    memory_gib: int


GPU_MACHINES = (
    GpuMachine("t4", 1, "g4dn.xlarge", 4, 16),
    GpuMachine("t4", 4, "g4dn.12xlarge", 48, 192),
    GpuMachine("t4", 8, "g4dn.metal", 96, 384),
    GpuMachine("a10g", 1, "g5.xlarge", 4, 16),
    GpuMachine("a10g", 4, "g5.12xlarge", 48, 192),
    GpuMachine("a10g", 8, "g5.48xlarge", 192, 768),
    GpuMachine("l4", 1, "g6.xlarge", 4, 16),
    GpuMachine("l4", 4, "g6.12xlarge", 48, 192),
    GpuMachine("l4", 8, "g6.48xlarge", 192, 768),
    GpuMachine("l40s", 1, "g6e.xlarge", 4, 32),
    GpuMachine("l40s", 4, "g6e.12xlarge", 48, 384),
    GpuMachine("l40s", 8, "g6e.48xlarge", 192, 1536),
    GpuMachine("a100", 8, "p4d.24xlarge", 96, 1152),
    GpuMachine("a100-80gb", 8, "p4de.24xlarge", 96, 1152),
    GpuMachine("h100", 1, "p5.4xlarge", 16, 256),
    GpuMachine("h100", 8, "p5.48xlarge", 192, 2048),
    GpuMachine("h200", 8, "p5en.48xlarge", 192, 2048),
    GpuMachine("b200", 8, "p6-b200.48xlarge", 192, 2048),
)
"""The smallest machine with that number of that model."""
