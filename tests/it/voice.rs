//! Sound → visemes: the features against the trainer's, the stream against itself, labelled speech, odd sound.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "clippy sees helpers of tests as library code"
)]

use std::path::{Path, PathBuf};

use omote::engine::SoundPath;
use omote::settings::{AudioSettings, HearingLatency};
use omote::types::{AudioReport, AudioState, Timestamp, VISEME_COUNT, Viseme};
use omote::voice::{HOP, Hearing, LogMel, Network, SAMPLE_RATE_HZ, VisemeModel, label_lag};
use proptest::prelude::*;

/// 16 kHz mono samples of a WAV file.
fn read_wav(path: &Path) -> Vec<f32> {
    let mut reader = hound::WavReader::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let spec = reader.spec();
    assert_eq!((spec.sample_rate, spec.channels, spec.bits_per_sample), (SAMPLE_RATE_HZ, 1, 16), "{}", path.display());
    reader.samples::<i16>().map(|s| f32::from(s.unwrap()) / 32768.0).collect()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn hear_from(hearing: &mut Hearing, samples: &[f32], chunk: usize, start: Timestamp) -> Vec<AudioReport> {
    let mut reports = Vec::new();
    for (i, part) in samples.chunks(chunk).enumerate() {
        let at = start.as_secs_f64() + (i * chunk) as f64 / f64::from(SAMPLE_RATE_HZ);
        hearing.classify(part, Timestamp::from_secs_f64(at), &mut reports);
    }
    reports
}

fn hear(samples: &[f32], chunk: usize) -> Vec<AudioReport> {
    hear_from(&mut Hearing::new().unwrap(), samples, chunk, Timestamp::ZERO)
}

/// One label: what is said from `start` to `end` seconds.
struct Label {
    start: f64,
    end: f64,
    phone: String,
    viseme: Option<usize>,
}

fn read_labels(path: &Path) -> Vec<Label> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cells = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()).filter(|cells| cells.len() >= 4);
    cells
        .map(|cells| Label {
            start: cells[0].parse().unwrap(),
            end: cells[1].parse().unwrap(),
            phone: cells[2].to_owned(),
            viseme: Viseme::ALL.iter().position(|v| v.name() == cells[3]),
        })
        .collect()
}

/// A I U E O and closed, as in `models/lipsync/evaluate.py`; `None` for other sounds.
fn six_of(viseme: usize) -> Option<usize> {
    match Viseme::ALL[viseme] {
        Viseme::Aa => Some(0),
        Viseme::Ih => Some(1),
        Viseme::Ou => Some(2),
        Viseme::E => Some(3),
        Viseme::Oh => Some(4),
        Viseme::Sil | Viseme::Pp => Some(5),
        _ => None,
    }
}

/// Glides, h and reduced vowels have no agreed shape.
fn has_no_agreed_shape(phone: &str) -> bool {
    let bare = phone.to_lowercase();
    let bare = bare.trim_end_matches(['0', '1', '2']);
    ["w", "y", "hh", "h", "hy", "j", "ax", "q", "cl", "@", "a#"].contains(&bare) || phone.eq_ignore_ascii_case("AH0")
}

/// Right and counted frames.
#[derive(Clone, Copy, Default)]
struct Share(usize, usize);

impl Share {
    fn count(&mut self, is_right: bool) {
        self.0 += usize::from(is_right);
        self.1 += 1;
    }

    fn value(self) -> f64 {
        self.0 as f64 / self.1.max(1) as f64
    }
}

#[derive(Clone, Copy, Default)]
struct Score {
    six: Share,
    vowel: Share,
    all: Share,
    speech: Share,
    silence: Share,
    closure: Share,
    voiced: Share,
}

