"""pack.py MODEL.gguf TOKENIZER.json: the teacher with fewer sub-words, its tensors as they are quantised: head.json, blob.bin, cut-tokenizer.json.

After read.py. A cut table saves a tenth of what travels; quantised.py reads it back on a GPU in seconds, without the library gguf.
"""

import json
import sys

import gguf
import numpy as np
import tokenizers
from between import X, corpus
from quintet_train.evaluator import fewer_words, preparing

words = tokenizers.Tokenizer.from_file(sys.argv[2])
told = json.loads(words.to_str())
texts = preparing.all_texts(corpus().tables)
counted = [*fewer_words._counted(words, fewer_words._FORMS), *fewer_words._counted(words, texts)]
kept = fewer_words._kept(told, counted, fewer_words.MOST)
tokenizers.Tokenizer.from_str(json.dumps(fewer_words._cut(told, kept))).save(str(X / "cut-tokenizer.json"))
head, place = {}, 0
with open(X / "blob.bin", "wb") as blob:
    for tensor in gguf.GGUFReader(sys.argv[1]).tensors:
        data, shape = np.asarray(tensor.data), [int(size) for size in reversed(tensor.shape.tolist())]
        if tensor.name in ("token_embd.weight", "output.weight"):
            data, shape[0] = data[np.array(kept)], len(kept)
        raw = np.ascontiguousarray(data).tobytes()
        head[tensor.name] = [tensor.tensor_type.name, shape, place, len(raw)]
        place += blob.write(raw)
(X / "head.json").write_text(json.dumps(head), encoding="utf-8")
print(len(kept), "sub-words,", place >> 20, "MiB")
