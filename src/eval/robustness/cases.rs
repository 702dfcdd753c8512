//! What the face model has to go through, and what is asked of it.

use glam::{Quat, Vec2, Vec3};
use image::{RgbImage, imageops};

use super::super::EvalError;
use super::filters::{self, Worn};
use super::studio::{CLIP_FRAMES, FPS, Studio, lively, painter};
use crate::capture::presenter::{PresenterPose, Scene};
use crate::types::{FaceObservation, HeadPose, Lids, VideoState};

/// One picture of a case.
pub(super) struct Shot {
    pub picture: RgbImage,
    pub secs: f64,
    pub truth: Option<Truth>,
}

/// What is to be seen in a picture; `None` where that is not known or not asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Truth {
    pub head: Option<Quat>,
    pub lids: Option<Lids>,
    pub open: Option<f32>,
}

impl Truth {
    fn of(seen: &FaceObservation) -> Self {
        Self { head: Some(seen.head.to_quat()), lids: Some(seen.lids), open: Some(seen.mouth.open) }
    }

    fn of_pose(pose: &PresenterPose) -> Self {
        Self { head: Some(pose.head.to_quat()), ..Self::default() }
    }
}

/// One of these states in nine of ten frames of a stretch of time, seconds.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub from: f64,
    pub to: f64,
    pub states: &'static [VideoState],
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    pub phases: Vec<Phase>,
    /// A hint that must be there in the last frames, and one that must never be.
    pub hint: Option<&'static str>,
    pub no_hint: Option<&'static str>,
    /// Mean errors at most: head in degrees, lids and mouth in weights.
    pub head_deg: Option<f32>,
    pub lids: Option<f32>,
    pub open: Option<f32>,
    /// The mouth is never further open than this.
    pub most_open: Option<f32>,
    /// Where the followed face is at the end, as shares of the picture's width.
    pub ends_within: Option<(f32, f32)>,
}

type Film = Box<dyn Fn(&mut Studio) -> Result<Vec<Shot>, EvalError>>;

/// One case.
pub(super) struct Case {
    pub group: &'static str,
    pub name: String,
    pub film: Film,
    pub limits: Limits,
}

const TRACKED: &[VideoState] = &[VideoState::Tracked];
const ANY_FACE: &[VideoState] = &[VideoState::Tracked, VideoState::TurnedAway];
const COVERED: &[VideoState] = &[VideoState::MouthCovered];
/// A hand may hide so much that no face is left.
const HAND: &[VideoState] = &[VideoState::MouthCovered, VideoState::FaceLost];
const DARK: &[VideoState] = &[VideoState::TooDark];
const LOST: &[VideoState] = &[VideoState::FaceLost];
/// BEHAVIOUR: lost after 0.12 s, back after 0.1 s; a face anew within 0.5 s.
const SETTLED: f64 = 0.35;
const FOREVER: f64 = 1e9;

fn throughout(states: &'static [VideoState]) -> Limits {
    Limits { phases: vec![Phase { from: SETTLED, to: FOREVER, states }], ..Limits::default() }
}

fn tracked(head_deg: f32, lids: f32, open: f32) -> Limits {
    Limits { head_deg: Some(head_deg), lids: Some(lids), open: Some(open), ..throughout(TRACKED) }
}

/// A subject's clip with every picture changed.
fn disturbed(subject: usize, change: impl Fn(&RgbImage, &[Vec3], u64) -> RgbImage + 'static) -> Film {
    turned(subject, change, Truth::of)
}

fn turned(
    subject: usize,
    change: impl Fn(&RgbImage, &[Vec3], u64) -> RgbImage + 'static,
    truth: impl Fn(&FaceObservation) -> Truth + 'static,
) -> Film {
    Box::new(move |studio| {
        let Some(subject) = studio.subjects.get(subject) else { return Ok(Vec::new()) };
        let shots = subject.pictures.iter().zip(&subject.seen).enumerate().map(|(i, (picture, seen))| Shot {
            picture: change(picture, subject.landmarks(i), i as u64),
            secs: i as f64 / FPS,
            truth: seen.as_ref().map(&truth),
        });
        Ok(shots.collect())
    })
}

/// All cases for these subjects, the presenter first.
pub(super) fn all(subjects: &[String]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, name) in subjects.iter().enumerate() {
        light(i, name, &mut cases);
        worn(i, name, &mut cases);
        framing(i, name, &mut cases);
        time(i, name, &mut cases);
    }
    poses(&mut cases);
    scenes(subjects.len(), &mut cases);
    cases
}