impl Score {
    fn add(&mut self, reports: &[AudioReport], labels: &[Label]) {
        let largest = |weights: &[f32]| (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap();
        for report in reports {
            let at = report.captured_at.as_secs_f64();
            let Some(label) = labels.iter().find(|l| l.start <= at && at < l.end) else { continue };
            let Some(truth) = label.viseme else { continue };
            let heard = largest(&report.frame.weights);
            self.all.count(heard == truth);
            self.voiced.count((report.frame.voiced > 0.5) == (truth != 0));
            let among = if truth == 0 { &mut self.silence } else { &mut self.speech };
            among.count(heard == truth);
            if truth == Viseme::Pp as usize {
                self.closure.count(heard == truth);
            }
            let Some(six) = six_of(truth).filter(|_| !has_no_agreed_shape(&label.phone)) else { continue };
            let mut pooled = [0.0; 6];
            for (viseme, weight) in report.frame.weights.iter().enumerate() {
                if let Some(class) = six_of(viseme) {
                    pooled[class] += weight;
                }
            }
            self.six.count(largest(&pooled) == six);
            if six < 5 {
                self.vowel.count(largest(&pooled) == six);
            }
        }
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "frames {} six-class {:.3} vowel {:.3} viseme15 {:.3} speech {:.3} silence {:.3} PP {:.3} voiced {:.3}",
            self.all.1,
            self.six.value(),
            self.vowel.value(),
            self.all.value(),
            self.speech.value(),
            self.silence.value(),
            self.closure.value(),
            self.voiced.value()
        )
    }
}

fn score(wav: &str, labels: &str) -> Score {
    let mut score = Score::default();
    score.add(&hear(&read_wav(&file(wav)), 160), &read_labels(&file(labels)));
    println!("{wav}: {score}");
    score
}

#[derive(serde::Deserialize)]
struct Vectors {
    frames: Vec<usize>,
    log_mel: Vec<Vec<f32>>,
    visemes: Vec<Vec<f32>>,
    voiced: Vec<f32>,
    visemes_now: Vec<Vec<f32>>,
    voiced_now: Vec<f32>,
    laughter: Vec<f32>,
}

/// The trainer's features and the reference runtime's probabilities for some frames of the vowel clip.
fn vectors() -> Vectors {
    serde_json::from_str(&std::fs::read_to_string(file("tests/it/voice/vectors.json")).unwrap()).unwrap()
}

fn features_of(samples: &[f32]) -> Vec<[f32; 40]> {
    let mut features = LogMel::new();
    samples.iter().filter_map(|sample| features.push(*sample).copied()).collect()
}

