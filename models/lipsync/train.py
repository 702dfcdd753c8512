"""Trains the network: python train.py FEATURES.npz OUT.onnx

Two stages. The first learns everything from a mixture that is rich in sounds which are no voice. It comes out wary: a
clear vowel after silence could be music. The second, short one hears fewer of those and trusts voices again.
Seeded; two runs on one machine with one thread give the same weights. The first stage's weights are kept beside OUT and
used again if they are there.
"""

import argparse
import dataclasses
import json
import pathlib
import time

import numpy as np
import onnxruntime
import torch
from torch.nn import functional as f

from features import BANDS
from network import HIDDEN, LABEL_DELAY, Hearing, soft_targets, to_onnx

SEED = 3
BATCH, LENGTH = 32, 200
WARM_UP, WEIGHT_DECAY = 0.1, 1e-3
# Rare visemes count more, but not as much as their rarity.
CLASS_BALANCE = 0.4
SPEECH_WEIGHT = 0.3
SHORTEST_CLIP = 60


@dataclasses.dataclass
class Stage:
    steps: int
    peak_rate: float
    # How often a clip without any voice is drawn, relative to a clip with one.
    noise_chance: float
    seed: int


STAGES = [Stage(5000, 5e-3, 1.0, SEED), Stage(300, 1.2e-3, 0.2, SEED + 1)]


def batch_of(rng, data, clips, chances, offsets, mean):
    frames = np.zeros((BATCH, LENGTH, BANDS), np.float32)
    frames[:] = mean
    classes = np.full((BATCH, LENGTH), -1, np.int64)
    speech = np.full((BATCH, LENGTH), -1, np.float32)
    for row, clip in enumerate(rng.choice(clips, BATCH, p=chances)):
        count = data["N"][clip]
        start = rng.integers(max(1, count - LENGTH + 1))
        length = min(LENGTH, count - start)
        at = offsets[clip] + start
        frames[row, :length] = data["X"][at : at + length]
        classes[row, LABEL_DELAY:length] = data["Y"][at : at + length - LABEL_DELAY]
        speech[row, LABEL_DELAY:length] = data["V"][at : at + length - LABEL_DELAY]
        if rng.random() < 0.5:
            band, width = rng.integers(BANDS - 6), rng.integers(2, 7)
            frames[row, :, band : band + width] = mean[band : band + width]
        frames[row] += rng.uniform(-2, 2)
    return torch.from_numpy(frames), torch.from_numpy(classes), torch.from_numpy(speech)


def check_stream(network, path, frames):
    """The exported network, step by step, must give what the trained one gives on the whole clip."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with torch.no_grad():
        logits, voice, _ = network(torch.from_numpy(frames)[None])
    state = np.zeros((1, 1, HIDDEN), np.float32)
    worst = 0.0
    for i, frame in enumerate(frames):
        visemes, voiced, state = session.run(["visemes", "voiced", "h1"], {"logmel": frame[None, None], "h0": state})
        worst = max(worst, np.abs(torch.softmax(logits[0, i], -1).numpy() - visemes[0, 0]).max())
        worst = max(worst, abs(torch.sigmoid(voice[0, i]).item() - voiced[0, 0, 0]))
    if worst > 1e-4:
        raise RuntimeError(f"stream and batch differ by {worst}")
    print(f"stream and batch differ by at most {worst:.1e}")


def run(network, data, stage, weights, mean):
    rng = np.random.default_rng(stage.seed)
    targets = torch.from_numpy(soft_targets())
    offsets = np.concatenate([[0], np.cumsum(data["N"])])
    clips = np.flatnonzero(data["N"] >= SHORTEST_CLIP)
    has_voice = np.array([(data["Y"][offsets[c] : offsets[c + 1]] > 0).any() for c in clips])
    chances = data["N"][clips] * np.where(has_voice, 1.0, stage.noise_chance)
    chances /= chances.sum()
    optimiser = torch.optim.AdamW(network.parameters(), lr=stage.peak_rate, weight_decay=WEIGHT_DECAY)
    began, loss_sum = time.monotonic(), 0.0
    for step in range(stage.steps):
        progress = step / stage.steps
        decay = 0.5 + 0.5 * np.cos(np.pi * (progress - WARM_UP) / (1 - WARM_UP))
        rate = stage.peak_rate * (progress / WARM_UP if progress < WARM_UP else decay)
        for group in optimiser.param_groups:
            group["lr"] = max(rate, 1e-5)
        frames, classes, speech = batch_of(rng, data, clips, chances, offsets, mean)
        logits, voice, _ = network(frames)
        known = classes >= 0
        log_p = f.log_softmax(logits[known], -1)
        wanted = classes[known]
        loss = -(weights[wanted] * (targets[wanted] * log_p).sum(-1)).sum() / weights[wanted].sum()
        heard = speech >= 0
        loss = loss + SPEECH_WEIGHT * f.binary_cross_entropy_with_logits(voice[heard], speech[heard])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        loss_sum += loss.item()
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss_sum / 100:.3f} after {time.monotonic() - began:.0f} s", flush=True)
            loss_sum = 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    with np.load(arguments.features) as stored:
        data = {name: stored[name] for name in "XYVN"}
    sample = data["X"][::37].astype(np.float32)
    mean, deviation = sample.mean(0), sample.std(0) + 1e-3
    counts = np.bincount(data["Y"][data["Y"] >= 0], minlength=len(soft_targets())).astype(float)
    print("class shares", (counts / counts.sum()).round(3), flush=True)
    weights = (counts.sum() / np.maximum(counts, 1)) ** CLASS_BALANCE
    weights = torch.tensor(weights / ((weights * counts).sum() / counts.sum()), dtype=torch.float32)

    network = Hearing(mean, deviation)
    for number, stage in enumerate(STAGES, 1):
        kept = arguments.out.with_suffix(f".{number}.pt")
        if kept.exists():
            network.load_state_dict(torch.load(kept))
            print(f"{kept} is there already", flush=True)
            continue
        run(network, data, stage, weights, mean)
        torch.save(network.state_dict(), kept)
    network.eval()
    to_onnx(network, arguments.out)
    check_stream(network, arguments.out, data["X"][:400].astype(np.float32))
    print(f"{arguments.out}: {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