fn light(subject: usize, who: &str, cases: &mut Vec<Case>) {
    let mut add =
        |name: &str, limits, film| cases.push(Case { group: "light", name: format!("{who}: {name}"), film, limits });
    for (percent, limits) in
        [(50, tracked(2.0, 0.08, 0.08)), (25, tracked(3.0, 0.12, 0.10)), (10, tracked(5.0, 0.25, 0.20))]
    {
        let share = percent as f32 / 100.0;
        add(&format!("{percent} % light"), limits, disturbed(subject, move |p, _, i| filters::dim(p, share, 1.6, i)));
    }
    add("4 % light", throughout(DARK), disturbed(subject, |p, _, i| filters::dim(p, 0.04, 1.6, i)));
    for (noise, limits) in [(10.0, tracked(2.5, 0.12, 0.10)), (25.0, tracked(5.0, 0.25, 0.20))] {
        add(&format!("noise {noise}"), limits, disturbed(subject, move |p, _, i| filters::dim(p, 1.0, noise, i)));
    }
    for (length, limits) in [(9, tracked(4.0, 0.25, 0.15)), (21, tracked(12.0, 0.6, 0.4))] {
        add(
            &format!("motion blur {length} px"),
            limits,
            disturbed(subject, move |p, _, _| filters::motion_blur(p, length)),
        );
    }
    let lamp = |x, y| move |p: &RgbImage, _: &[Vec3], _| filters::glare(p, Vec2::new(x, y));
    add("glare beside", tracked(5.0, 0.25, 0.25), disturbed(subject, lamp(0.25, 0.15)));
    add("grey", tracked(3.0, 0.15, 0.12), disturbed(subject, |p, _, _| filters::grey(p)));
    for (name, share) in [("brown skin", Vec3::new(0.62, 0.52, 0.47)), ("dark skin", Vec3::new(0.36, 0.29, 0.26))] {
        add(name, tracked(5.0, 0.25, 0.2), disturbed(subject, move |p, _, _| filters::skin(p, share)));
    }
}

fn worn(subject: usize, who: &str, cases: &mut Vec<Case>) {
    let mut add = |name: &str, worn, limits| {
        let film = disturbed(subject, move |p, landmarks, i| filters::wear(p, worn, landmarks, i));
        cases.push(Case { group: "worn", name: format!("{who}: {name}"), film, limits });
    };
    let closed = |states| Limits { most_open: Some(0.1), ..throughout(states) };
    add("blue mask", Worn::Mask([150, 190, 215]), closed(COVERED));
    add("white mask", Worn::Mask([226, 226, 222]), closed(COVERED));
    add("black mask", Worn::Mask([38, 38, 42]), closed(COVERED));
    add("skin-coloured mask", Worn::Mask([205, 165, 140]), closed(COVERED));
    add("hand before the mouth", Worn::Hand, closed(HAND));
    add("microphone", Worn::Microphone, closed(COVERED));
    add("glasses", Worn::Glasses, Limits { no_hint: Some("eyes_covered"), ..tracked(4.0, 0.3, 0.15) });
    add(
        "sunglasses",
        Worn::Sunglasses,
        Limits { hint: Some("eyes_covered"), head_deg: Some(6.0), ..throughout(TRACKED) },
    );
    // Seen bare for a while, then a hand comes, then it goes.
    let film: Film = Box::new(move |studio| {
        let Some(subject) = studio.subjects.get(subject) else { return Ok(Vec::new()) };
        let shots = (0..CLIP_FRAMES * 3).map(|i| {
            let of = i % CLIP_FRAMES;
            let is_hand = (CLIP_FRAMES..CLIP_FRAMES * 2).contains(&i);
            let picture = subject.pictures.get(of).cloned().unwrap_or_default();
            let picture =
                if is_hand { filters::wear(&picture, Worn::Hand, subject.landmarks(of), i as u64) } else { picture };
            Shot { picture, secs: i as f64 / FPS, truth: None }
        });
        Ok(shots.collect())
    });
    let clip = CLIP_FRAMES as f64 / FPS;
    let phases = vec![
        Phase { from: SETTLED, to: clip, states: TRACKED },
        Phase { from: clip + 0.3, to: clip * 2.0, states: HAND },
        Phase { from: clip * 2.0 + 0.5, to: FOREVER, states: TRACKED },
    ];
    let name = format!("{who}: hand comes and goes");
    cases.push(Case { group: "worn", name, film, limits: Limits { phases, ..Limits::default() } });
}