#[test]
fn features_are_those_the_network_was_trained_on() {
    let features = features_of(&read_wav(&file("tests/it/voice/vowels.wav")));
    let vectors = vectors();
    assert!(vectors.frames.len() > 20);
    for (frame, expected) in vectors.frames.iter().zip(&vectors.log_mel) {
        for (band, (ours, theirs)) in features[*frame].iter().zip(expected).enumerate() {
            assert!((ours - theirs).abs() < 2e-3, "frame {frame} band {band}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn the_network_gives_what_the_reference_runtime_gives() {
    let features = features_of(&read_wav(&file("tests/it/voice/vowels.wav")));
    let mut network = Network::embedded().unwrap();
    let answers: Vec<_> = features.iter().map(|frame| network.step(frame)).collect();
    let vectors = vectors();
    let close = |ours: f32, theirs: f32, what: &str, frame: usize| {
        assert!((ours - theirs).abs() < 2e-3, "frame {frame}, {what}: {ours} is not {theirs}");
    };
    for (i, frame) in vectors.frames.iter().copied().enumerate() {
        let answer = answers[frame];
        for (name, ours, theirs) in [
            ("visemes", &answer.visemes, &vectors.visemes[i]),
            ("visemes_now", &answer.visemes_now, &vectors.visemes_now[i]),
        ] {
            assert_eq!(theirs.len(), ours.len());
            ours.iter().zip(theirs).for_each(|(ours, theirs)| close(*ours, *theirs, name, frame));
        }
        close(answer.voiced, vectors.voiced[i], "voiced", frame);
        close(answer.voiced_now, vectors.voiced_now[i], "voiced_now", frame);
        close(answer.laughter, vectors.laughter[i], "laughter", frame);
    }
}

#[test]
fn the_size_of_the_chunks_does_not_matter() {
    let samples = read_wav(&file("tests/it/voice/vowels.wav"));
    let samples = &samples[..32_000];
    let whole = hear(samples, samples.len());
    assert_eq!(whole.len(), samples.len() / HOP - 3);
    for chunk in [1, 7, 160, 1000] {
        for (ours, theirs) in hear(samples, chunk).iter().zip(&whole) {
            assert_eq!((ours.frame, ours.state, ours.hints), (theirs.frame, theirs.state, theirs.hints));
            assert!(ours.captured_at.secs_after(theirs.captured_at).abs() < 1e-6);
        }
    }
}

#[test]
fn vowels_are_told_apart() {
    let score = score("tests/it/voice/vowels.wav", "tests/it/voice/vowels.tsv");
    assert!(score.six.value() >= 0.85, "six-class {:.3}", score.six.value());
    assert!(score.vowel.value() >= 0.75, "vowels {:.3}", score.vowel.value());
}

#[test]
fn the_presenter_is_understood() {
    let score = score("assets/presenter/demo.wav", "assets/presenter/demo.phones.tsv");
    assert!(score.six.value() >= 0.84, "six-class {:.3}", score.six.value());
    assert!(score.vowel.value() >= 0.58, "vowels {:.3}", score.vowel.value());
    assert!(score.voiced.value() >= 0.95, "voiced {:.3}", score.voiced.value());
    assert!(score.closure.value() >= 0.70, "p, b, m {:.3}", score.closure.value());
}

#[test]
fn reports_carry_the_time_of_the_sound_they_describe() {
    let samples = read_wav(&file("assets/presenter/demo.wav"));
    let start = Timestamp::from_secs_f64(100.0);
    let reports = hear_from(&mut Hearing::new().unwrap(), &samples[..48_000], 100, start);
    let first = reports[0].captured_at.secs_after(start);
    assert!((first - (0.04 - label_lag(HearingLatency::Accurate).as_secs_f64())).abs() < 1e-6, "{first}");
    assert!(reports.windows(2).all(|w| (w[1].captured_at.secs_after(w[0].captured_at) - 0.01).abs() < 1e-6));
    // Speech begins at 1.0 s, and is heard there and not later by the lag.
    let opened = reports.iter().find(|r| r.frame.weight(Viseme::Sil) < 0.5).unwrap();
    let onset = opened.captured_at.secs_after(start);
    assert!((onset - 1.0).abs() < 0.04, "onset heard at {onset}");
    let loud = reports.iter().find(|r| r.frame.level_db > -35.0).unwrap().captured_at.secs_after(start);
    assert!((loud - 1.0).abs() < 0.06, "level rises at {loud}");
}

#[test]
fn silence_is_silent_and_exact_zeros_are_a_muted_microphone() {
    let mut rng = omote::signal::Rng::new(1);
    let room: Vec<f32> = (0..48_000).map(|_| rng.normal() * 1e-3).collect();
    for report in &hear(&room, 160)[20..] {
        assert_eq!(report.state, AudioState::Silent);
        assert!(report.frame.weight(Viseme::Sil) > 0.8 && report.frame.voiced < 0.35, "{:?}", report.frame);
    }
    let zeros = hear(&[0.0; 32_000], 160);
    assert_eq!(zeros[50].state, AudioState::Silent);
    assert_eq!(zeros[150].state, AudioState::Muted);
    assert!(zeros.iter().all(|r| r.frame.weight(Viseme::Sil) > 0.8));
}

#[test]
fn a_microphone_muted_in_mid_word_is_known_at_once_and_heard_again() {
    let mut samples = read_wav(&file("assets/presenter/demo.wav"));
    samples[8 * 16_000 + 8000..9 * 16_000 + 8000].fill(0.0);
    let mut hearing = Hearing::new().unwrap();
    let before = hear_from(&mut hearing, &samples[..8 * 16_000 + 8000], 160, Timestamp::ZERO);
    assert_eq!(before.last().unwrap().state, AudioState::Live);
    let cut = Timestamp::from_secs_f64(8.5);
    let during = hear_from(&mut hearing, &samples[8 * 16_000 + 8000..9 * 16_000 + 8000], 160, cut);
    let muted = during.iter().position(|r| r.state == AudioState::Muted).unwrap();
    assert!((9..=11).contains(&muted), "muted after {muted} hops");
    assert!(during[muted..].iter().all(|r| r.state == AudioState::Muted && r.frame.voiced == 0.0));
    let after = hear_from(&mut hearing, &samples[9 * 16_000 + 8000..], 160, Timestamp::from_secs_f64(9.5));
    let live = after.iter().position(|r| r.state == AudioState::Live).unwrap();
    assert!(live <= 12, "live after {live} hops");
}

#[test]
fn a_new_stream_owes_nothing_to_the_old_one() {
    let samples = read_wav(&file("tests/it/voice/vowels.wav"));
    let fresh = hear(&samples[..16_000], 160);
    let mut hearing = Hearing::new().unwrap();
    hear_from(&mut hearing, &samples[16_000..40_000], 160, Timestamp::ZERO);
    // A leap in time is a new stream as well.
    let again = hear_from(&mut hearing, &samples[..16_000], 160, Timestamp::from_secs_f64(60.0));
    assert_eq!(again.len(), fresh.len());
    assert!(again.iter().zip(&fresh).all(|(a, b)| a.frame == b.frame && a.state == b.state));
}

#[test]
fn the_gate_closes_and_the_gain_opens() {
    let samples: Vec<f32> = read_wav(&file("assets/presenter/demo.wav")).iter().map(|x| x * 0.001).collect();
    let speaking = |settings: &AudioSettings| {
        let mut hearing = Hearing::new().unwrap();
        hearing.configure(settings);
        let mut path = SoundPath::new(SAMPLE_RATE_HZ, settings.gain_db).unwrap();
        let mut sound = samples[16_000..64_000].to_vec();
        path.hear(&mut hearing, &mut sound, Timestamp::ZERO).iter().filter(|r| r.state == AudioState::Live).count()
    };
    // 60 dB down, speech lies at -80 dBFS: under the default gate.
    assert_eq!(speaking(&AudioSettings::default()), 0);
    assert!(speaking(&AudioSettings { gain_db: 50.0, ..AudioSettings::default() }) > 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a device delivers, a report is a set of probabilities.
    #[test]
    fn any_sound_gives_probabilities(
        samples in proptest::collection::vec(
            prop_oneof![
                8 => -1.0f32..1.0,
                1 => any::<f32>(),
                1 => prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(0.0), Just(1e30), Just(1e-40)],
            ],
            0..4000,
        ),
        chunk in 1usize..2000,
        is_hasty in any::<bool>(),
        voice_calibration in proptest::collection::vec(-3.0f32..3.0, 0..=73),
    ) {
        let mut hearing = Hearing::new().unwrap();
        let latency = if is_hasty { HearingLatency::Low } else { HearingLatency::Accurate };
        hearing.configure(&AudioSettings { latency, voice_calibration, ..AudioSettings::default() });
        for report in hear_from(&mut hearing, &samples, chunk, Timestamp::ZERO) {
            let frame = report.frame;
            prop_assert!(frame.weights.iter().all(|w| (0.0..=1.0).contains(w)));
            prop_assert!((frame.weights.iter().sum::<f32>() - 1.0).abs() < 1e-3);
            prop_assert!((0.0..=1.0).contains(&frame.voiced) && (0.0..=1.0).contains(&frame.laughter));
            prop_assert!((-120.0..=20.0).contains(&frame.level_db));
        }
        prop_assert_eq!(VISEME_COUNT, 15);
    }
}

/// Recordings of people, which are not in the repository: `OMOTE_TEST_DATA=… cargo test -- --ignored recordings`.
#[test]
#[ignore = "needs OMOTE_TEST_DATA"]
fn recordings_are_understood() {
    let Some(root) = std::env::var_os("OMOTE_TEST_DATA").map(PathBuf::from) else {
        println!("skipped: OMOTE_TEST_DATA names no folder");
        return;
    };
    let folders = std::fs::read_dir(root.join("lipsync/eval")).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let (mut score, mut hops, mut open) = (Score::default(), 0, 0);
        let began = std::time::Instant::now();
        for wav in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if wav.extension().is_none_or(|e| e != "wav") {
                continue;
            }
            let reports = hear(&read_wav(&wav), 160);
            hops += reports.len();
            open += reports.iter().filter(|r| r.frame.weight(Viseme::Sil) + r.frame.weight(Viseme::Pp) < 0.5).count();
            if wav.with_extension("tsv").exists() {
                score.add(&reports, &read_labels(&wav.with_extension("tsv")));
            }
        }
        let micros = began.elapsed().as_secs_f64() * 1e6 / hops.max(1) as f64;
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}: {score}; open {:.2} of {hops} hops, {micros:.0} us a hop", open as f64 / hops.max(1) as f64);
        if score.six.1 > 0 {
            assert!(score.six.value() > 0.5, "{name}");
        }
    }
}
