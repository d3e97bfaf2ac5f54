"""Blends as data: one TOML file each. The mechanism is `quintet.core.blend`."""
