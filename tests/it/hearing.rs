//! The same voice through every kind of microphone is the same mouth: rates, formats, channels and their faults.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "clippy sees helpers of tests as library code"
)]

use std::path::Path;
use std::sync::LazyLock;

use omote::audio::{AudioSource, WavSource};
use omote::engine::SoundPath;
use omote::eval::listen;
use omote::settings::{AudioSettings, HearingLatency, Settings};
use omote::signal::Rng;
use omote::types::{AudioReport, AudioState, SourceError, Viseme};
use omote::voice::{Hearing, VisemeModel, label_lag};

const RATE: u32 = 16_000;

/// Six seconds of the presenter, with a pause before and after, peak at a half.
static VOICE: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/presenter/demo.wav");
    let mut reader = hound::WavReader::open(path).unwrap();
    let samples: Vec<f32> = reader.samples::<i16>().map(|s| f32::from(s.unwrap()) / 32_768.0).collect();
    let peak = samples[..96_000].iter().fold(0.0_f32, |m, s| m.max(s.abs()));
    samples[..96_000].iter().map(|s| s / peak * 0.5).collect()
});

static CLEAN: LazyLock<Vec<AudioReport>> = LazyLock::new(|| hear(std::slice::from_ref(&*VOICE), RATE, Format::I16));

#[derive(Clone, Copy, Debug)]
enum Format {
    U8,
    I16,
    I24,
    I32,
    F32,
}