fn framing(subject: usize, who: &str, cases: &mut Vec<Case>) {
    let mut add = |name: String, limits, film| {
        cases.push(Case { group: "framing", name: format!("{who}: {name}"), film, limits })
    };
    for degrees in [-45.0f32, -30.0, 30.0, 45.0] {
        let angle = degrees.to_radians();
        // Clockwise as seen is towards the own left shoulder, which is a turn about the line of sight.
        let film = turned(
            subject,
            move |p, _, _| filters::rotate(p, angle),
            move |seen| Truth { head: Some(Quat::from_rotation_z(-angle) * seen.head.to_quat()), ..Truth::of(seen) },
        );
        add(format!("turned by {degrees}°"), tracked(6.0, 0.2, 0.15), film);
    }
    let film = turned(
        subject,
        |p, _, _| imageops::flip_horizontal(p),
        |seen| {
            let HeadPose { yaw, pitch, roll } = seen.head;
            Truth {
                head: Some(HeadPose { yaw: -yaw, pitch, roll: -roll }.to_quat()),
                lids: Some(Lids { left: seen.lids.right, right: seen.lids.left }),
                open: Some(seen.mouth.open),
            }
        },
    );
    add("mirrored".into(), tracked(4.0, 0.15, 0.1), film);
    for (name, x, y) in [("left", -0.38f32, 0.0f32), ("right", 0.38, 0.0), ("top", 0.0, -0.25)] {
        let film = disturbed(subject, move |p, _, _| filters::shift(p, Vec2::new(x, y)));
        add(format!("cut off {name}"), Limits { hint: Some("at_edge"), ..throughout(ANY_FACE) }, film);
    }
    for (percent, limits) in [(50, tracked(6.0, 0.25, 0.2)), (25, tracked(9.0, 0.4, 0.3)), (15, throughout(TRACKED))] {
        let share = percent as f32 / 100.0;
        let late = Limits { phases: vec![Phase { from: 0.5, to: FOREVER, states: TRACKED }], ..limits };
        let film = turned(
            subject,
            move |p, _, i| filters::dim(&filters::shrink(p, share), 1.0, 1.6, i),
            move |seen| Truth { head: None, ..Truth::of(seen) },
        );
        add(format!("{percent} % of its size"), late, film);
    }
    for (width, height) in [(120, 90), (160, 120), (320, 240), (1280, 720), (1920, 1080), (480, 640)] {
        let film =
            turned(subject, move |p, _, _| fit(p, width, height), move |seen| Truth { head: None, ..Truth::of(seen) });
        let limits = if width < 200 { throughout(TRACKED) } else { tracked(5.0, 0.2, 0.2) };
        add(format!("{width}×{height}"), limits, film);
    }
}

/// The picture in another size, with its edges carried on where the shape differs.
fn fit(picture: &RgbImage, width: u32, height: u32) -> RgbImage {
    let scale = (width as f32 / picture.width() as f32).min(height as f32 / picture.height() as f32);
    let size = |v: u32| ((v as f32 * scale) as u32).max(1);
    let (w, h) = (size(picture.width()), size(picture.height()));
    let inner = imageops::resize(picture, w, h, imageops::FilterType::Triangle);
    let (left, top) = ((width - w) / 2, (height - h) / 2);
    RgbImage::from_fn(width, height, |x, y| {
        *inner.get_pixel(x.saturating_sub(left).min(w - 1), y.saturating_sub(top).min(h - 1))
    })
}

