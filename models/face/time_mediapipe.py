#!/usr/bin/env python3
"""What MediaPipe's Face Landmarker costs: CPU milliseconds a frame, the sum over all its threads.

    python3.11 -m venv /tmp/mp && /tmp/mp/bin/pip install mediapipe==0.10.14 'numpy<2' 'jax<0.4.30' 'jaxlib<0.4.30'
    /tmp/mp/bin/python models/face/time_mediapipe.py BUNDLE.task [--picture FILE] [--frames 150] [--rounds 5]

Video mode, one face, landmarks, blendshapes and head matrix each frame, 640×480: the work that omote's tracked frame
does. Without `--picture` the portrait of the tests is put where omote's own bench puts it (`src/face/bench.rs`), and
each frame differs in one byte. `build.py` says where BUNDLE.task comes from. The last line is a number alone, for

    OMOTE_MEDIAPIPE_MS=$(... | tail -1) cargo test --release --lib face::bench -- --ignored --nocapture
"""
import argparse
import pathlib
import statistics
import time

import cv2
import mediapipe
import numpy
from mediapipe.tasks import python as tasks
from mediapipe.tasks.python import vision

PORTRAIT = pathlib.Path(__file__).parents[2] / "tests/data/face/astronaut.png"


def camera_picture(path):
    """RGB, 640×480: the picture itself, or the portrait in the middle of a wall."""
    picture = cv2.cvtColor(cv2.imread(str(path or PORTRAIT)), cv2.COLOR_BGR2RGB)
    if path:
        return cv2.resize(picture, (640, 480))
    wall = numpy.full((480, 640, 3), (90, 95, 100), numpy.uint8)
    part = picture[: 480 - 60, : 640 - 64]
    wall[60 : 60 + part.shape[0], 64 : 64 + part.shape[1]] = part
    return wall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="the Face Landmarker's .task file")
    parser.add_argument("--picture", type=pathlib.Path, help="a picture with a face in it")
    parser.add_argument("--frames", type=int, default=150, help="frames in a round (default 150)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds; their least and median are said (default 5)")
    args = parser.parse_args()

    options = vision.FaceLandmarkerOptions(
        base_options=tasks.BaseOptions(model_asset_path=args.bundle),
        running_mode=vision.RunningMode.VIDEO,
        num_faces=1,
        output_face_blendshapes=True,
        output_facial_transformation_matrixes=True,
    )
    picture = camera_picture(args.picture)
    with vision.FaceLandmarker.create_from_options(options) as landmarker:
        frame = 0

        def track():
            nonlocal frame
            picture.reshape(-1)[frame % picture.size] ^= 1
            image = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=picture)
            result = landmarker.detect_for_video(image, frame * 33)
            frame += 1
            return len(result.face_landmarks)

        for _ in range(20):
            if track() != 1:
                parser.exit(1, "MediaPipe sees no face in the picture\n")
        rounds = []
        for _ in range(args.rounds):
            before, start = time.process_time(), time.perf_counter()
            for _ in range(args.frames):
                track()
            cpu_ms = (time.process_time() - before) * 1e3 / args.frames
            wall_ms = (time.perf_counter() - start) * 1e3 / args.frames
            rounds.append(cpu_ms)
            print(f"{cpu_ms:.2f} ms of work a frame, {wall_ms:.2f} ms by the clock")
    print(f"least {min(rounds):.2f} ms, median {statistics.median(rounds):.2f} ms")
    print(f"{statistics.median(rounds):.2f}")


if __name__ == "__main__":
    main()