/// The reports of a WAV file with these channels.
fn hear(channels: &[Vec<f32>], rate_hz: u32, format: Format) -> Vec<AudioReport> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("voice.wav");
    let (bits_per_sample, sample_format) = match format {
        Format::U8 => (8, hound::SampleFormat::Int),
        Format::I16 => (16, hound::SampleFormat::Int),
        Format::I24 => (24, hound::SampleFormat::Int),
        Format::I32 => (32, hound::SampleFormat::Int),
        Format::F32 => (32, hound::SampleFormat::Float),
    };
    let spec = hound::WavSpec { channels: channels.len() as u16, sample_rate: rate_hz, bits_per_sample, sample_format };
    let mut writer = hound::WavWriter::create(&path, spec).unwrap();
    let peak = ((1_i64 << (bits_per_sample - 1)) - 1) as f64;
    for i in 0..channels[0].len() {
        for channel in channels {
            match format {
                Format::F32 => writer.write_sample(channel[i]).unwrap(),
                _ => writer.write_sample((f64::from(channel[i].clamp(-1.0, 1.0)) * peak).round() as i32).unwrap(),
            }
        }
    }
    writer.finalize().unwrap();
    let mut source = WavSource::open(&path).unwrap();
    let mut hearing = Hearing::new().unwrap();
    let mut sound = SoundPath::new(source.sample_rate_hz(), 0.0).unwrap();
    let (mut reports, mut block) = (Vec::new(), vec![0.0; rate_hz as usize / 100]);
    loop {
        match source.read(&mut block) {
            Ok((count, at)) => {
                sound.set_source_hints(source.hints());
                reports.extend_from_slice(sound.hear(&mut hearing, &mut block[..count], at));
            }
            Err(SourceError::Ended) => return reports,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Another rate, by a windowed sinc of 24 periods.
fn resampled(samples: &[f32], rate_hz: u32) -> Vec<f32> {
    let cutoff = (f64::from(rate_hz) / f64::from(RATE)).min(1.0) * 0.95;
    let half = (24.0 / cutoff) as i64;
    let count = samples.len() * rate_hz as usize / RATE as usize;
    (0..count)
        .map(|i| {
            let at = i as f64 * f64::from(RATE) / f64::from(rate_hz);
            let near = at as i64;
            let tap = |k: i64| {
                let x = (at - k as f64) * std::f64::consts::PI;
                let sinc = if x.abs() < 1e-9 { cutoff } else { (x * cutoff).sin() / x };
                sinc * (0.5 + 0.5 * (x / half as f64).clamp(-std::f64::consts::PI, std::f64::consts::PI).cos())
            };
            let inside = (near - half + 1).max(0)..=(near + half).min(samples.len() as i64 - 1);
            inside.map(|k| tap(k) * f64::from(samples[k as usize])).sum::<f64>() as f32
        })
        .collect()
}

fn likeliest(report: &AudioReport) -> usize {
    (0..15).max_by(|a, b| report.frame.weights[*a].total_cmp(&report.frame.weights[*b])).unwrap()
}

/// A I U E O, closed, other.
fn six(viseme: usize) -> usize {
    match Viseme::ALL[viseme] {
        Viseme::Sil | Viseme::Pp => 5,
        Viseme::Aa => 0,
        Viseme::Ih => 1,
        Viseme::Ou => 2,
        Viseme::E => 3,
        Viseme::Oh => 4,
        _ => 6,
    }
}

/// Share of the clean path's reports that agree, by 15 visemes and by six classes.
fn agreement(reports: &[AudioReport]) -> (f64, f64) {
    let mut right = (0, 0);
    for clean in CLEAN.iter() {
        let at = clean.captured_at.as_secs_f64();
        let next = reports.partition_point(|r| r.captured_at.as_secs_f64() < at - 0.005);
        let Some(report) = reports.get(next).filter(|r| r.captured_at.secs_after(clean.captured_at).abs() < 0.006)
        else {
            continue;
        };
        right.0 += usize::from(likeliest(report) == likeliest(clean));
        right.1 += usize::from(six(likeliest(report)) == six(likeliest(clean)));
    }
    let all = CLEAN.len() as f64;
    (right.0 as f64 / all, right.1 as f64 / all)
}

#[track_caller]
fn check(name: &str, least: f64, reports: &[AudioReport]) {
    let (visemes, six) = agreement(reports);
    println!("{name}: {visemes:.3} of visemes, {six:.3} of six classes agree");
    assert!(visemes >= least && six >= least, "{name}: {visemes:.3}, {six:.3}");
}

fn scaled(factor: f32) -> Vec<f32> {
    VOICE.iter().map(|s| s * factor).collect()
}

fn hum(hz: f32, amplitude: f32) -> Vec<f32> {
    (0..VOICE.len()).map(|i| (i as f32 / RATE as f32 * std::f32::consts::TAU * hz).sin() * amplitude).collect()
}

fn hiss(amplitude: f32) -> Vec<f32> {
    let mut rng = Rng::new(3);
    (0..VOICE.len()).map(|_| rng.normal() * amplitude).collect()
}

#[test]
fn every_rate_gives_the_same_mouth() {
    for rate_hz in [22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000] {
        check(&format!("{rate_hz} Hz"), 0.85, &hear(&[resampled(&VOICE, rate_hz)], rate_hz, Format::I16));
    }
    // A third of the band is gone, and s and f with it.
    check("11025 Hz", 0.78, &hear(&[resampled(&VOICE, 11_025)], 11_025, Format::I16));
    check("8000 Hz", 0.7, &hear(&[resampled(&VOICE, 8_000)], 8_000, Format::I16));
}

#[test]
fn every_sample_format_gives_the_same_mouth() {
    for format in [Format::U8, Format::I24, Format::I32, Format::F32] {
        check(&format!("{format:?}"), 0.85, &hear(std::slice::from_ref(&*VOICE), RATE, format));
    }
    check("24 bit, 48 kHz", 0.85, &hear(&[resampled(&VOICE, 48_000)], 48_000, Format::I24));
}

#[test]
fn a_telephone_headset_gives_nearly_the_same_mouth() {
    let band = resampled(&VOICE, 8_000);
    let law = |s: f32| {
        let coded = (s.abs() * 255.0).ln_1p() / 256_f32.ln();
        ((coded * 127.0).round() / 127.0 * 256_f32.ln()).exp_m1() / 255.0 * s.signum()
    };
    check("8 kHz mu-law", 0.7, &hear(&[band.into_iter().map(law).collect()], 8_000, Format::I16));
}

#[test]
fn the_live_channel_is_heard_and_a_wrong_one_is_named() {
    let silence = vec![0.0; VOICE.len()];
    let wrong = |reports: &[AudioReport]| reports.iter().any(|r| r.hints.wrong_channel);
    let cases: [(&str, Vec<Vec<f32>>); 6] = [
        ("right is dead", vec![VOICE.clone(), silence.clone()]),
        ("left is dead", vec![silence.clone(), VOICE.clone()]),
        ("antiphase", vec![VOICE.clone(), scaled(-1.0)]),
        ("left has an offset", vec![vec![0.3; VOICE.len()], VOICE.clone()]),
        ("hum on the first of four", vec![hum(120.0, 0.6), silence.clone(), scaled(0.5), silence.clone()]),
        ("seven of eight hiss", (0..8).map(|c| if c == 5 { VOICE.clone() } else { hiss(0.02) }).collect()),
    ];
    for (name, channels) in cases {
        check(name, 0.85, &hear(&channels, RATE, Format::I16));
    }
    // The voice moves over in the middle.
    let half = VOICE.len() / 2;
    let part = |from: usize, until: usize| -> Vec<f32> {
        VOICE.iter().enumerate().map(|(i, s)| if (from..until).contains(&i) { *s } else { 0.0 }).collect()
    };
    let moved = hear(&[part(0, half), part(half, VOICE.len())], RATE, Format::I16);
    check("the voice changes channels", 0.85, &moved);
    assert!(wrong(&moved));
    assert!(!wrong(&hear(&[VOICE.clone(), scaled(0.3)], RATE, Format::I16)));
}

#[test]
fn levels_and_broken_samples_give_the_same_mouth() {
    let offset: Vec<f32> = VOICE.iter().map(|s| s + 0.2).collect();
    check("offset", 0.85, &hear(&[offset], RATE, Format::I16));
    let clipped = hear(&[scaled(8.0)], RATE, Format::I16);
    check("clipped eightfold", 0.8, &clipped);
    assert!(clipped.iter().any(|r| r.hints.clipping) && !CLEAN.iter().any(|r| r.hints.clipping));
    check("four times full scale", 0.85, &hear(&[scaled(4.0)], RATE, Format::F32));
    check("40 dB down", 0.85, &hear(&[scaled(0.01)], RATE, Format::F32));
    let mut broken = VOICE.clone();
    broken[20_000..20_010].fill(f32::NAN);
    broken[30_000] = f32::INFINITY;
    check("not a number", 0.85, &hear(&[broken], RATE, Format::F32));
    let mut dropouts = VOICE.clone();
    dropouts.chunks_mut(8_000).skip(1).for_each(|second| second[..800].fill(0.0));
    check("dropouts of 50 ms", 0.75, &hear(&[dropouts], RATE, Format::I16));
}

#[test]
fn silence_is_a_closed_mouth_and_a_muted_microphone() {
    for rate_hz in [8_000, 48_000] {
        let reports = hear(&[vec![0.0; rate_hz as usize * 10]], rate_hz, Format::I16);
        assert!(reports.iter().all(|r| likeliest(r) == 0), "{rate_hz}");
        assert_eq!(reports.last().unwrap().state, AudioState::Muted);
    }
}

/// The stated delay is the measured one: half a window, the wait of the labels and the resampler's half filter.
#[test]
fn the_algorithmic_delay_is_what_is_stated() {
    for rate_hz in [16_000, 48_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("voice.wav");
        let spec = hound::WavSpec {
            channels: 1,
            sample_rate: rate_hz,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut writer = hound::WavWriter::create(&path, spec).unwrap();
        resampled(&VOICE[..32_000], rate_hz).iter().for_each(|s| writer.write_sample((s * 3e4) as i16).unwrap());
        writer.finalize().unwrap();
        let resampler_secs = SoundPath::new(rate_hz, 0.0).unwrap().delay().as_secs_f64();
        for latency in [HearingLatency::Accurate, HearingLatency::Low] {
            let mut settings = Settings::default();
            settings.audio.latency = latency;
            let heard = listen(WavSource::open(&path).unwrap(), &mut Hearing::new().unwrap(), &settings).unwrap();
            let stated = label_lag(latency).as_secs_f64() + resampler_secs;
            let worst = heard.hops.iter().map(|h| h.available_secs - h.at_secs).fold(0.0, f64::max);
            println!("{rate_hz} Hz, {latency:?}: stated {:.1} ms, measured {:.1} ms", stated * 1e3, worst * 1e3);
            // Pieces of a millisecond are handed over.
            assert!((stated - 1e-4..stated + 1.1e-3).contains(&worst), "{rate_hz} {latency:?}: {worst}");
        }
    }
}

/// `cargo test --release -- --ignored --nocapture cost_of_hearing`
#[test]
#[ignore = "a measurement"]
fn cost_of_hearing() {
    for rate_hz in [16_000, 48_000, 192_000] {
        let mut samples = resampled(&VOICE, rate_hz);
        let mut path = SoundPath::new(rate_hz, 0.0).unwrap();
        let mut hearing = Hearing::new().unwrap();
        hearing.configure(&AudioSettings::default());
        let began = std::time::Instant::now();
        let mut hops = 0;
        for (i, block) in samples.chunks_mut(rate_hz as usize / 100).enumerate() {
            let at = omote::types::Timestamp::from_secs_f64(i as f64 / 100.0);
            hops += path.hear(&mut hearing, block, at).len();
        }
        let micros = began.elapsed().as_secs_f64() * 1e6 / f64::from(hops.max(1) as u32);
        println!("{rate_hz} Hz: {micros:.0} us a hop of 10 ms, {:.2} % of a core", micros / 100.0);
    }
}
