#!/bin/sh
# A private PulseAudio server without hardware: what is played to its null sink is heard by its default microphone.
#
#   tests/tools/null-sink.sh DIR &
#   export PULSE_SERVER=unix:DIR/pulse/native
#   paplay voice.wav
#
# Runs in the foreground; ends 15 s after the last client. A sink that nobody plays to works in blocks of 2 s: keep
# `pacat --latency-msec=10 </dev/zero` running beside it for a microphone-like delay.
set -eu
dir=${1:?usage: null-sink.sh DIR}
mkdir -p "$dir/pulse" "$dir/home"
chmod 700 "$dir" "$dir/pulse"
cat >"$dir/default.pa" <<PA
load-module module-native-protocol-unix auth-anonymous=1 socket=$dir/pulse/native
load-module module-null-sink sink_name=vmic rate=48000 channels=2 sink_properties=device.description=VirtualMic
set-default-sink vmic
set-default-source vmic.monitor
PA
export HOME="$dir/home" XDG_RUNTIME_DIR="$dir" PULSE_RUNTIME_PATH="$dir/pulse"
exec pulseaudio -n -F "$dir/default.pa" --daemonize=no --exit-idle-time=15 --use-pid-file=no \
  --disallow-exit=no --log-target=stderr --log-level=error
