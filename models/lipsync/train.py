"""Trains the network: python train.py FEATURES.npz OUT.onnx [--steps N]

Seeded; two runs on one machine with one thread give the same weights. Stops at the step budget or at --minutes, so
that a slow machine still ends; the committed weights say in visemes.toml how many steps they had.
"""

import argparse
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
PEAK_RATE, WARM_UP, WEIGHT_DECAY = 5e-3, 0.1, 1e-3
# Rare visemes count more, but not as much as their rarity.
CLASS_BALANCE = 0.4
SPEECH_WEIGHT = 0.3
SHORTEST_CLIP = 60


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("features", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)

    with np.load(arguments.features) as stored:
        data = {name: stored[name] for name in "XYVN"}
    offsets = np.concatenate([[0], np.cumsum(data["N"])])
    sample = data["X"][::37].astype(np.float32)
    mean, deviation = sample.mean(0), sample.std(0) + 1e-3
    clips = np.flatnonzero(data["N"] >= SHORTEST_CLIP)
    chances = data["N"][clips] / data["N"][clips].sum()

    targets = torch.from_numpy(soft_targets())
    counts = np.bincount(data["Y"][data["Y"] >= 0], minlength=len(targets)).astype(float)
    weights = (counts.sum() / np.maximum(counts, 1)) ** CLASS_BALANCE
    weights = torch.tensor(weights / ((weights * counts).sum() / counts.sum()), dtype=torch.float32)
    print("class shares", (counts / counts.sum()).round(3), flush=True)

    network = Hearing(mean, deviation)
    print("parameters", sum(p.numel() for p in network.parameters()), flush=True)
    optimiser = torch.optim.AdamW(network.parameters(), lr=PEAK_RATE, weight_decay=WEIGHT_DECAY)
    began, loss_sum = time.monotonic(), 0.0
    progress, done = 0.0, 0
    for step in range(arguments.steps):
        # The schedule follows whichever budget is nearer to its end.
        progress = max(progress, step / arguments.steps, (time.monotonic() - began) / 60 / arguments.minutes)
        if progress >= 1:
            break
        rate = PEAK_RATE * (progress / WARM_UP if progress < WARM_UP else 0.5 + 0.5 * np.cos(np.pi * (progress - WARM_UP) / (1 - WARM_UP)))
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
        done = step + 1
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss_sum / 100:.3f} after {time.monotonic() - began:.0f} s", flush=True)
            loss_sum = 0.0
    network.eval()
    torch.save(network.state_dict(), arguments.out.with_suffix(".pt"))
    to_onnx(network, arguments.out)
    check_stream(network, arguments.out, data["X"][:400].astype(np.float32))
    arguments.out.with_suffix(".json").write_text(json.dumps({"steps": done}) + "\n")
    print(f"{done} steps, {arguments.out}: {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
