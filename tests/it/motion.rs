//! The acting at its boundary: face states in, poses out.

use glam::{Quat, Vec3};
use omote::motion::{AvatarTraits, ExpressionCommand, Motion};
use omote::settings::Settings;
use omote::types::{
    AvatarPose, Bone, Brows, FaceState, Gaze, HeadPose, Lids, MouthShape, Param, Timestamp, Trust, VideoState,
};
use proptest::prelude::*;

const TRAITS: AvatarTraits = AvatarTraits { slot_count: 3, iris_scale: 2.0 };

fn lost() -> FaceState {
    FaceState::default()
}

fn tracked() -> FaceState {
    FaceState { trust: Trust { face: 1.0, voice: 1.0 }, video: VideoState::Tracked, ..FaceState::default() }
}

fn looking(yaw: f32) -> FaceState {
    FaceState { head: HeadPose { yaw, ..HeadPose::default() }, ..tracked() }
}

/// Plays `secs` at `rate`; `state` says what the person does, `watch` gets each pose.
fn play(
    motion: &mut Motion,
    rate: f32,
    from: f32,
    secs: f32,
    settings: &Settings,
    state: impl Fn(f32) -> FaceState,
    mut watch: impl FnMut(f32, &AvatarPose),
) {
    for tick in 0..(secs * rate).round() as usize {
        let now = from + tick as f32 / rate;
        let state = FaceState { at: Timestamp::from_secs_f64(f64::from(now)), ..state(now) };
        watch(now, motion.step(&state, 1.0 / rate, settings));
    }
}

fn lids(pose: &AvatarPose) -> (f32, f32) {
    (pose.params.get(Param::BlinkLeft), pose.params.get(Param::BlinkRight))
}

/// The wrist relative to the shoulder of a simple skeleton whose arms lie along X in the T-pose.
fn wrist(pose: &AvatarPose, side: f32) -> Vec3 {
    let (shoulder, upper, lower) = if side > 0.0 {
        (Bone::LeftShoulder, Bone::LeftUpperArm, Bone::LeftLowerArm)
    } else {
        (Bone::RightShoulder, Bone::RightUpperArm, Bone::RightLowerArm)
    };
    let rotation = |bone: Bone| {
        let [a, b] = &pose.poses;
        a.bones[bone as usize].slerp(b.bones[bone as usize], pose.blend)
    };
    let out = Vec3::X * side;
    let upper_arm: Quat = rotation(shoulder) * rotation(upper);
    upper_arm * (out * 0.25) + upper_arm * rotation(lower) * (out * 0.24)
}

#[test]
fn the_arms_hang_from_the_first_frame_on() {
    let mut settings = Settings::default();
    for idle_strength in [0.0, 1.0, 2.0] {
        settings.motion.idle_strength = idle_strength;
        let mut motion = Motion::new(1, TRAITS);
        play(
            &mut motion,
            30.0,
            0.0,
            120.0,
            &settings,
            |_| lost(),
            |now, pose| {
                for side in [1.0, -1.0] {
                    let wrist = wrist(pose, side);
                    assert!(wrist.y < -0.4 && wrist.z > 0.0 && wrist.x * side > 0.0, "{wrist} at {now} s");
                }
                assert_eq!(pose.slots.len(), 3);
            },
        );
    }
}

