//! Movies through ffmpeg, where it is installed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, bail};
use tempfile::TempPath;

/// Background under transparent pixels of a movie, since H.264 has no alpha.
const BACKDROP: [u8; 3] = [58, 60, 70];

/// More than any pipe holds: once so much was taken, ffmpeg reads pictures and has opened its other inputs.
const PIPE_BYTES: usize = 4 << 20;

/// What is heard in a movie.
pub(super) enum MovieSound {
    /// Nothing.
    None,
    /// The sound of this file.
    File(PathBuf),
    /// This WAV file, which lies in the program.
    Bytes(&'static [u8]),
}

/// A movie being written.
pub(super) struct MovieWriter {
    child: Child,
    pixels: Option<ChildStdin>,
    rgb: Vec<u8>,
    written_bytes: usize,
    sound: Option<TempPath>,
}

impl MovieWriter {
    /// True if ffmpeg can be run.
    pub(super) fn is_available() -> bool {
        let mut command = Command::new("ffmpeg");
        command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Begins a movie.
    pub(super) fn create(path: &Path, size: [u32; 2], fps: u32, sound: MovieSound) -> anyhow::Result<Self> {
        let (sound, temporary) = match sound {
            MovieSound::None => (None, None),
            MovieSound::File(path) => (Some(path), None),
            MovieSound::Bytes(wav) => {
                let why = "the movie's sound cannot be written to the temporary folder";
                let mut file = tempfile::Builder::new().prefix("omote-").suffix(".wav").tempfile().context(why)?;
                file.write_all(wav).context(why)?;
                (Some(file.path().to_owned()), Some(file.into_temp_path()))
            }
        };
        let mut command = Command::new("ffmpeg");
        command.args(["-y", "-v", "error"]);
        // The sound is opened before the pictures, so that its file is not needed any more once they are taken.
        if let Some(sound) = &sound {
            command.arg("-i").arg(sound);
        }
        command.args(["-f", "rawvideo", "-pix_fmt", "rgb24"]);
        command.args(["-s", &format!("{}x{}", size[0], size[1]), "-r", &fps.to_string(), "-i", "pipe:0"]);
        if sound.is_some() {
            // Sound that ends early is followed by silence: the pictures say how long the movie is.
            command.args(["-map", "1:v", "-map", "0:a?", "-af", "apad", "-shortest"]);
        }
        // Sides of H.264 pictures are even.
        command.args([
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-pix_fmt",
            "yuv420p",
            "-crf",
            "18",
            "-preset",
            "veryfast",
        ]);
        command.arg(path).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
        let mut child = command
            .spawn()
            .context("--movie needs ffmpeg, which is not installed; install it, or write pictures with --frames")?;
        let pixels = child.stdin.take();
        Ok(Self { child, pixels, rgb: Vec::new(), written_bytes: 0, sound: temporary })
    }

    /// Writes one picture of premultiplied RGBA rows.
    pub(super) fn write(&mut self, rgba: &[u8]) -> anyhow::Result<()> {
        self.rgb.clear();
        for pixel in rgba.chunks_exact(4) {
            let through = 255 - u32::from(pixel[3]);
            self.rgb
                .extend((0..3).map(|i| (u32::from(pixel[i]) + u32::from(BACKDROP[i]) * through / 255).min(255) as u8));
        }
        let pixels = self.pixels.as_mut().context("the movie is over already")?;
        pixels.write_all(&self.rgb).context("ffmpeg does not take the picture; its message stands above")?;
        self.written_bytes += self.rgb.len();
        // An open file that is deleted lives on for its reader, and nothing is left if this program is interrupted.
        // Where the system forbids that, it goes with this writer.
        if self.written_bytes > PIPE_BYTES
            && let Some(sound) = self.sound.take_if(|sound| std::fs::remove_file(sound).is_ok())
        {
            let _ = sound.keep();
        }
        Ok(())
    }

    /// Ends the movie.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        drop(self.pixels.take());
        let status = self.child.wait().context("ffmpeg cannot be waited for")?;
        if !status.success() {
            bail!("ffmpeg could not write the movie; its message stands above");
        }
        Ok(())
    }
}

impl Drop for MovieWriter {
    fn drop(&mut self) {
        drop(self.pixels.take());
        // Already over after `finish`; an aborted one is ended here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
