"""Trains the network: python train.py OUT.onnx FEATURES.npz...

Noise, level, microphone and a little of the vocal tract are drawn afresh for every sequence, in the log-mel domain, where
that costs next to nothing. The rate stays high for the first stage and falls to nothing in the second; the short third one
teaches speech that begins in mid word. What is kept is the running mean of the weights. Seeded; two runs on one machine with one thread give the same weights. A stage's state is
kept beside OUT and used again if it is there; one more is left every SAVE_EVERY steps.
"""

import argparse
import copy
import dataclasses
import pathlib
import queue
import threading
import time

import numpy as np
import onnxruntime
import torch
from torch.nn import functional as f

from augment import SCHWA_CLASS
from features import BANDS, POWER_FLOOR
from network import HEADS, LABEL_DELAY, STATE, Hearing, soft_targets, to_onnx
from phones import INDEX

SEED = 3
BATCH, LENGTH = 96, 200
WEIGHT_DECAY, SMOOTHING = 1e-3, 0.03
WARM_UP_STEPS = 150
MEAN_DECAY = 0.998
SAVE_EVERY = 250
# Rare visemes count more, but not as much as their rarity.
CLASS_BALANCE = 0.25
# A mouth that does not close on p, b, m is seen at once; one that closes in a pause does no harm.
LIPS_WEIGHT = 2.0
# A reduced vowel teaches little, and what it teaches goes against the central u of Japanese and much of English.
SCHWA_WEIGHT, ROUND_WEIGHT = 0.4, 1.3
# Heads beside the visemes 30 ms back, which count 1.
WEIGHTS = {"visemes_now": 0.5, "voiced": 0.3, "voiced_now": 0.15, "laughter": 0.15}
# How often an engine's clips are drawn, against their length: the nearer to a person, the more often.
EMPHASIS = {"espeak": 0.6, "flite": 0.8, "festival": 0.8, "hibari": 1.2, "kokoro": 2.0, "russian": 1.3}
SHORTEST_CLIP = 60
NOISE_ONLY_SHARE, NOISY_SHARE = 0.16, 0.6
LOWEST_SNR_DB, HIGHEST_SNR_DB = 0.0, 35.0
NATS_PER_DB = np.log(10) / 10


@dataclasses.dataclass
class Stage:
    steps: int
    rate: float
    final_rate: float
    # Share of the sequences in which the microphone falls silent for a while: speech then begins in mid word.
    holes: float = 0.0


STAGES = [Stage(1250, 3e-3, 3e-3), Stage(2000, 3e-3, 0.0), Stage(350, 6e-4, 0.0, 0.35)]


class Data:
    """All clips in one row, and where each begins."""

    def __init__(self, paths):
        parts = [dict(np.load(path)) for path in paths]
        self.x, self.y, self.v, self.laughter, self.count, self.kind = (
            np.concatenate([part[name] for part in parts]) for name in "XYVLNK"
        )
        self.start = np.concatenate([[0], np.cumsum(self.count)])[:-1]
        usable = self.count >= SHORTEST_CLIP
        self.voices, self.noises = np.flatnonzero(usable & (self.kind == 0)), np.flatnonzero(usable & (self.kind == 1))
        emphasis = np.concatenate([np.full(len(part["N"]), EMPHASIS.get(path.stem, 1.0)) for path, part in zip(paths, parts)])
        shares = (self.count[self.voices] * emphasis[self.voices], self.count[self.noises])
        self.chances = [share / share.sum() for share in shares]
        sample = self.x[::37].astype(np.float32)
        self.mean, self.deviation = sample.mean(0), sample.std(0) + 1e-3
        # A clip's level: the loudness of its louder frames.
        loud = [self.x[a : a + n].astype(np.float32).max(1) for a, n in zip(self.start, self.count)]
        self.level = np.array([np.percentile(frames, 80) for frames in loud], np.float32)

    def cut(self, rng, clips, chances, count):
        """Frame numbers [count, LENGTH] of random cuts; -1 after a clip's end. And the clips."""
        chosen = rng.choice(clips, count, p=chances)
        length = self.count[chosen]
        first = (rng.random(count) * np.maximum(1, length - LENGTH + 1)).astype(int)
        at = first[:, None] + np.arange(LENGTH)
        return np.where(at < length[:, None], self.start[chosen][:, None] + at, -1), chosen


