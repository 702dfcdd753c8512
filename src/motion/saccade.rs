//! Saccades: small eye jumps, random under constraints, alive without a pattern (BEHAVIOUR §4).
//!
//! Degrees, for a human iris; the caller scales. x is yaw (+ own left), y is pitch (+ down).

use std::f32::consts::{FRAC_PI_4, PI, TAU};

use glam::Vec2;

use crate::signal::{Rng, smoothstep};

/// How long the eyes rest on a target.
const MIN_FIXATION_SECS: f32 = 0.3;
const MAX_FIXATION_SECS: f32 = 1.0;
/// Moves less than this apart are a run.
const RUN_SECS: f32 = 0.6;
/// Within a run each move is at most this share of the one before.
const RUN_SHRINK: f32 = 0.7;
/// Wanted share of horizontal moves; the rule is at least 0.7.
const HORIZONTAL_SHARE: f32 = 0.82;
/// Amplitudes, degrees.
const MIN_HORIZONTAL_DEG: f32 = 1.0;
const MAX_HORIZONTAL_DEG: f32 = 7.0;
const MIN_VERTICAL_DEG: f32 = 0.5;
const MAX_VERTICAL_DEG: f32 = 3.0;
/// The eyes stay within this ellipse around straight ahead, degrees.
const REACH_DEG: Vec2 = Vec2::new(5.0, 2.5);
/// Tries to find a move that keeps all rules before the last one is taken back.
const TRIES: usize = 16;
/// How long a jump takes: a base and a share of its size.
const JUMP_SECS: f32 = 0.025;
const JUMP_SECS_PER_DEG: f32 = 0.003;

/// A source of saccades.
#[derive(Clone, Debug)]
pub(super) struct Saccades {
    rng: Rng,
    from: Vec2,
    to: Vec2,
    since_move_secs: f32,
    fixation_secs: f32,
    last_move: Vec2,
}

impl Saccades {
    pub fn new(mut rng: Rng) -> Self {
        let fixation_secs = rng.range(MIN_FIXATION_SECS, MAX_FIXATION_SECS);
        Self { rng, from: Vec2::ZERO, to: Vec2::ZERO, since_move_secs: 0.0, fixation_secs, last_move: Vec2::ZERO }
    }

    /// Where the eyes look `dt` seconds later.
    pub fn step(&mut self, dt: f32) -> Vec2 {
        self.since_move_secs += dt;
        if self.since_move_secs >= self.fixation_secs {
            self.jump();
        }
        let jump_secs = JUMP_SECS + JUMP_SECS_PER_DEG * self.last_move.length();
        self.from.lerp(self.to, smoothstep(self.since_move_secs / jump_secs))
    }

    fn jump(&mut self) {
        // A run is judged by the fixation as drawn, so that it does not depend on the frame rate.
        let is_run = self.fixation_secs < RUN_SECS;
        let longest = if is_run { self.last_move.length() * RUN_SHRINK } else { f32::INFINITY };
        let step = self.draw_move(longest);
        self.since_move_secs -= self.fixation_secs;
        self.fixation_secs = self.rng.range(MIN_FIXATION_SECS, MAX_FIXATION_SECS);
        self.from = self.to;
        self.to += step;
        self.last_move = step;
    }

