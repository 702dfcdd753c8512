#!/bin/sh
# Makes models/visemes.onnx from nothing: speech, features, training, scores. About 35 minutes on one core.
#   models/lipsync/make.sh WORK_FOLDER [FOLDER_OF_LABELLED_RECORDINGS...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${1:?usage: make.sh WORK_FOLDER [RECORDINGS...]}
shift
mkdir -p "$work"
work=$(cd "$work" && pwd)
export OMP_NUM_THREADS=1

[ -d "$work/venv" ] || python3 -m venv "$work/venv"
python="$work/venv/bin/python"
"$python" -m pip install --quiet -r "$here/requirements.txt"

"$python" "$here/synth.py" "$work/speech"
"$python" "$here/synth.py" "$work/heldout" --seed 1007 --minutes-scale 0.06
"$python" "$here/augment.py" "$work/speech" "$work/features.npz"
"$python" "$here/train.py" "$work/features.npz" "$work/visemes.onnx"
if [ $# -gt 0 ]; then
    "$python" "$here/publish.py" "$work/visemes.onnx" --heldout "$work/heldout" --recordings "$@"
else
    "$python" "$here/publish.py" "$work/visemes.onnx" --heldout "$work/heldout"
fi
"$python" "$here/sample.py" "$here/../visemes.onnx"