def curves(rng, count):
    """Smooth random responses of microphones, nats by band."""
    band = np.linspace(0, 1, BANDS)
    out = rng.normal(0, 0.8, (count, 1)) * (band - 0.5)
    for waves in (1, 2, 3):
        phase = rng.uniform(0, 2 * np.pi, (count, 1))
        out += rng.normal(0, 0.45 / waves**0.5, (count, 1)) * np.cos(np.pi * waves * band + phase)
    return out.astype(np.float32)[:, None]


def shifted(rng, frames):
    """Every third sequence has its spectrum moved and stretched along the bands: a little other vocal tract."""
    for row in np.flatnonzero(rng.random(len(frames)) < 0.33):
        at = np.clip(np.arange(BANDS) * rng.uniform(0.95, 1.05) + rng.uniform(-0.4, 0.4), 0, BANDS - 1.001)
        low, share = at.astype(int), (at - at.astype(int)).astype(np.float32)
        frames[row] = frames[row][:, low] * (1 - share) + frames[row][:, low + 1] * share
    return frames


def batch_of(rng, data, holes):
    noise_only = int(round(BATCH * NOISE_ONLY_SHARE))
    at, clips = data.cut(rng, data.voices, data.chances[0], BATCH - noise_only)
    hiss_at, hiss_clips = data.cut(rng, data.noises, data.chances[1], BATCH)
    # A noise that is too short runs again.
    hiss_at = np.where(hiss_at >= 0, hiss_at, data.start[hiss_clips][:, None])
    frames = np.zeros((BATCH, LENGTH, BANDS), np.float32)
    frames[: len(at)] = data.x[at]
    frames[: len(at)][at < 0] = np.log(POWER_FLOOR)
    frames[: len(at)] = shifted(rng, frames[: len(at)]) + curves(rng, len(at))
    hiss = data.x[hiss_at].astype(np.float32) + curves(rng, BATCH)
    snr_db = rng.uniform(LOWEST_SNR_DB, HIGHEST_SNR_DB, len(at))
    is_noisy = rng.random(len(at)) < NOISY_SHARE
    gain = data.level[clips] - data.level[hiss_clips[: len(at)]] - NATS_PER_DB * snr_db
    mixed = np.logaddexp(frames[: len(at)], hiss[: len(at)] + gain[:, None, None].astype(np.float32))
    frames[: len(at)][is_noisy] = mixed[is_noisy]
    frames[len(at) :] = hiss[len(at) :]
    frames += rng.uniform(-2.5, 2.5, (BATCH, 1, 1)).astype(np.float32)
    for row in np.flatnonzero(rng.random(BATCH) < 0.06):  # a telephone
        frames[row, :, rng.integers(26, 29) :] = np.log(POWER_FLOOR)
    frames = np.logaddexp(frames, np.float32(np.log(POWER_FLOOR)))
    for row in np.flatnonzero(rng.random(BATCH) < 0.3):
        band, width = rng.integers(BANDS - 6), rng.integers(2, 6)
        frames[row, :, band : band + width] = data.mean[band : band + width]

    gaps = []
    for row in np.flatnonzero(rng.random(BATCH) < holes) if holes else ():
        length = rng.integers(8, 60)
        begin = rng.integers(LENGTH - length)
        gaps.append((row, begin, begin + length))
        frames[row, begin : begin + length] = np.log(POWER_FLOOR) + 0.05 * rng.random()

    labels = {}
    for name, column, nothing in (("visemes", data.y, 0), ("voiced", data.v, 0), ("laughter", data.laughter, 0)):
        now = np.full((BATCH, LENGTH), nothing, np.int64)
        now[: len(at)] = np.where(at >= 0, column[at], -1)
        for row, begin, end in gaps:
            now[row, begin:end] = 0
        late = np.full_like(now, -1)
        late[:, LABEL_DELAY:] = now[:, :-LABEL_DELAY]
        labels[name] = torch.from_numpy(late)
        labels[f"{name}_now"] = torch.from_numpy(now)
    return torch.from_numpy(frames), labels


def loss_of(outputs, labels, targets, weights):
    loss = 0.0
    for head in HEADS:
        wanted, logits = labels[head], outputs[head]
        known = wanted >= 0
        wanted = wanted[known]
        if head.startswith("visemes"):
            log_p = f.log_softmax(logits[known], -1)
            own = (weights[wanted] * (targets[wanted] * log_p).sum(-1)).sum() / weights[wanted].sum()
            one = -(1 - SMOOTHING) * own - SMOOTHING * log_p.mean()
        else:
            one = f.binary_cross_entropy_with_logits(logits[known][:, 0], wanted.float())
        loss = loss + WEIGHTS.get(head, 1.0) * one
    return loss


