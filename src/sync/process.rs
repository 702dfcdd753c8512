//! Child processes (ffmpeg, ffprobe) that cannot outlive their owner and cannot hang it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::Worker;

/// What is kept of a child's error output, bytes.
const ERROR_LIMIT: u64 = 16 * 1024;

/// A running child without standard input. Killed and reaped when dropped.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
}

impl ChildProcess {
    /// Starts `command` with both outputs piped.
    ///
    /// # Errors
    /// The system's; `NotFound` if the program is not installed.
    pub fn spawn(command: &mut Command) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let outputs = (child.stdout.take(), child.stderr.take());
        let process = Self { child };
        match outputs {
            (Some(stdout), Some(stderr)) => Ok((process, stdout, stderr)),
            _ => Err(io::Error::other("a child process has no pipes")),
        }
    }

    /// Waits until the child has ended; true if it reported success. Kills it after `timeout`.
    pub fn finish(&mut self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) | Err(_) => return false,
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // A child that has ended by itself is only reaped; errors mean just that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a child printed.
#[derive(Debug, Default)]
pub struct ProcessOutput {
    /// True if it ended by itself, in time, and reported success.
    pub is_success: bool,
    /// What it wrote to standard output, up to the limit given.
    pub stdout: Vec<u8>,
    /// The last line it wrote to standard error; empty without one.
    pub last_error: String,
}

/// Runs `command` to its end, for at most `timeout`, keeping at most `limit` bytes of its output.
///
/// # Errors
/// The system's; `NotFound` if the program is not installed, `TimedOut` if it did not end in time.
pub fn run_for_output(command: &mut Command, timeout: Duration, limit: u64) -> io::Result<ProcessOutput> {
    let until = Instant::now() + timeout;
    let (mut process, stdout, stderr) = ChildProcess::spawn(command)?;
    let (out_writer, out_reader) = crossbeam_channel::bounded(1);
    let (err_writer, err_reader) = crossbeam_channel::bounded(1);
    let out_thread = Worker::spawn("child-out", move |_| {
        let mut bytes = Vec::new();
        // A broken pipe is an end like any other.
        let _ = stdout.take(limit).read_to_end(&mut bytes);
        let _ = out_writer.send(bytes);
    })?;
    let err_thread = Worker::spawn("child-err", move |_| {
        let _ = err_writer.send(last_line(stderr));
    })?;
    let left = || until.saturating_duration_since(Instant::now());
    let stdout = out_reader.recv_timeout(left());
    let is_success = process.finish(left());
    drop(process);
    let last_error = err_reader.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    drop((out_thread, err_thread));
    match stdout {
        Ok(stdout) => Ok(ProcessOutput { is_success, stdout, last_error }),
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
    }
}

/// A path as ffmpeg takes it whatever its first letters are: as a file, never as an option or a network address.
pub fn file_url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(path);
    url
}

/// Reads a child's error output to its end and keeps its last line that is not empty.
pub fn last_line(mut stderr: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stderr.by_ref().take(ERROR_LIMIT).read_to_end(&mut bytes);
    // The rest is thrown away, so that a talkative child does not block on a full pipe.
    let _ = io::copy(&mut stderr, &mut io::sink());
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn output_and_last_error_line_come_back() {
        let output = run_for_output(
            Command::new("sh").args(["-c", "echo out; echo first >&2; echo last >&2; exit 3"]),
            Duration::from_secs(10),
            1024,
        )
        .expect("sh");
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.last_error, "last");
        assert!(!output.is_success);
    }

    #[test]
    fn a_child_that_hangs_is_killed_in_time() {
        let began = Instant::now();
        let result = run_for_output(Command::new("sleep").arg("60"), Duration::from_millis(200), 1024);
        assert_eq!(result.expect_err("no output").kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
    }

    #[test]
    fn endless_output_is_cut_at_the_limit() {
        let output = run_for_output(Command::new("yes").arg("x"), Duration::from_secs(10), 1000).expect("yes");
        assert_eq!(output.stdout.len(), 1000);
    }

    #[test]
    fn a_dropped_child_is_dead() {
        let (process, mut stdout, _stderr) = ChildProcess::spawn(Command::new("sleep").arg("60")).expect("sleep");
        drop(process);
        // The pipe has ended because its only writer is gone.
        assert_eq!(stdout.read(&mut [0; 8]).expect("read"), 0);
    }
}
