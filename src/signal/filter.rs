//! Small filters in continuous time: the same curve at 30, 60 and 144 Hz.

/// The share of the way to the target that an exponential smoother with time constant `time_secs` covers in `dt`
/// seconds. 1 for a time constant of 0.
pub fn smoothing_share(time_secs: f32, dt: f32) -> f32 {
    if time_secs <= 0.0 {
        return 1.0;
    }
    1.0 - (-dt.max(0.0) / time_secs).exp()
}

/// Cubic ease from 0 to 1 with flat ends; clamped outside.
pub fn smoothstep(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Cosine ease from 0 to 1; clamped outside.
pub fn ease_in_out(t: f32) -> f32 {
    0.5 - 0.5 * (std::f32::consts::PI * t.clamp(0.0, 1.0)).cos()
}

/// Exponential smoothing with one time constant upwards and another downwards.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttackRelease {
    /// The smoothed value.
    pub value: f32,
}

impl AttackRelease {
    /// Moves towards `target` for `dt` seconds; time constants in seconds.
    pub fn step(&mut self, target: f32, attack_secs: f32, release_secs: f32, dt: f32) -> f32 {
        let time = if target > self.value { attack_secs } else { release_secs };
        if target.is_finite() {
            self.value += (target - self.value) * smoothing_share(time, dt);
        }
        self.value
    }
}

/// Moves towards a target at a limited speed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slew {
    /// The present value.
    pub value: f32,
}

impl Slew {
    /// Moves towards `target` by at most `per_sec · dt`.
    pub fn step(&mut self, target: f32, per_sec: f32, dt: f32) -> f32 {
        let reach = (per_sec * dt).max(0.0);
        if target.is_finite() {
            self.value += (target - self.value).clamp(-reach, reach);
        }
        self.value
    }
}

/// A critically damped spring: follows a moving target smoothly in value and speed, without overshoot at rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spring {
    /// The present value.
    pub value: f32,
    /// Its speed per second.
    pub speed: f32,
}

impl Spring {
    /// Moves towards `target` for `dt` seconds; `time_secs` is about how long it takes. Exact for a resting target.
    pub fn step(&mut self, target: f32, time_secs: f32, dt: f32) -> f32 {
        if !target.is_finite() || dt <= 0.0 {
            return self.value;
        }
        let omega = 2.0 / time_secs.max(1e-4);
        let decay = (-omega * dt).exp();
        let offset = self.value - target;
        let momentum = (self.speed + omega * offset) * dt;
        self.value = target + (offset + momentum) * decay;
        self.speed = (self.speed - omega * momentum) * decay;
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_does_not_depend_on_the_rate() {
        for step in [
            &(|v: &mut (AttackRelease, Spring), dt: f32| v.0.step(1.0, 0.1, 0.2, dt))
                as &dyn Fn(&mut (AttackRelease, Spring), f32) -> f32,
            &|v, dt| v.1.step(1.0, 0.2, dt),
        ] {
            let run = |rate: usize| {
                let mut state = (AttackRelease::default(), Spring::default());
                (0..rate / 4).fold(0.0, |_, _| step(&mut state, 1.0 / rate as f32))
            };
            let reference = run(144);
            for rate in [40, 60] {
                assert!((run(rate) - reference).abs() < 1e-3, "{rate} Hz");
            }
        }
    }

    #[test]
    fn slew_is_limited() {
        let mut slew = Slew::default();
        assert_eq!(slew.step(1.0, 2.0, 0.1), 0.2);
        assert_eq!(slew.step(0.1, 2.0, 0.1), 0.1);
    }
}
