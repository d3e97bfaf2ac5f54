"""Mean of several packed weight files."""
import sys

from safetensors.torch import load_file, save_file

from .net import pack, unpack

if __name__ == "__main__":
    parts = [unpack(load_file(p)) for p in sys.argv[2:]]
    save_file({k: v.contiguous() for k, v in pack({k: sum(p[k] for p in parts) / len(parts) for k in parts[0]}).items()}, sys.argv[1])
