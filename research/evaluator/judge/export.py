"""Write the encoder and the language model as ONNX graphs by hand, plain float32 or with weight-only quantised matrix products."""
from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto as TP, helper as H, numpy_helper as NH


class Graph:
    def __init__(s, bits=None, block=32, accuracy=1):
        s.nodes, s.init, s.n, s.bits, s.block, s.acc = [], [], 0, bits, block, accuracy

    def const(s, a, name=None):
        name = name or f"c{len(s.init)}"
        s.init.append(NH.from_array(np.array(a, order="C"), name)); return name

    def op(s, kind, ins, outs=1, domain="", **attr):
        s.n += 1; o = [f"t{s.n}_{i}" for i in range(outs)]
        s.nodes.append(H.make_node(kind, list(ins), o, domain=domain, **attr)); return o[0] if outs == 1 else o

    def name(s, tensor, name):
        s.nodes.append(H.make_node("Identity", [tensor], [name])); return name

    def i64(s, v):
        return s.const(np.array(v, np.int64))

    def linear(s, x, w, b=None, quant=True):
        """x @ w.T + b, w [out, in]."""
        if isinstance(w, dict):  # trained on its 4-bit grid: stored as it is
            q, z, d = (w[k] for k in "qzd"); o, n = q.shape[0], q.shape[1] * 2
            zp = np.ascontiguousarray(z[:, 0::2] | (z[:, 1::2] << 4)).reshape(-1)
            y = s.op("MatMulNBits", [x, s.const(q.reshape(o, n // 32, 16)), s.op("Cast", [s.const(d.astype(np.float16).reshape(-1))], to=TP.FLOAT), s.const(zp)],
                     domain="com.microsoft", K=n, N=o, bits=4, block_size=32, accuracy_level=s.acc)
        elif s.bits and quant:
            y = s.op("MatMulNBits", [x, *s.nbits(w)], domain="com.microsoft", K=w.shape[1], N=w.shape[0], bits=s.bits, block_size=s.block, accuracy_level=s.acc)
        else:
            y = s.op("MatMul", [x, s.const(w.T.astype(np.float32))])
        return s.op("Add", [y, s.const(b.astype(np.float32))]) if b is not None else y

    def nbits(s, w):
        o, i = w.shape; B = s.block; w = w.astype(np.float32).reshape(o, i // B, B)
        if s.bits == 8:  # symmetric around 128
            d = np.maximum(np.abs(w).max(-1, keepdims=True) / 127, 1e-8); q = np.clip(np.round(w / d) + 128, 1, 255).astype(np.uint8)
            return [s.const(q), s.const(d[..., 0].astype(np.float32).reshape(-1))]
        lo, hi = np.minimum(w.min(-1, keepdims=True), 0), np.maximum(w.max(-1, keepdims=True), 0)
        best = None
        for f in (1.0, 0.95, 0.9, 0.85):  # clip search per block
            d = np.maximum((hi - lo) * f / 15, 1e-8); z = np.clip(np.round(-lo * f / d), 0, 15); q = np.clip(np.round(w / d + z), 0, 15); e = ((w - (q - z) * d) ** 2).sum(-1, keepdims=True)
            if best is None:
                best = [e, q, d, z]
            else:
                m = e < best[0]; best = [np.where(m, a, b) for a, b in zip((e, q, d, z), best)]
        _, q, d, z = best
        q = q.astype(np.uint8); p = q[..., 0::2] | (q[..., 1::2] << 4); z = z[..., 0].astype(np.uint8)
        if z.shape[1] % 2:
            z = np.concatenate([z, np.zeros((o, 1), np.uint8)], 1)
        zp = (z[:, 0::2] | (z[:, 1::2] << 4)).reshape(-1)
        return [s.const(p), s.const(d[..., 0].astype(np.float32).reshape(-1)), s.const(zp)]

    def embed(s, ids, w, quant=True):
        if s.bits and quant:  # int8 row and scale
            d = np.maximum(np.abs(w).max(1, keepdims=True) / 127, 1e-8).astype(np.float32); q = np.clip(np.round(w / d), -127, 127).astype(np.int8)
            return s.op("Mul", [s.op("Cast", [s.op("Gather", [s.const(q), ids])], to=TP.FLOAT), s.op("Gather", [s.const(d), ids])])
        return s.op("Gather", [s.const(w.astype(np.float32)), ids])

    def norm(s, x, w, b, eps):
        return s.op("LayerNormalization", [x, s.const(w.astype(np.float32)), s.const(b.astype(np.float32))], axis=-1, epsilon=eps)

    def save(s, path, ins, outs):
        m = H.make_model(H.make_graph(s.nodes, "quintet", ins, outs, s.init), opset_imports=[H.make_opsetid("", 17), H.make_opsetid("com.microsoft", 1)], ir_version=9)
        onnx.save(m, path)


def encoder(sd, path, bits=None, block=32, accuracy=1, layers=12, heads=12):
    """Inputs ids, types, mask, output_mask (int64 [b, l]); outputs heads, nli (logits), words (logits), states, states9."""
    g = Graph(bits, block, accuracy); a = {k: np.asarray(v, np.float32) for k, v in sd.items()}; h = a["enc.word.weight"].shape[1]
    l = g.op("Gather", [g.op("Shape", ["ids"]), g.i64(1)]); pos = g.op("Unsqueeze", [g.op("Slice", [g.const(a["enc.pos.weight"]), g.i64([0]), g.op("Unsqueeze", [l, g.i64([0])]), g.i64([0])]), g.i64([0])])
    x = g.op("Add", [g.op("Add", [g.embed("ids", a["enc.word.weight"]), pos]), g.embed("types", a["enc.typ.weight"], False)])
    x = g.norm(x, a["enc.ln.weight"], a["enc.ln.bias"], 1e-12)
    m = g.op("Mul", [g.op("Sub", [g.const(np.float32(1)), g.op("Cast", [g.op("Unsqueeze", ["mask", g.i64([1, 2])])], to=TP.FLOAT)]), g.const(np.float32(-1e9))])
    hd = h // heads; four = g.i64([0, 0, heads, hd]); three = g.i64([0, 0, h])
    for i in range(layers):
        p = f"enc.layers.{i}."
        w, b = a[p + "qkv.weight"], a[p + "qkv.bias"]
        q, k, v = (g.op("Reshape", [g.linear(x, w[j * h:(j + 1) * h], b[j * h:(j + 1) * h]), four]) for j in range(3))
        q = g.op("Transpose", [q], perm=[0, 2, 1, 3]); k = g.op("Transpose", [k], perm=[0, 2, 3, 1]); v = g.op("Transpose", [v], perm=[0, 2, 1, 3])
        s = g.op("Softmax", [g.op("Add", [g.op("Mul", [g.op("MatMul", [q, k]), g.const(np.float32(hd ** -0.5))]), m])], axis=-1)
        c = g.op("Reshape", [g.op("Transpose", [g.op("MatMul", [s, v])], perm=[0, 2, 1, 3]), three])
        x = g.norm(g.op("Add", [x, g.linear(c, a[p + "o.weight"], a[p + "o.bias"])]), a[p + "ln1.weight"], a[p + "ln1.bias"], 1e-12)
        u = g.linear(x, a[p + "up.weight"], a[p + "up.bias"])
        u = g.op("Mul", [g.op("Mul", [u, g.const(np.float32(0.5))]), g.op("Add", [g.op("Erf", [g.op("Mul", [u, g.const(np.float32(2 ** -0.5))])]), g.const(np.float32(1))])])
        x = g.norm(g.op("Add", [x, g.linear(u, a[p + "down.weight"], a[p + "down.bias"])]), a[p + "ln2.weight"], a[p + "ln2.bias"], 1e-12)
        if i == 8:
            g.name(x, "states9")
    g.name(x, "states")
    om = g.op("Unsqueeze", [g.op("Cast", ["output_mask"], to=TP.FLOAT), g.i64([2])])
    mean = g.op("Div", [g.op("ReduceSum", [g.op("Mul", [x, om]), g.i64([1])], keepdims=0), g.op("Max", [g.op("ReduceSum", [om, g.i64([1])], keepdims=0), g.const(np.float32(1))])])
    first = g.op("Gather", [x, g.i64(0)], axis=1)
    p = g.op("Tanh", [g.linear(g.op("Concat", [first, mean], axis=-1), a["pool.weight"], a["pool.bias"], False)])
    g.name(g.linear(p, a["heads.weight"], a["heads.bias"], False), "heads"); g.name(g.linear(p, a["nli.weight"], a["nli.bias"], False), "nli")
    g.name(g.op("Squeeze", [g.linear(x, a["tok.weight"], a["tok.bias"], False), g.i64([2])]), "words")
    I = [H.make_tensor_value_info(n, TP.INT64, ["b", "l"]) for n in ("ids", "types", "mask", "output_mask")]
    O = [H.make_tensor_value_info("heads", TP.FLOAT, ["b", a["heads.weight"].shape[0]]), H.make_tensor_value_info("nli", TP.FLOAT, ["b", 3]), H.make_tensor_value_info("words", TP.FLOAT, ["b", "l"]),
         H.make_tensor_value_info("states", TP.FLOAT, ["b", "l", h]), H.make_tensor_value_info("states9", TP.FLOAT, ["b", "l", h])]
    g.save(path, I, O)


def language_model(sd, path, bits=4, block=32, accuracy=1, layers=30, heads=9, kv=3, theta=100000.0, eps=1e-5):
    """Inputs ids [b, l] and rows (int64 [n, 2]: batch, position of the state that predicts); target (int64 [n]); output logp [n]."""
    g = Graph(bits, block, accuracy); a = {}
    for k, v in sd.items():  # keys "name|part" hold the parts of a quantised tensor
        if "|" in k:
            a.setdefault(k.split("|")[0], {})[k.split("|")[1]] = np.asarray(v)
        else:
            a[k] = np.asarray(v, np.float32)
    E = a["emb.weight"]; h = 576; hd = h // heads
    if isinstance(E, dict):  # block-wise int8, shared by input and output
        o, i = E["q"].shape
        qn = g.const((E["q"].astype(np.int16) + 128).astype(np.uint8).reshape(o, i // 32, 32), "emb_q"); dn = g.op("Cast", [g.const(E["d"].astype(np.float16).reshape(-1), "emb_d")], to=TP.FLOAT)
        dv = g.op("Reshape", [dn, g.i64([o, i // 32, 1])])
        rows = g.op("Sub", [g.op("Cast", [g.op("Gather", [qn, "ids"])], to=TP.FLOAT), g.const(np.float32(128))])
        x = g.op("Reshape", [g.op("Mul", [rows, g.op("Gather", [dv, "ids"])]), g.i64([0, 0, h])])
    else:
        en = g.const(E, "emb"); x = g.op("Gather", [en, "ids"])
    rms = lambda x, w: g.op("SimplifiedLayerNormalization", [x, g.const(w)], axis=-1, epsilon=eps)
    l = g.op("Unsqueeze", [g.op("Gather", [g.op("Shape", ["ids"]), g.i64(1)]), g.i64([0])])
    inv = (1.0 / theta ** (np.arange(0, hd, 2, dtype=np.float64) / hd)).astype(np.float32)
    ar = g.op("Range", [g.i64(0), g.op("Squeeze", [l, g.i64([0])]), g.i64(1)])
    f = g.op("Mul", [g.op("Unsqueeze", [g.op("Cast", [ar], to=TP.FLOAT), g.i64([1])]), g.const(np.concatenate([inv, inv])[None])])
    ang, ang2 = g.op("Cos", [f]), g.op("Sin", [f])
    later = g.op("Greater", [g.op("Unsqueeze", [ar, g.i64([0])]), g.op("Unsqueeze", [ar, g.i64([1])])])
    mask = g.op("Where", [later, g.const(np.float32(-1e9)), g.const(np.float32(0))])

    def rot(x):
        p, q = g.op("Split", [x, g.i64([hd // 2, hd // 2])], 2, axis=-1)
        return g.op("Add", [g.op("Mul", [x, ang]), g.op("Mul", [g.op("Concat", [g.op("Neg", [q]), p], axis=-1), ang2])])
    r = heads // kv
    for i in range(layers):
        p = f"blocks.{i}."; y = rms(x, a[p + "n1.weight"])
        q = g.op("Transpose", [g.op("Reshape", [g.linear(y, a[p + "q.weight"]), g.i64([0, 0, heads, hd])])], perm=[0, 2, 1, 3])
        k = g.op("Transpose", [g.op("Reshape", [g.linear(y, a[p + "k.weight"]), g.i64([0, 0, kv, hd])])], perm=[0, 2, 1, 3])
        v = g.op("Transpose", [g.op("Reshape", [g.linear(y, a[p + "v.weight"]), g.i64([0, 0, kv, hd])])], perm=[0, 2, 1, 3])
        q, k = rot(q), rot(k)
        rep = lambda t: g.op("Reshape", [g.op("Expand", [g.op("Unsqueeze", [t, g.i64([2])]), g.i64([1, 1, r, 1, 1])]), g.op("Concat", [g.op("Slice", [g.op("Shape", [t]), g.i64([0]), g.i64([1])]), g.i64([heads]), l, g.i64([hd])], axis=0)])
        k, v = rep(k), rep(v)
        s = g.op("Softmax", [g.op("Add", [g.op("Mul", [g.op("MatMul", [q, g.op("Transpose", [k], perm=[0, 1, 3, 2])]), g.const(np.float32(hd ** -0.5))]), mask])], axis=-1)
        c = g.op("Reshape", [g.op("Transpose", [g.op("MatMul", [s, v])], perm=[0, 2, 1, 3]), g.i64([0, 0, h])])
        x = g.op("Add", [x, g.linear(c, a[p + "o.weight"])]); y = rms(x, a[p + "n2.weight"])
        gt = g.linear(y, a[p + "gate.weight"]); u = g.op("Mul", [g.op("Mul", [gt, g.op("Sigmoid", [gt])]), g.linear(y, a[p + "up.weight"])])
        x = g.op("Add", [x, g.linear(u, a[p + "down.weight"])])
    x = g.op("GatherND", [rms(x, a["norm.weight"]), "rows"])
    if isinstance(E, dict):
        z = g.op("MatMulNBits", [x, qn, dn], domain="com.microsoft", K=h, N=E["q"].shape[0], bits=8, block_size=32, accuracy_level=accuracy)
    else:
        z = g.op("MatMul", [x, g.const(E.T)])
    lp = g.op("LogSoftmax", [z], axis=-1)
    g.name(g.op("Squeeze", [g.op("GatherElements", [lp, g.op("Unsqueeze", ["target", g.i64([1])])], axis=1), g.i64([1])]), "logp")
    I = [H.make_tensor_value_info("ids", TP.INT64, ["b", "l"]), H.make_tensor_value_info("rows", TP.INT64, ["n", 2]), H.make_tensor_value_info("target", TP.INT64, ["n"])]
    g.save(path, I, [H.make_tensor_value_info("logp", TP.FLOAT, ["n"])])
