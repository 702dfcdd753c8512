//! Performances (`.omote`): observations and visemes with time stamps, no pictures, no sound. JSON lines.
//!
//! The first line is `{"omote_performance": 1}`; every other line is a record as `analyze` writes it.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use super::records::{AudioRecord, RecordError, VideoRecord};
use crate::types::{AudioReport, ErrorKind, FaceReport, Timestamp};

/// Longest line read; one observation takes about 2 kB.
const MAX_LINE_BYTES: u64 = 1 << 16;
/// Most records read: more than a day of both sources.
const MAX_RECORDS: usize = 12_000_000;

/// Why a performance cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PerformanceError {
    /// The system says no.
    #[error("the performance cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not a performance.
    #[error("line {line} of the performance is broken: {why}")]
    Corrupt {
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

impl PerformanceError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io(_) => ErrorKind::Setup,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }
}

/// Something seen or heard.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
#[expect(clippy::large_enum_variant, reason = "a box for each of a million events costs more than it saves")]
pub enum PerformanceEvent {
    Video(FaceReport),
    Audio(AudioReport),
}

impl PerformanceEvent {
    /// When it was seen or heard.
    pub fn captured_at(&self) -> Timestamp {
        match self {
            Self::Video(report) => report.captured_at,
            Self::Audio(report) => report.captured_at,
        }
    }
}

/// A recorded performance: plays on any avatar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Performance {
    /// In order of time.
    pub events: Vec<PerformanceEvent>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "there is only ever one of them")]
enum Line {
    Video {
        t: f64,
        #[serde(flatten)]
        record: VideoRecord,
    },
    Audio {
        t: f64,
        #[serde(flatten)]
        record: AudioRecord,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    omote_performance: u32,
}

impl Performance {
    /// Reads a performance.
    ///
    /// # Errors
    /// If it cannot be read or a line is broken; nothing is played then.
    pub fn read(mut reader: impl BufRead) -> Result<Self, PerformanceError> {
        let mut events = Vec::new();
        let mut text = String::new();
        let mut line = 0;
        loop {
            line += 1;
            text.clear();
            let corrupt = |why: String| PerformanceError::Corrupt { line, why };
            let read = match std::io::Read::take(&mut reader, MAX_LINE_BYTES).read_line(&mut text) {
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(corrupt("it is not text".into()));
                }
                other => other?,
            };
            if read == 0 {
                break;
            }
            if read as u64 == MAX_LINE_BYTES {
                return Err(corrupt("it is far too long".into()));
            }
            if line == 1 {
                let header: Header = serde_json::from_str(&text)
                    .map_err(|_| corrupt("this is not an omote performance (its first line names one)".into()))?;
                if header.omote_performance != 1 {
                    return Err(corrupt(format!("version {} is newer than this omote", header.omote_performance)));
                }
                continue;
            }
            if text.trim().is_empty() {
                continue;
            }
            if events.len() == MAX_RECORDS {
                return Err(corrupt("there are far too many records".into()));
            }
            let event = parse(&text, events.len() as u64).map_err(|e| corrupt(e.to_string()))?;
            events.push(event);
        }
        if line == 1 {
            return Err(PerformanceError::Corrupt { line, why: "the file is empty".into() });
        }
        events.sort_by_key(PerformanceEvent::captured_at);
        Ok(Self { events })
    }

    /// When the last event was.
    pub fn end(&self) -> Timestamp {
        self.events.last().map_or(Timestamp::ZERO, PerformanceEvent::captured_at)
    }
}

fn parse(text: &str, seq: u64) -> Result<PerformanceEvent, RecordError> {
    let line: Line = serde_json::from_str(text).map_err(|e| RecordError(e.to_string()))?;
    let time = |t: f64| {
        if t.is_finite() && (0.0..=1e6).contains(&t) {
            Ok(Timestamp::from_secs_f64(t))
        } else {
            Err(RecordError(format!("{t} is no time")))
        }
    };
    match line {
        Line::Video { t, record } => Ok(PerformanceEvent::Video(record.to_report(time(t)?, seq)?)),
        Line::Audio { t, record } => Ok(PerformanceEvent::Audio(record.to_report(time(t)?)?)),
    }
}

/// Writes records as they come: performances, and `analyze` output without the header.
#[derive(Debug)]
pub struct PerformanceWriter<W> {
    out: W,
}

impl<W: Write> PerformanceWriter<W> {
    /// Begins a performance.
    ///
    /// # Errors
    /// The system's.
    pub fn performance(mut out: W) -> std::io::Result<Self> {
        serde_json::to_writer(&mut out, &Header { omote_performance: 1 })?;
        out.write_all(b"\n")?;
        Ok(Self { out })
    }

    /// Begins bare records.
    pub fn records(out: W) -> Self {
        Self { out }
    }

    /// Writes what was seen.
    ///
    /// # Errors
    /// The system's.
    pub fn video(&mut self, report: &FaceReport) -> std::io::Result<()> {
        let t = report.captured_at.as_secs_f64();
        self.line(&Line::Video { t, record: VideoRecord::of(report) })
    }

    /// Writes what was heard.
    ///
    /// # Errors
    /// The system's.
    pub fn audio(&mut self, report: &AudioReport) -> std::io::Result<()> {
        let t = report.captured_at.as_secs_f64();
        self.line(&Line::Audio { t, record: AudioRecord::of(report) })
    }

    fn line(&mut self, line: &Line) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{AudioState, VideoState};

    #[test]
    fn a_performance_survives_a_round_trip_in_order_of_time() {
        let mut writer = PerformanceWriter::performance(Vec::new()).expect("header");
        let at = Timestamp::from_secs_f64;
        let video = FaceReport { captured_at: at(0.5), state: VideoState::FaceLost, ..FaceReport::default() };
        let audio = AudioReport { captured_at: at(0.25), state: AudioState::Silent, ..AudioReport::default() };
        writer.video(&video).expect("written");
        writer.audio(&audio).expect("written");
        let bytes = writer.finish().expect("written");
        let performance = Performance::read(bytes.as_slice()).expect("performance");
        assert_eq!(performance.events, [PerformanceEvent::Audio(audio), PerformanceEvent::Video(video)]);
        assert_eq!(performance.end(), at(0.5));
    }

    #[test]
    fn what_is_no_performance_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("{}", 1),
            ("{\"omote_performance\":2}\n", 1),
            ("{\"omote_performance\":1}\n{\"kind\":\"smell\"}\n", 2),
            ("{\"omote_performance\":1}\n\n{\"kind\":\"video\",\"t\":-1,\"state\":\"tracked\"}\n", 3),
        ] {
            let error = Performance::read(text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains(&format!("line {line} ")), "{text}: {error}");
        }
        let long = format!("{{\"omote_performance\":1}}\n{}", "x".repeat(1 << 17));
        assert!(Performance::read(long.as_bytes()).is_err());
        assert!(Performance::read([0xff, 0xfe, 0x00].as_slice()).is_err());
    }
}
