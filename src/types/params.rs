//! The parameters of the canonical pose: a fixed set of numbers, no strings.

use super::Vowel;

/// Which layer owns a parameter; masks scale whole groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ParamGroup {
    Mouth,
    Blink,
    Gaze,
    Brow,
    Head,
    Body,
    Emotion,
}

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident: $group:ident, $trace:literal, $min:expr, $max:expr;)*) => {
        /// One number of the canonical pose. Angles are radians; left and right are the avatar's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Param { $($(#[$doc])* $name,)* }

        /// Number of parameters.
        pub const PARAM_COUNT: usize = [$(Param::$name),*].len();

        impl Param {
            /// All parameters; `ALL[i] as usize == i`.
            pub const ALL: [Self; PARAM_COUNT] = [$(Self::$name),*];

            /// Name in traces and `pose.expected` files.
            pub fn name(self) -> &'static str {
                [$($trace),*][self as usize]
            }

            /// Who owns it.
            pub fn group(self) -> ParamGroup {
                [$(ParamGroup::$group),*][self as usize]
            }

            /// Smallest and largest value.
            pub fn range(self) -> (f32, f32) {
                [$(($min, $max)),*][self as usize]
            }
        }
    };
}

const PI: f32 = std::f32::consts::PI;

params! {
    /// Vowel "a".
    Aa: Mouth, "aa", 0.0, 1.0;
    /// Vowel "i".
    Ih: Mouth, "ih", 0.0, 1.0;
    /// Vowel "u".
    Ou: Mouth, "ou", 0.0, 1.0;
    /// Vowel "e".
    Ee: Mouth, "ee", 0.0, 1.0;
    /// Vowel "o".
    Oh: Mouth, "oh", 0.0, 1.0;
    /// Lips pressed together.
    MouthClosed: Mouth, "mouthClosed", 0.0, 1.0;
    /// Smile of the tracked mouth.
    MouthSmile: Mouth, "mouthSmile", 0.0, 1.0;
    /// Whose the mouth is: 0 the expression's, 1 lip-sync's (an expression's own mouth shape counts `1 - lipSync`).
    LipSync: Mouth, "lipSync", 0.0, 1.0;
    /// Left eye closed.
    BlinkLeft: Blink, "blinkLeft", 0.0, 1.0;
    /// Right eye closed.
    BlinkRight: Blink, "blinkRight", 0.0, 1.0;
    /// Gaze relative to the head, + left.
    GazeYaw: Gaze, "gazeYaw", -PI / 2.0, PI / 2.0;
    /// Gaze relative to the head, + down.
    GazePitch: Gaze, "gazePitch", -PI / 2.0, PI / 2.0;
    /// Left brow, -1 lowered, 1 raised.
    BrowLeft: Brow, "browLeft", -1.0, 1.0;
    /// Right brow, -1 lowered, 1 raised.
    BrowRight: Brow, "browRight", -1.0, 1.0;
    /// Head turn relative to the body's front, + left.
    HeadYaw: Head, "headYaw", -PI, PI;
    /// Head nod, + down.
    HeadPitch: Head, "headPitch", -PI / 2.0, PI / 2.0;
    /// Head tilt, + towards the left shoulder.
    HeadRoll: Head, "headRoll", -PI / 2.0, PI / 2.0;
    /// Upper body turn, + left.
    BodyYaw: Body, "bodyYaw", -PI, PI;
    /// Upper body bend, + forward.
    BodyPitch: Body, "bodyPitch", -PI / 2.0, PI / 2.0;
    /// Upper body tilt, + left.
    BodyRoll: Body, "bodyRoll", -PI / 2.0, PI / 2.0;
    /// Sideways sway of the hips, metres, + left.
    BodyX: Body, "bodyX", -0.5, 0.5;
    /// Up and down of the hips, metres.
    BodyY: Body, "bodyY", -0.5, 0.5;
    /// Sway of the hips towards the viewer, metres.
    BodyZ: Body, "bodyZ", -0.5, 0.5;
    /// Breath, 0 out, 1 in.
    Breath: Body, "breath", 0.0, 1.0;
    /// VRM preset.
    Happy: Emotion, "happy", 0.0, 1.0;
    /// VRM preset.
    Angry: Emotion, "angry", 0.0, 1.0;
    /// VRM preset.
    Sad: Emotion, "sad", 0.0, 1.0;
    /// VRM preset.
    Relaxed: Emotion, "relaxed", 0.0, 1.0;
    /// VRM preset.
    Surprised: Emotion, "surprised", 0.0, 1.0;
}

impl Param {
    /// The parameter of a vowel.
    pub fn of_vowel(vowel: Vowel) -> Self {
        [Self::Aa, Self::Ih, Self::Ou, Self::Ee, Self::Oh][vowel as usize]
    }
}

/// A value for every parameter. Setting clamps to the parameter's range; NaN becomes 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSet([f32; PARAM_COUNT]);

impl Default for ParameterSet {
    fn default() -> Self {
        Self([0.0; PARAM_COUNT])
    }
}

impl ParameterSet {
    /// The value of `param`.
    pub fn get(&self, param: Param) -> f32 {
        self.0[param as usize]
    }

    /// Sets `param`, clamped to its range.
    pub fn set(&mut self, param: Param, value: f32) {
        let (min, max) = param.range();
        self.0[param as usize] = if value.is_nan() { 0.0 } else { value.clamp(min, max) };
    }

    /// Adds to `param`, clamped to its range.
    pub fn add(&mut self, param: Param, value: f32) {
        self.set(param, self.get(param) + value);
    }

    /// Scales every parameter of `group`.
    pub fn scale_group(&mut self, group: ParamGroup, factor: f32) {
        for param in Param::ALL {
            if param.group() == group {
                self.set(param, self.get(param) * factor);
            }
        }
    }

    /// All values, by `Param as usize`.
    pub fn values(&self) -> &[f32; PARAM_COUNT] {
        &self.0
    }
}