#[test]
fn an_idle_avatar_lives_at_any_frame_rate() {
    let settings = Settings::default();
    let watched = [Param::HeadYaw, Param::HeadPitch, Param::BodyYaw, Param::BodyX, Param::Breath];
    let at = |rate: f32| {
        let mut seen = Vec::new();
        let mut motion = Motion::new(5, TRAITS);
        let every = (rate / 2.0) as usize;
        let mut tick = 0usize;
        play(
            &mut motion,
            rate,
            0.0,
            20.0,
            &settings,
            |_| lost(),
            |_, pose| {
                tick += 1;
                if tick.is_multiple_of(every) {
                    seen.push(watched.map(|p| pose.params.get(p)));
                }
            },
        );
        seen
    };
    let reference = at(144.0);
    for rate in [30.0, 60.0] {
        for (a, b) in at(rate).iter().zip(&reference) {
            for (i, param) in watched.iter().enumerate() {
                let (min, max) = param.range();
                let scale = if *param == Param::Breath { 1.0 } else { 0.01 * (max - min) };
                assert!((a[i] - b[i]).abs() < 0.03 * scale, "{param:?}: {} at {rate} Hz, {} at 144 Hz", a[i], b[i]);
            }
        }
    }
    for (i, param) in watched.iter().enumerate() {
        let (min, max) = reference.iter().fold((f32::MAX, f32::MIN), |(a, b), s| (a.min(s[i]), b.max(s[i])));
        assert!(max - min > 1e-3, "{param:?} stands still");
    }
}