    fn draw_move(&mut self, longest: f32) -> Vec2 {
        for _ in 0..TRIES {
            let (direction, min, max) = if self.rng.chance(HORIZONTAL_SHARE) {
                let side = if self.rng.chance(0.5) { 0.0 } else { PI };
                // Within 30° of the horizontal, mostly near it.
                let tilt = self.rng.range(-1.0, 1.0) * self.rng.range(0.0, PI / 6.0);
                (side + tilt, MIN_HORIZONTAL_DEG, MAX_HORIZONTAL_DEG)
            } else {
                let side = if self.rng.chance(0.5) { PI / 2.0 } else { -PI / 2.0 };
                (side + self.rng.range(-PI / 6.0, PI / 6.0), MIN_VERTICAL_DEG, MAX_VERTICAL_DEG)
            };
            let max = max.min(longest);
            let length = min.min(max) + (max - min.min(max)) * self.rng.unit();
            let step = Vec2::from_angle(direction) * length;
            if turned_by(self.last_move, step) > FRAC_PI_4 && ((self.to + step) / REACH_DEG).length() <= 1.0 {
                return step;
            }
        }
        // Back along the last move keeps every rule: the other direction, shorter, and between two places within reach.
        self.last_move * -RUN_SHRINK
    }
}

/// The angle between two moves, 0 to π; π where one is none.
fn turned_by(last: Vec2, next: Vec2) -> f32 {
    if last.length() < 1e-6 || next.length() < 1e-6 {
        return PI;
    }
    let turn = (next.to_angle() - last.to_angle()).rem_euclid(TAU);
    turn.min(TAU - turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moves of ten simulated minutes, with the fixation before each.
    fn moves(seed: u64, rate: f32) -> Vec<(f32, Vec2)> {
        let mut saccades = Saccades::new(Rng::new(seed));
        let mut moves = Vec::new();
        let mut target = saccades.to;
        let mut fixation = saccades.fixation_secs;
        for _ in 0..(600.0 * rate) as usize {
            saccades.step(1.0 / rate);
            if saccades.to != target {
                moves.push((fixation, saccades.to - target));
                target = saccades.to;
                fixation = saccades.fixation_secs;
            }
        }
        moves
    }

    #[test]
    fn ten_minutes_keep_every_rule() {
        for seed in 0..5 {
            let moves = moves(seed, 60.0);
            assert!((700..1200).contains(&moves.len()), "{} moves", moves.len());
            let is_horizontal = |m: &Vec2| m.x.abs() >= m.y.abs();
            let horizontal = moves.iter().filter(|(_, m)| is_horizontal(m)).count();
            assert!(horizontal as f32 >= 0.7 * moves.len() as f32, "{horizontal} of {} horizontal", moves.len());
            let mean = |wanted: bool| {
                let lengths: Vec<f32> =
                    moves.iter().filter(|(_, m)| is_horizontal(m) == wanted).map(|(_, m)| m.length()).collect();
                lengths.iter().sum::<f32>() / lengths.len() as f32
            };
            assert!(mean(false) < mean(true), "vertical {} horizontal {}", mean(false), mean(true));
            let mut place = Vec2::ZERO;
            for (fixation, step) in &moves {
                assert!((MIN_FIXATION_SECS..=MAX_FIXATION_SECS).contains(fixation));
                place += step;
                assert!((place / REACH_DEG).length() <= 1.001, "eyes at {place}");
            }
            for pair in moves.windows(2) {
                let [(_, last), (fixation, next)] = pair else { unreachable!() };
                assert!(turned_by(*last, *next) > FRAC_PI_4 - 1e-3, "{last} then {next}");
                if *fixation < RUN_SECS {
                    assert!(next.length() <= last.length() * RUN_SHRINK + 1e-3, "{last} then {next} in a run");
                }
            }
        }
    }

    #[test]
    fn no_pattern() {
        let moves = moves(1, 60.0);
        let left = moves.iter().filter(|(_, m)| m.x > 0.0).count() as f32 / moves.len() as f32;
        assert!((0.4..0.6).contains(&left), "{left} to the left");
        let longest = moves.iter().map(|(_, m)| m.length()).fold(0.0, f32::max);
        assert!(longest > 4.0, "never farther than {longest}°");
    }

    #[test]
    fn the_frame_rate_does_not_matter() {
        let (slow, fast) = (moves(3, 30.0), moves(3, 144.0));
        for (a, b) in slow.iter().zip(&fast) {
            assert_eq!(a, b);
        }
    }
}