fn time(subject: usize, who: &str, cases: &mut Vec<Case>) {
    let mut add =
        |name: &str, limits, film| cases.push(Case { group: "time", name: format!("{who}: {name}"), film, limits });
    let thinned = |keep: fn(usize) -> bool| -> Film {
        Box::new(move |studio| {
            let all = disturbed(subject, |p, _, _| p.clone())(studio)?;
            Ok(all.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, shot)| shot).collect())
        })
    };
    add("8 frames a second", tracked(3.0, 0.2, 0.15), thinned(|i| i % 4 == 0));
    add("uneven frame rate", tracked(3.0, 0.15, 0.1), thinned(|i| i.wrapping_mul(2_654_435_761) % 7 < 4));
    let frozen: Film = Box::new(move |studio| {
        let mut shots = disturbed(subject, |p, _, _| p.clone())(studio)?;
        if let Some(held) = shots.get(10).map(|shot| shot.picture.clone()) {
            shots.iter_mut().skip(11).for_each(|shot| shot.picture = held.clone());
        }
        Ok(shots)
    });
    let at = 10.0 / FPS;
    let phases = vec![Phase { from: at + 0.51, to: FOREVER, states: &[VideoState::Frozen] }];
    add("frozen", Limits { phases, ..Limits::default() }, frozen);
    let black = disturbed(subject, |p, _, i| filters::dim(p, 0.0, 1.6, i));
    add(
        "black",
        Limits { phases: vec![Phase { from: 0.0, to: FOREVER, states: &[VideoState::Black] }], ..Limits::default() },
        black,
    );
    let gone: Film = Box::new(move |studio| {
        let mut shots = disturbed(subject, |p, _, _| p.clone())(studio)?;
        let room = studio.paint_room(1);
        let (from, to) = (10, 10 + (0.5 * FPS) as usize);
        for (i, shot) in shots.iter_mut().enumerate().skip(from).take(to - from) {
            shot.picture = filters::dim(&room, 1.0, 1.6, i as u64);
        }
        Ok(shots)
    });
    let phases = vec![
        Phase { from: 0.0, to: at, states: TRACKED },
        Phase { from: at + 0.01, to: at + 0.5, states: LOST },
        Phase { from: at + 0.6, to: FOREVER, states: TRACKED },
    ];
    add("gone and back", Limits { phases, ..Limits::default() }, gone);
}

/// The presenter in poses: the truth is what was drawn. Drawn faces are flatter than real ones, so turns look smaller.
fn poses(cases: &mut Vec<Case>) {
    let posed = |size: (u32, u32), secs: f64, pose: fn(f64) -> PresenterPose| -> Film {
        Box::new(move |_| {
            let mut painter = painter(size.0, size.1)?;
            let count = (secs * FPS) as usize;
            let shots = (0..count).map(|i| {
                let (secs, mut picture) = (i as f64 / FPS, RgbImage::new(size.0, size.1));
                let pose = pose(secs);
                painter.paint(&Scene { noise_seed: i as u64, ..Scene::of(pose) }, &mut picture);
                Shot { picture, secs, truth: Some(Truth::of_pose(&pose)) }
            });
            Ok(shots.collect())
        })
    };
    let mut add = |name: &str, limits, film| cases.push(Case { group: "pose", name: name.into(), film, limits });
    let vga = (640, 480);
    fn with(secs: f64, change: impl Fn(&mut PresenterPose)) -> PresenterPose {
        let mut pose = lively(secs);
        change(&mut pose);
        pose
    }
    let head = |deg| Limits { head_deg: Some(deg), ..throughout(TRACKED) };
    add("yaw 30°", head(8.0), posed(vga, 1.0, |s| with(s, |p| p.head.yaw += 0.52)));
    add("yaw −30°", head(8.0), posed(vga, 1.0, |s| with(s, |p| p.head.yaw -= 0.52)));
    let any = |deg| Limits { head_deg: Some(deg), ..throughout(ANY_FACE) };
    add("yaw 50°", any(16.0), posed(vga, 1.0, |s| with(s, |p| p.head.yaw += 0.87)));
    add("yaw −50°", any(16.0), posed(vga, 1.0, |s| with(s, |p| p.head.yaw -= 0.87)));
    let swing = |s: f64| with(s, |p| p.head.yaw = 1.4 * (s * 1.2).sin().max(0.0) as f32);
    let never_lost =
        Limits { phases: vec![Phase { from: SETTLED, to: FOREVER, states: ANY_FACE }], ..Limits::default() };
    add("to profile and back", never_lost, posed(vga, 3.0, swing));
    add("pitch 20°", head(9.0), posed(vga, 1.0, |s| with(s, |p| p.head.pitch += 0.35)));
    add("pitch −20°", head(9.0), posed(vga, 1.0, |s| with(s, |p| p.head.pitch -= 0.35)));
    add("roll 40°", head(8.0), posed(vga, 1.0, |s| with(s, |p| p.head.roll += 0.7)));
    let late =
        |hint| Limits { phases: vec![Phase { from: 0.5, to: FOREVER, states: TRACKED }], hint, ..Limits::default() };
    add("at 0.3 m", head(6.0), posed(vga, 1.0, |s| with(s, |p| p.position.z = 0.3)));
    add("at 1 m", head(7.0), posed(vga, 1.0, |s| with(s, |p| p.position.z = 1.0)));
    add("at 2 m", late(Some("far")), posed(vga, 1.5, |s| with(s, |p| p.position.z = 2.0)));
    add("at 2.5 m, aside", late(Some("far")), posed(vga, 1.5, |s| with(s, |p| p.position = Vec3::new(0.9, 0.3, 2.5))));
    add("at 3 m", late(Some("far")), posed(vga, 1.5, |s| with(s, |p| p.position.z = 3.0)));
    add(
        "at 3 m, 1280×720",
        late(Some("far")),
        posed((1280, 720), 1.5, |s| with(s, |p| p.position = Vec3::new(-1.2, 0.2, 3.0))),
    );
}

