"""The network, its soft targets, and its ONNX form."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from features import BANDS
from phones import INDEX, SOFT_SCHWA, VISEMES

CONTEXT, SQUEEZE, HIDDEN = 5, 96, 144
STATE = (CONTEXT - 1) * BANDS + HIDDEN
# Frames between a sound and its label: 30 ms of the future are worth 2.6 points, 60 ms no more.
LABEL_DELAY = 3
OPSET = 17
# Share of the squeezed and of the recurrent outputs that training hides: synthesisers are more regular than people.
DROPOUT = 0.15
# What the trained logits become outside: a closed mouth and vowels are preferred a little (chosen on the stand-ins and
# held-out synthesised speech, where it gains a point), and smoothed training targets are made sharp again.
OFFSETS = {"sil": 0.5, "PP": 0.4, "aa": 0.25, "E": 0.25, "ih": 0.25, "oh": 0.25, "ou": 0.25}
SHARPNESS = 1.3
# The heads, in the order of the last layer's rows. Those with `_now` name the newest frame, the others 30 ms before it.
HEADS = {"visemes": len(VISEMES), "visemes_now": len(VISEMES), "voiced": 1, "voiced_now": 1, "laughter": 1}


class Hearing(nn.Module):
    """Log-mel frames [batch, time, BANDS] -> {head: logits [batch, time, width]}.

    Each step sees its frame and the four before it; the heads see what was squeezed out of them and the recurrent state.
    """

    def __init__(self, mean, deviation):
        super().__init__()
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.as_tensor(deviation, dtype=torch.float32))
        self.squeeze = nn.Linear(CONTEXT * BANDS, SQUEEZE)
        self.gru = nn.GRU(SQUEEZE, HIDDEN)
        self.dropout = nn.Dropout(DROPOUT)
        self.heads = nn.Linear(SQUEEZE + HIDDEN, sum(HEADS.values()))

    def forward(self, frames):
        normal = ((frames - self.mean) / self.deviation).transpose(0, 1)
        padded = torch.cat([normal.new_zeros(CONTEXT - 1, *normal.shape[1:]), normal])
        seen = torch.cat([padded[i : i + len(normal)] for i in range(CONTEXT)], -1)
        squeezed = self.dropout(torch.relu(self.squeeze(seen)))
        hidden, _ = self.gru(squeezed)
        hidden = self.dropout(hidden)
        out = self.heads(torch.cat([squeezed, hidden], -1)).transpose(0, 1)
        return dict(zip(HEADS, out.split(list(HEADS.values()), -1)))

    def answers(self, frames):
        """{head: probabilities}, as the exported network gives them."""
        return {
            head: torch.softmax(SHARPNESS * (logits + offsets()), -1) if HEADS[head] > 1 else torch.sigmoid(logits)
            for head, logits in self(frames).items()
        }


def offsets():
    return torch.tensor([OFFSETS.get(name, 0.0) for name in VISEMES])


def soft_targets():
    """[16, 15]: class -> distribution; row 15 is the schwa."""
    table = np.eye(len(VISEMES) + 1, len(VISEMES), dtype=np.float32)
    for name, share in SOFT_SCHWA.items():
        table[len(VISEMES), INDEX[name]] = share
    return table


def to_onnx(network, path):
    """One step of the stream: logmel [1,1,BANDS], h0 [1,1,STATE] -> the heads, each [1,1,width], and h1.

    Written node by node, so that the graph is small, static and independent of any exporter. The state holds the four
    newest frames, normalised, and the recurrent layer.
    """
    p = {name: tensor.detach().double().numpy() for name, tensor in network.state_dict().items()}
    constants, nodes = [], []

    def constant(name, array, kind=np.float32):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=kind), name))
        return name

    def node(kind, inputs, outputs, **attributes):
        nodes.append(helper.make_node(kind, inputs, outputs, **attributes))

    def part(source, start, end, name):
        ends = [constant(f"{name}_{what}", [value], np.int64) for what, value in (("from", start), ("to", end))]
        node("Slice", [source, *ends, "last_axis"], [name])

    def reordered(name):  # torch keeps reset, update, new; ONNX update, reset, new
        reset, update, new = np.split(p[name], 3)
        return np.concatenate([update, reset, new])

    constant("last_axis", [2], np.int64)
    history = (CONTEXT - 1) * BANDS
    part("h0", 0, history, "seen_before")
    part("h0", history, STATE, "hidden_before")
    node("Sub", ["logmel", constant("mean", p["mean"])], ["centred"])
    node("Mul", ["centred", constant("scale", 1 / p["deviation"])], ["normal"])
    node("Concat", ["seen_before", "normal"], ["seen"], axis=2)
    node("MatMul", ["seen", constant("squeeze_w", p["squeeze.weight"].T)], ["squeezed_0"])
    node("Add", ["squeezed_0", constant("squeeze_b", p["squeeze.bias"])], ["squeezed_1"])
    node("Relu", ["squeezed_1"], ["squeezed"])
    weights = [
        constant("gru_w", reordered("gru.weight_ih_l0")[None]),
        constant("gru_r", reordered("gru.weight_hh_l0")[None]),
        constant("gru_b", np.concatenate([reordered("gru.bias_ih_l0"), reordered("gru.bias_hh_l0")])[None]),
    ]
    node("GRU", ["squeezed", *weights, "", "hidden_before"], ["", "hidden"], hidden_size=HIDDEN, linear_before_reset=1)
    node("Concat", ["squeezed", "hidden"], ["both"], axis=2)
    part("seen", BANDS, BANDS + history, "seen_next")
    node("Concat", ["seen_next", "hidden"], ["h1"], axis=2)
    at = 0
    for head, width in HEADS.items():
        rows = slice(at, at + width)
        at += width
        weight, bias = p["heads.weight"][rows], p["heads.bias"][rows]
        if width > 1:
            weight, bias = SHARPNESS * weight, SHARPNESS * (bias + offsets().double().numpy())
        node("MatMul", ["both", constant(f"{head}_w", weight.T)], [f"{head}_0"])
        node("Add", [f"{head}_0", constant(f"{head}_b", bias)], [f"{head}_1"])
        if width > 1:
            node("Softmax", [f"{head}_1"], [head], axis=-1)
        else:
            node("Sigmoid", [f"{head}_1"], [head])

    def value(name, width):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, width])

    graph = helper.make_graph(
        nodes, "omote visemes", [value("logmel", BANDS), value("h0", STATE)],
        [value(head, width) for head, width in HEADS.items()] + [value("h1", STATE)], constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="omote")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