def check_stream(network, path, frames):
    """The exported network, step by step, must give what the trained one gives on the whole clip."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    with torch.no_grad():
        expected = {head: out[0].numpy() for head, out in network.answers(torch.from_numpy(frames)[None]).items()}
    state = np.zeros((1, 1, STATE), np.float32)
    worst = 0.0
    for i, frame in enumerate(frames):
        *values, state = session.run([*HEADS, "h1"], {"logmel": frame[None, None], "h0": state})
        worst = max(worst, *(np.abs(value[0, 0] - expected[head][i]).max() for head, value in zip(HEADS, values)))
    if worst > 1e-4:
        raise RuntimeError(f"stream and batch differ by {worst}")
    print(f"stream and batch differ by at most {worst:.1e}")


def batches(rng, data, count, holes):
    """The next batches, made in the background; one maker, so their order is the seed's alone."""
    ready = queue.Queue(maxsize=4)

    def make():
        for _ in range(count):
            ready.put(batch_of(rng, data, holes))

    threading.Thread(target=make, daemon=True).start()
    for _ in range(count):
        yield ready.get()


def save(network, mean_network, optimiser, path):
    torch.save({"network": network.state_dict(), "mean": mean_network.state_dict(), "optimiser": optimiser.state_dict()}, path)


def run(network, mean_network, optimiser, data, stage, number, weights, out):
    rng = np.random.default_rng([SEED, number])
    targets = torch.from_numpy(soft_targets())
    began, loss_sum = time.monotonic(), 0.0
    for step, (frames, labels) in enumerate(batches(rng, data, stage.steps, stage.holes)):
        rate = stage.rate + (stage.final_rate - stage.rate) * step / stage.steps
        if number == 1:
            rate *= min(1.0, (step + 1) / WARM_UP_STEPS)
        for group in optimiser.param_groups:
            group["lr"] = rate
        loss = loss_of(network(frames), labels, targets, weights)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        with torch.no_grad():
            decay = min(MEAN_DECAY, (step + 1) / (step + 10)) if number == 1 else MEAN_DECAY
            for slow, fast in zip(mean_network.parameters(), network.parameters()):
                slow.lerp_(fast, 1 - decay)
        loss_sum += loss.item()
        if step % 50 == 49:
            print(f"stage {number} step {step + 1} loss {loss_sum / 50:.3f} after {time.monotonic() - began:.0f} s", flush=True)
            loss_sum = 0.0
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            save(network, mean_network, optimiser, out.with_suffix(f".{number}.{step + 1}.pt"))
    save(network, mean_network, optimiser, out.with_suffix(f".{number}.pt"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("features", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    data = Data(arguments.features)
    counts = np.bincount(data.y[data.y >= 0], minlength=len(soft_targets())).astype(float)
    print("class shares", (counts / counts.sum()).round(3), "frames", len(data.x), flush=True)
    weights = (counts.sum() / np.maximum(counts, 1)) ** CLASS_BALANCE
    weights[INDEX["PP"]] *= LIPS_WEIGHT
    weights[INDEX["ou"]] *= ROUND_WEIGHT
    weights[SCHWA_CLASS] *= SCHWA_WEIGHT
    weights = torch.tensor(weights / ((weights * counts).sum() / counts.sum()), dtype=torch.float32)

    network = Hearing(data.mean, data.deviation)
    mean_network = copy.deepcopy(network)
    # Each stage hides the same outputs, whether it is reached in one go or taken up again.
    chance = torch.get_rng_state()
    optimiser = torch.optim.AdamW(network.parameters(), lr=STAGES[0].rate, weight_decay=WEIGHT_DECAY)
    for number, stage in enumerate(STAGES, 1):
        kept = arguments.out.with_suffix(f".{number}.pt")
        if kept.exists():
            state = torch.load(kept)
            network.load_state_dict(state["network"])
            mean_network.load_state_dict(state["mean"])
            optimiser.load_state_dict(state["optimiser"])
            print(f"{kept} is there already", flush=True)
            continue
        torch.set_rng_state(chance)
        run(network, mean_network, optimiser, data, stage, number, weights, arguments.out)
    mean_network.eval()
    to_onnx(mean_network, arguments.out)
    check_stream(mean_network, arguments.out, data.x[:400].astype(np.float32))
    print(f"{arguments.out}: {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
