//! A scripted performance, and the mixer over it.

pub use glam::Vec3;
pub use omote::mix::Mixer;
pub use omote::settings::{LipsyncMode, MixStyle, Settings, VideoMouthStyle};
pub use omote::types::{
    ARKIT_COUNT, AudioHints, AudioReport, AudioState, Brows, FaceObservation, FaceReport, FaceState, Gaze, HeadPose,
    Lids, MouthRatios, Timestamp, VISEME_COUNT, VideoHints, VideoState, Viseme, VisemeFrame, Vowel,
};

/// How late reports come, seconds.
pub const VIDEO_LATENCY: f64 = 0.05;
pub const AUDIO_LATENCY: f64 = 0.06;

/// A performance: what there is to see and to hear at each moment. `None` means that no report comes at all.
pub struct Scene<'a> {
    pub secs: f64,
    pub display_hz: f64,
    pub camera_fps: f64,
    /// Microphone reports come in bunches of this many.
    pub bunch: usize,
    pub settings: &'a dyn Fn(f64) -> Settings,
    pub video: &'a dyn Fn(f64) -> Option<(VideoState, FaceObservation)>,
    pub audio: &'a dyn Fn(f64) -> Option<(AudioState, VisemeFrame)>,
}

impl Scene<'_> {
    pub fn run(&self) -> Vec<FaceState> {
        let mut mixer = Mixer::new();
        let (mut frame, mut hop) = (0u64, 0usize);
        (0..(self.secs * self.display_hz) as usize)
            .map(|tick| {
                let now = tick as f64 / self.display_hz;
                while frame as f64 / self.camera_fps + VIDEO_LATENCY <= now {
                    let at = frame as f64 / self.camera_fps;
                    if let Some((state, observation)) = (self.video)(at) {
                        mixer.see(&FaceReport {
                            captured_at: Timestamp::from_secs_f64(at),
                            seq: frame,
                            state,
                            hints: VideoHints::default(),
                            observation: (!state.is_face_lost()).then_some(observation),
                        });
                    }
                    frame += 1;
                }
                while (hop + self.bunch) as f64 * 0.01 + AUDIO_LATENCY <= now {
                    for hop in hop..hop + self.bunch {
                        let at = hop as f64 * 0.01;
                        if let Some((state, frame)) = (self.audio)(at) {
                            let captured_at = Timestamp::from_secs_f64(at);
                            mixer.hear(AudioReport { captured_at, state, hints: AudioHints::default(), frame });
                        }
                    }
                    hop += self.bunch;
                }
                mixer.mix(Timestamp::from_secs_f64(now), &(self.settings)(now))
            })
            .collect()
    }

    /// The opening of the mouth over time.
    pub fn open(&self) -> Vec<f32> {
        self.run().iter().map(|s| s.mouth.open).collect()
    }
}

pub fn mode(mode: LipsyncMode) -> Settings {
    let mut settings = Settings::default();
    settings.lipsync.mode = mode;
    settings.view.mirror = false;
    settings
}

/// How far the mouth of somebody who speaks about four and a half syllables a second is open.
pub fn spoken(t: f64) -> f32 {
    let syllable = 0.5 - 0.5 * (std::f64::consts::TAU * 4.3 * t).cos();
    let stress = 0.7 + 0.25 * (std::f64::consts::TAU * 0.7 * t).sin();
    (syllable * stress) as f32
}

/// Which vowel: they take turns, syllable by syllable.
pub fn spoken_vowel(t: f64) -> Viseme {
    [Viseme::Aa, Viseme::E, Viseme::Oh, Viseme::Ih, Viseme::Aa, Viseme::Ou][(t * 4.3) as usize % 6]
}

pub fn heard(t: f64) -> VisemeFrame {
    let open = spoken(t).min(1.0);
    let mut frame =
        VisemeFrame { weights: [0.0; VISEME_COUNT], level_db: -32.0 + 8.0 * open, voiced: 0.95, laughter: 0.0 };
    frame.weights[spoken_vowel(t) as usize] = 0.8 * open;
    frame.weights[Viseme::Nn as usize] = 0.2 * open;
    frame.weights[Viseme::Sil as usize] = 1.0 - open;
    frame
}

pub fn only(viseme: Viseme) -> VisemeFrame {
    let mut frame = VisemeFrame { weights: [0.0; VISEME_COUNT], level_db: -28.0, voiced: 0.95, laughter: 0.0 };
    frame.weights[viseme as usize] = 1.0;
    frame
}

pub fn observation() -> FaceObservation {
    FaceObservation {
        confidence: 0.95,
        landmarks_px: Vec::new(),
        head: HeadPose::default(),
        position: Vec3::new(0.0, 0.0, 0.6),
        mouth: MouthRatios::default(),
        lids: Lids::default(),
        brows: Brows::default(),
        gaze: Gaze::default(),
        blendshapes: [0.0; ARKIT_COUNT],
    }
}

pub fn seen_mouth(open: f32, width: f32) -> FaceObservation {
    FaceObservation { mouth: MouthRatios { open, width, ..MouthRatios::default() }, ..observation() }
}

pub fn speech_seen(t: f64) -> Option<(VideoState, FaceObservation)> {
    Some((VideoState::Tracked, seen_mouth(0.8 * spoken(t), 0.55)))
}

pub fn speech_heard(t: f64) -> Option<(AudioState, VisemeFrame)> {
    Some((AudioState::Live, heard(t)))
}

pub fn nothing_seen(_: f64) -> Option<(VideoState, FaceObservation)> {
    None
}

pub fn nothing_heard(_: f64) -> Option<(AudioState, VisemeFrame)> {
    None
}

pub fn speech<'a>(settings: &'a dyn Fn(f64) -> Settings) -> Scene<'a> {
    Scene {
        secs: 4.0,
        display_hz: 60.0,
        camera_fps: 30.0,
        bunch: 1,
        settings,
        video: &speech_seen,
        audio: &speech_heard,
    }
}

pub fn range_of(values: &[f32]) -> f32 {
    let (min, max) = values.iter().fold((f32::MAX, f32::MIN), |(min, max), v| (min.min(*v), max.max(*v)));
    max - min
}

pub fn seconds(open: &[f32], from: f64, until: f64) -> &[f32] {
    &open[(from * 60.0).round() as usize..(until * 60.0).round() as usize]
}