#[test]
fn the_same_seed_acts_the_same() {
    let run = |seed| {
        let mut poses = Vec::new();
        let mut motion = Motion::new(seed, TRAITS);
        play(&mut motion, 60.0, 0.0, 30.0, &Settings::default(), |_| lost(), |_, pose| poses.push(pose.clone()));
        poses
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_head_is_where_it_was_tracked_and_the_body_takes_its_share() {
    let settings = Settings::default();
    let mut motion = Motion::new(1, TRAITS);
    let mut last = None;
    play(&mut motion, 60.0, 0.0, 3.0, &settings, |_| looking(0.6), |_, pose| last = Some(pose.clone()));
    let pose = last.unwrap();
    let (head, body) = (pose.params.get(Param::HeadYaw), pose.params.get(Param::BodyYaw));
    // The idle turn of the body is at most 0.02 rad.
    assert!((head + body - 0.6).abs() < 0.025, "head {head} body {body}");
    assert!((0.15..0.27).contains(&body), "the body takes {body}");
}

#[test]
fn a_head_that_is_lost_and_found_elsewhere_does_not_jump() {
    let settings = Settings::default();
    let mut motion = Motion::new(1, TRAITS);
    let mut yaws = Vec::new();
    // As the mixer gives it: the last pose held while trust fades, bridged on return.
    let state = |now: f32| {
        let mut state = looking(if now < 3.0 { 0.7 } else { -0.7 + 1.4 * (1.0 - (now - 3.0) / 0.35).max(0.0) });
        state.trust.face = if now < 2.0 {
            1.0
        } else if now < 3.0 {
            (1.0 - (now - 2.0) / 0.12).max(0.0)
        } else {
            ((now - 3.0) / 0.12).min(1.0)
        };
        state
    };
    play(&mut motion, 60.0, 0.0, 5.0, &settings, state, |_, pose| {
        yaws.push(pose.params.get(Param::HeadYaw) + pose.params.get(Param::BodyYaw));
    });
    let step = yaws[60..].windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
    println!("largest step of the head {step:.3} rad a frame");
    assert!(step < 0.08, "the head steps by {step} rad");
    assert!(yaws[175].abs() < 0.15, "lost, the head turns to the front: {}", yaws[175]);
    assert!((yaws[299] + 0.7).abs() < 0.05);
}

/// Blinks as (start, end) of the time with the lids lowered.
fn blinks_of(settings: &Settings, secs: f32, state: impl Fn(f32) -> FaceState) -> Vec<(f32, f32)> {
    let mut blinks: Vec<(f32, f32)> = Vec::new();
    let mut start = None;
    let mut deepest = 0.0f32;
    let mut motion = Motion::new(11, TRAITS);
    play(&mut motion, 60.0, 0.0, secs, settings, state, |now, pose| {
        let (left, right) = lids(pose);
        assert_eq!(left, right);
        if left > 0.02 {
            start.get_or_insert(now);
            deepest = deepest.max(left);
        } else if let Some(from) = start.take() {
            assert!(deepest > 0.95, "a blink at {from} s closes to {deepest}");
            blinks.push((from, now));
            deepest = 0.0;
        }
    });
    blinks
}

#[test]
fn an_untracked_avatar_blinks_by_itself() {
    for (behaviour_blinks, min, max) in [(false, 3.0, 8.0), (true, 7.0, 15.0)] {
        let mut settings = Settings::default();
        settings.motion.behaviour_blinks = behaviour_blinks;
        let blinks = blinks_of(&settings, 3600.0, |_| lost());
        for (start, end) in &blinks {
            assert!((0.2..0.33).contains(&(end - start)), "a blink of {} s", end - start);
        }
        let gaps: Vec<f32> = blinks.windows(2).map(|w| w[1].0 - w[0].1).collect();
        let doubles = gaps.iter().filter(|g| **g < 0.3).count() as f32;
        let singles: Vec<f32> = gaps.iter().copied().filter(|g| *g >= 0.3).collect();
        let share = doubles / (singles.len() as f32 + 1.0);
        assert!((0.10..0.20).contains(&share), "{share} of the blinks are double");
        assert!(singles.iter().all(|g| (min - 0.1..max + 0.1).contains(g)), "{singles:?}");
    }
}

#[test]
fn tracked_lids_close_at_once_and_open_at_a_limited_speed() {
    let settings = Settings::default();
    let mut motion = Motion::new(1, TRAITS);
    let state = |now: f32| {
        let closed = f32::from(u8::from((1.0..1.2).contains(&now)));
        FaceState { lids: Lids { left: closed, right: closed }, ..tracked() }
    };
    let mut left = Vec::new();
    play(&mut motion, 60.0, 0.0, 2.0, &settings, state, |_, pose| left.push(lids(pose).0));
    assert_eq!((left[59], left[60]), (0.0, 1.0), "closes at once");
    for pair in left.windows(2) {
        assert!(pair[0] - pair[1] <= 12.0 / 60.0 + 1e-4, "opens by {}", pair[0] - pair[1]);
    }
    assert_eq!(left[80], 0.0);
    // No blink of its own while the lids are tracked.
    play(&mut motion, 60.0, 2.0, 60.0, &settings, state, |_, pose| assert_eq!(lids(pose).0, 0.0));
}

#[test]
fn lids_lost_while_closed_open_again() {
    let settings = Settings::default();
    let mut motion = Motion::new(1, TRAITS);
    let state = |now: f32| {
        let trust = if now < 1.0 { 1.0 } else { (1.0 - (now - 1.0) / 0.12).max(0.0) };
        FaceState {
            lids: Lids { left: 1.0, right: 1.0 },
            trust: Trust { face: trust, voice: 0.0 },
            ..FaceState::default()
        }
    };
    let mut lowered = 0.0;
    play(&mut motion, 60.0, 0.0, 60.0, &settings, state, |now, pose| {
        let (left, right) = lids(pose);
        lowered = if left > 0.05 || right > 0.05 { lowered + 1.0 / 60.0 } else { 0.0 };
        assert!(now < 1.25 || lowered < 0.4, "stuck at {now} s");
    });
}

#[test]
fn far_and_linked_eyes_follow() {
    let mut settings = Settings::default();
    let shown = |settings: &Settings, yaw: f32| {
        let mut motion = Motion::new(1, TRAITS);
        let state = |_| FaceState { lids: Lids { left: 0.9, right: 0.2 }, ..looking(yaw) };
        let mut last = (0.0, 0.0);
        play(&mut motion, 60.0, 0.0, 1.0, settings, state, |_, pose| last = lids(pose));
        last
    };
    let near = |a: (f32, f32), b: (f32, f32)| (a.0 - b.0).abs() < 1e-4 && (a.1 - b.1).abs() < 1e-4;
    assert!(near(shown(&settings, 0.0), (0.9, 0.2)), "a wink is a wink");
    assert!(near(shown(&settings, 0.7), (0.2, 0.2)), "turned left, the left eye is the far one");
    assert!(near(shown(&settings, -0.7), (0.9, 0.9)), "turned right, the right eye is the far one");
    settings.motion.link_eyes = true;
    assert!(near(shown(&settings, 0.0), (0.55, 0.55)));
}

#[test]
fn sentences_end_in_a_blink_seven_times_in_ten() {
    // Sentences of 2 s, every 4 s, unseen.
    let talk = |now: f32| FaceState { is_speaking: now % 4.0 < 2.0, ..lost() };
    let mut settings = Settings::default();
    let after_end = |blinks: &[(f32, f32)]| {
        blinks.iter().filter(|(start, _)| (2.1..2.3).contains(&(start % 4.0))).count() as f32 / 500.0
    };
    let share = after_end(&blinks_of(&settings, 2000.0, talk));
    assert!((0.6..0.8).contains(&share), "{share} of the sentences end in a blink");
    settings.motion.behaviour_blinks = false;
    let share = after_end(&blinks_of(&settings, 2000.0, talk));
    assert!(share < 0.15, "{share} of the sentences end in a blink with behaviour blinks off");
}

#[test]
fn expressions_fade_and_no_blink_runs_into_them() {
    let settings = Settings::default();
    let mut longest_wait = 0.0f32;
    for trial in 0..40 {
        let mut motion = Motion::new(trial, TRAITS);
        // Let a blink begin, or not.
        let mut is_closing = false;
        let mut now = 0.0;
        while now < 30.0 && !(is_closing && trial % 2 == 0) && now < 3.0 + trial as f32 * 0.1 {
            let pose = motion.step(&lost(), 1.0 / 60.0, &settings);
            is_closing = lids(pose).0 > 0.3;
            now += 1.0 / 60.0;
        }
        motion.command(ExpressionCommand::show(1));
        motion.command(ExpressionCommand::show(99));
        let mut slots = Vec::new();
        let mut was_low = is_closing;
        for tick in 0..30 {
            let pose = motion.step(&lost(), 1.0 / 60.0, &settings);
            let low = lids(pose).0 > 0.02;
            if pose.slots[1] > 0.0 && pose.slots[1] < 1.0 {
                assert!(was_low || !low, "trial {trial}: a blink begins in frame {tick} of an expression change");
            }
            was_low = low;
            slots.push(pose.slots[1]);
        }
        let waited = slots.iter().position(|s| *s > 0.0).unwrap() as f32 / 60.0;
        longest_wait = longest_wait.max(waited);
        assert!(slots.windows(2).all(|w| w[1] >= w[0] && w[1] - w[0] < 0.15), "{slots:?}");
        assert_eq!(slots[29], 1.0);
        motion.command(ExpressionCommand::hide(1));
        for _ in 0..30 {
            motion.step(&lost(), 1.0 / 60.0, &settings);
        }
        assert_eq!(motion.step(&lost(), 1.0 / 60.0, &settings).slots, [0.0; 3]);
    }
    assert!(longest_wait <= 0.12 + 2.0 / 60.0, "an expression waited for {longest_wait} s");
}

#[test]
fn lip_sync_gives_the_mouth_back_over_a_fifth_of_a_second() {
    let settings = Settings::default();
    let mut motion = Motion::new(1, TRAITS);
    let state = |now: f32| FaceState { is_speaking: now < 1.0, ..lost() };
    let mut share = Vec::new();
    play(&mut motion, 60.0, 0.0, 2.0, &settings, state, |_, pose| share.push(pose.params.get(Param::LipSync)));
    assert_eq!(share[59], 1.0);
    let gone = share.iter().rposition(|s| *s > 0.0).unwrap() as f32 / 60.0 - 1.0;
    assert!((0.15..0.22).contains(&gone), "given back after {gone} s");
    assert!(share.windows(2).all(|w| (w[1] - w[0]).abs() < 0.5));
}

#[test]
fn eyes_ride_on_the_tracked_gaze() {
    let mut settings = Settings::default();
    let gaze = |settings: &Settings| {
        let mut motion = Motion::new(3, TRAITS);
        let state = |_| FaceState { gaze: Gaze { yaw: 0.3, pitch: 0.1 }, ..tracked() };
        let mut yaws = Vec::new();
        play(&mut motion, 60.0, 0.0, 20.0, settings, state, |now, pose| {
            if now > 1.0 {
                yaws.push(pose.params.get(Param::GazeYaw));
            }
        });
        (yaws.iter().fold(f32::MAX, |a, b| a.min(*b)), yaws.iter().fold(f32::MIN, |a, b| a.max(*b)))
    };
    let (min, max) = gaze(&settings);
    // At most 5° by 0.35 and half for the iris.
    assert!(min > 0.3 - 0.016 && max < 0.3 + 0.016 && max - min > 0.004, "{min} to {max}");
    settings.motion.saccades = false;
    let (min, max) = gaze(&settings);
    assert!((min - 0.3).abs() < 1e-3 && (max - 0.3).abs() < 1e-3, "{min} to {max}");
}

fn any_number() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>(), Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), -2.0f32..2.0, 0.0f32..1.0]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever comes in, the pose is finite, in range, and the lids recover.
    #[test]
    fn nothing_breaks_the_pose(
        frames in proptest::collection::vec((proptest::collection::vec(any_number(), 18), any::<bool>()), 1..20),
    ) {
        let mut motion = Motion::new(1, TRAITS);
        let mut settings = Settings::default();
        for (n, flag) in &frames {
            settings.motion.head_strength = n[17];
            settings.motion.link_eyes = *flag;
            let state = FaceState {
                head: HeadPose { yaw: n[0], pitch: n[1], roll: n[2] },
                position: Vec3::new(n[3], n[4], n[5]),
                lids: Lids { left: n[6], right: n[7] },
                brows: Brows { left: n[8], right: n[9] },
                gaze: Gaze { yaw: n[10], pitch: n[11] },
                smile: n[12],
                trust: Trust { face: n[13], voice: n[14] },
                is_speaking: *flag,
                mouth: MouthShape { open: n[15], vowels: [n[15]; 5], closed: n[16], ..MouthShape::REST },
                ..FaceState::default()
            };
            motion.command(ExpressionCommand { slot: 0, weight: n[12], fade_secs: n[16] });
            let pose = motion.step(&state, n[14], &settings);
            for param in Param::ALL {
                let (min, max) = param.range();
                prop_assert!((min..=max).contains(&pose.params.get(param)), "{param:?} {}", pose.params.get(param));
            }
            prop_assert!(pose.slots.iter().all(|s| (0.0..=1.0).contains(s)) && (0.0..=1.0).contains(&pose.blend));
            prop_assert!(pose.poses.iter().all(|p| p.bones.iter().all(|b| b.is_normalized())));
        }
        // Afterwards everything is as it should be.
        settings = Settings::default();
        let mut last = (1.0, 1.0);
        let (mut yaw, mut gaze) = (9.0, 9.0);
        settings.motion.saccades = false;
        for _ in 0..300 {
            let state = FaceState { gaze: Gaze { yaw: 0.1, pitch: 0.0 }, ..looking(0.2) };
            let pose = motion.step(&state, 1.0 / 60.0, &settings);
            last = lids(pose);
            gaze = pose.params.get(Param::GazeYaw);
            yaw = pose.params.get(Param::HeadYaw) + pose.params.get(Param::BodyYaw);
        }
        prop_assert_eq!(last, (0.0, 0.0));
        prop_assert!((yaw - 0.2).abs() < 0.05, "head at {}", yaw);
        prop_assert!((gaze - 0.1).abs() < 0.01, "gaze at {}", gaze);
    }
}
