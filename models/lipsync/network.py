"""The network, its soft targets, and its ONNX form."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from features import BANDS
from phones import INDEX, SOFT_SCHWA, VISEMES

HIDDEN, SQUEEZE = 96, 64
# Frames between a sound and its label: 30 ms of the future are worth 2.6 points, 60 ms no more.
LABEL_DELAY = 3
OPSET = 17


class Hearing(nn.Module):
    """Log-mel frames [batch, time, BANDS] -> viseme logits [.., 15], speech logit [..], state."""

    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.as_tensor(deviation, dtype=torch.float32))
        self.squeeze = nn.Linear(BANDS, SQUEEZE)
        self.gru = nn.GRU(SQUEEZE, HIDDEN, batch_first=True)
        self.heads = nn.Linear(HIDDEN, len(VISEMES) + 1)

    def forward(self, frames, state=None):
        squeezed = torch.relu(self.squeeze((frames - self.mean) / self.deviation))
        hidden, state = self.gru(squeezed, state)
        out = self.heads(hidden)
        return out[..., :-1], out[..., -1], state


def soft_targets():
    """[16, 15]: class -> distribution; row 15 is the schwa."""
    table = np.eye(len(VISEMES) + 1, len(VISEMES), dtype=np.float32)
    for name, share in SOFT_SCHWA.items():
        table[len(VISEMES), INDEX[name]] = share
    return table


def to_onnx(network, path):
    """One step of the stream: logmel [1,1,BANDS], h0 [1,1,HIDDEN] -> visemes [1,1,15], voiced [1,1,1], h1.

    Written node by node, so that the graph is small, static and independent of any exporter. The normalisation is
    folded into the first layer.
    """
    p = {name: tensor.detach().double().numpy() for name, tensor in network.state_dict().items()}
    squeeze = p["squeeze.weight"] / p["deviation"]
    squeeze_bias = p["squeeze.bias"] - squeeze @ p["mean"]

    def reordered(name):  # torch keeps reset, update, new; ONNX update, reset, new
        reset, update, new = np.split(p[name], 3)
        return np.concatenate([update, reset, new])

    def constant(name, array):
        return numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name)

    heads, heads_bias = p["heads.weight"].T, p["heads.bias"]
    visemes = len(VISEMES)
    constants = [
        constant("squeeze_w", squeeze.T),
        constant("squeeze_b", squeeze_bias),
        constant("gru_w", reordered("gru.weight_ih_l0")[None]),
        constant("gru_r", reordered("gru.weight_hh_l0")[None]),
        constant("gru_b", np.concatenate([reordered("gru.bias_ih_l0"), reordered("gru.bias_hh_l0")])[None]),
        constant("viseme_w", heads[:, :visemes]),
        constant("viseme_b", heads_bias[:visemes]),
        constant("voiced_w", heads[:, visemes:]),
        constant("voiced_b", heads_bias[visemes:]),
    ]
    nodes = [
        helper.make_node("MatMul", ["logmel", "squeeze_w"], ["squeezed_0"]),
        helper.make_node("Add", ["squeezed_0", "squeeze_b"], ["squeezed_1"]),
        helper.make_node("Relu", ["squeezed_1"], ["squeezed"]),
        helper.make_node(
            "GRU", ["squeezed", "gru_w", "gru_r", "gru_b", "", "h0"], ["", "h1"],
            hidden_size=HIDDEN, linear_before_reset=1,
        ),
        helper.make_node("MatMul", ["h1", "viseme_w"], ["viseme_0"]),
        helper.make_node("Add", ["viseme_0", "viseme_b"], ["viseme_1"]),
        helper.make_node("Softmax", ["viseme_1"], ["visemes"], axis=-1),
        helper.make_node("MatMul", ["h1", "voiced_w"], ["voiced_0"]),
        helper.make_node("Add", ["voiced_0", "voiced_b"], ["voiced_1"]),
        helper.make_node("Sigmoid", ["voiced_1"], ["voiced"]),
    ]

    def value(name, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, width])

    graph = helper.make_graph(
        nodes, "omote visemes", [value("logmel", BANDS), value("h0", HIDDEN)],
        [value("visemes", visemes), value("voiced", 1), value("h1", HIDDEN)], constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="omote")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
