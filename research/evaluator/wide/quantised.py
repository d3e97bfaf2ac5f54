"""The teacher's weights out of raw Q4_K / Q6_K bytes, on whatever device."""

import json
import numpy as np, torch


def q4k(raw, shape):
    b = raw.view(-1, 144)
    d = b[:, 0:2].contiguous().view(torch.float16).float()
    m = b[:, 2:4].contiguous().view(torch.float16).float()
    s = b[:, 4:16].to(torch.int32)
    sc = torch.cat([s[:, 0:4] & 63, (s[:, 8:12] & 15) | ((s[:, 0:4] >> 6) << 4)], 1)
    mn = torch.cat([s[:, 4:8] & 63, (s[:, 8:12] >> 4) | ((s[:, 4:8] >> 6) << 4)], 1)
    q = b[:, 16:].reshape(-1, 4, 1, 32)
    q = torch.cat([q & 15, q >> 4], 2).reshape(-1, 8, 32).float()
    return ((d * sc.float())[..., None] * q - (m * mn.float())[..., None]).reshape(shape)


def q6k(raw, shape):
    b = raw.view(-1, 210)
    ql, qh = b[:, :128].reshape(-1, 2, 1, 64), b[:, 128:192].reshape(-1, 2, 1, 32)
    sc = b[:, 192:208].contiguous().view(torch.int8).float()
    d = b[:, 208:210].contiguous().view(torch.float16).float()
    low = torch.cat([ql & 15, ql >> 4], 2).reshape(-1, 8, 32).to(torch.int32)
    high = torch.cat([(qh >> k) & 3 for k in (0, 2, 4, 6)], 2).reshape(-1, 8, 32).to(torch.int32)
    q = (low | (high << 4)) - 32
    return ((d * sc)[..., None] * q.reshape(-1, 16, 16).float()).reshape(shape)


NAMES = {
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_output": "o",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
    "attn_norm": "n1",
    "ffn_norm": "n2",
}
TOP = {"token_embd.weight": "emb.weight", "output.weight": "out.weight", "output_norm.weight": "norm.weight"}


def weights(head, blob, device="cpu", only=None):
    told = json.load(open(head))
    raw = np.memmap(blob, np.uint8, "r")
    out = {}
    for name, (kind, shape, at, size) in told.items():
        if name in TOP:
            own = TOP[name]
        else:
            _, number, part, what = name.split(".")
            own = f"blocks.{number}.{NAMES[part]}.{what}"
        if only and not only(own):
            continue
        data = torch.from_numpy(np.array(raw[at : at + size])).to(device)
        out[own] = (data.view(torch.float32).reshape(shape) if kind == "F32" else {"Q4_K": q4k, "Q6_K": q6k}[kind](data, shape)).clone()
    return out
