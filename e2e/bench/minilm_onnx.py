"""Writes all-MiniLM-L6-v2 as ONNX, for onnxruntime-web in the bench.

    python minilm_onnx.py FOLDER F32.onnx INT8.onnx

FOLDER has the model as its makers publish it. The graph gives the mean of the last layer's rows over a
text's tokens, as sentence-transformers makes it, not normalized: embedding[texts][384] of input_ids and
attention_mask [texts][tokens]. INT8.onnx has the weights of its products in int8 with a scale for each output,
and quantizes activations as it runs. Needs torch, transformers, onnx, onnxscript and onnxruntime.
"""

import sys

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModel


class Embedder(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    def forward(self, input_ids, attention_mask):
        rows = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(rows.dtype)
        return (rows * mask).sum(1) / mask.sum(1)


def main(folder, plain, quantized):
    ids = torch.randint(1000, 2000, (2, 16))
    mask = torch.ones_like(ids)
    mask[1, 12:] = 0
    model = Embedder(folder)
    torch.onnx.export(
        model,
        (ids, mask),
        plain,
        input_names=["input_ids", "attention_mask"],
        output_names=["embedding"],
        dynamic_axes={
            "input_ids": {0: "texts", 1: "tokens"},
            "attention_mask": {0: "texts", 1: "tokens"},
            "embedding": {0: "texts"},
        },
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(plain, quantized, per_channel=True, weight_type=QuantType.QInt8)


main(*sys.argv[1:])