/// More than one face, and pictures of faces.
fn scenes(subject_count: usize, cases: &mut Vec<Case>) {
    let mut add = |name: &str, limits, film| cases.push(Case { group: "scene", name: name.into(), film, limits });
    let other = subject_count - 1;
    // At 15 frames a second: a presenter on the left, a still picture at the right, each while it is there.
    let scene = move |secs: f64, person: fn(f64) -> bool, poster: fn(f64) -> bool, height: u32| -> Film {
        Box::new(move |studio| {
            let hung = studio.subjects.get(other).and_then(|subject| subject.poster(height));
            let mut shots = Vec::new();
            for i in 0..(secs * 15.0) as usize {
                let secs = i as f64 / 15.0;
                let mut pose = lively(secs);
                pose.position.x = -0.14;
                let mut picture = if person(secs) { studio.paint(pose, i as u64) } else { studio.paint_room(i as u64) };
                if let Some(hung) = hung.as_ref().filter(|_| poster(secs)) {
                    let hung = filters::dim(hung, 1.0, 1.6, i as u64);
                    picture = filters::hang(&picture, &hung, 400, 90);
                }
                shots.push(Shot { picture, secs, truth: None });
            }
            Ok(shots)
        })
    };
    let phase = |from, to, states| Phase { from, to, states };
    let limits = Limits { phases: vec![phase(0.4, FOREVER, TRACKED)], hint: Some("picture"), ..Limits::default() };
    add("a picture alone", limits, scene(5.0, |_| false, |_| true, 220));
    let limits = Limits { phases: vec![phase(0.4, FOREVER, TRACKED)], no_hint: Some("picture"), ..Limits::default() };
    add("the presenter alone", limits, scene(8.0, |_| true, |_| false, 220));
    let gone = |from: f64| {
        vec![phase(0.4, from, TRACKED), phase(from + 0.08, from + 1.98, LOST), phase(from + 2.3, FOREVER, TRACKED)]
    };
    add(
        "gone, a picture stays",
        Limits { phases: gone(2.4), ..Limits::default() },
        scene(5.5, |s| s < 2.4, |_| true, 220),
    );
    add(
        "gone, another comes",
        Limits { phases: gone(1.5), ..Limits::default() },
        scene(4.5, |s| s < 1.5, |s| s >= 1.5, 220),
    );
    let limits = Limits {
        phases: vec![phase(0.4, FOREVER, TRACKED)],
        no_hint: Some("picture"),
        ends_within: Some((0.0, 0.55)),
        ..Limits::default()
    };
    add("a person before a picture", limits, scene(6.0, |_| true, |_| true, 180));
    let limits =
        Limits { phases: vec![phase(0.4, FOREVER, TRACKED)], ends_within: Some((0.0, 0.55)), ..Limits::default() };
    add("a picture, then a person", limits, scene(12.0, |s| s > 3.0, |_| true, 260));
    // Held in a hand: it moves as a whole.
    let held: Film = Box::new(move |studio| {
        let Some(subject) = studio.subjects.get(other) else { return Ok(Vec::new()) };
        let Some(still) = subject.pictures.first() else { return Ok(Vec::new()) };
        let shots = (0..130).map(|i| {
            let secs = f64::from(i) / 10.0;
            let wave = |hz: f64| (std::f64::consts::TAU * secs * hz).sin() as f32;
            let moved = filters::shift(still, Vec2::new(0.03 * wave(0.3), 0.02 * wave(0.23)));
            let picture = filters::dim(&filters::rotate(&moved, 0.04 * wave(0.19)), 1.0, 1.6, i as u64);
            Shot { picture, secs, truth: None }
        });
        Ok(shots.collect())
    });
    let limits = Limits { phases: vec![phase(0.4, FOREVER, TRACKED)], hint: Some("picture"), ..Limits::default() };
    add("a picture held in a hand", limits, held);
}
