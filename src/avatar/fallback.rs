//! What stands in for expressions that an avatar lacks; decided once, at load.

use super::names::{compound, expression_of_morph, group_of_preset, matches, morph_names, shape_names};
use super::{AvatarModel, Expression, ExpressionMask, Preset};
use crate::types::{Bone, Vowel};

/// Expressions played together, with their weights. Indices go on after the model's own into [`Fallbacks::extra`].
pub type Mix = Vec<(usize, f32)>;

/// How far a smile of the camera goes into `happy` where the avatar has no smile of its own.
const SMILE_IN_HAPPY: f32 = 0.35;
/// Lips that only a viseme can press.
const PRESS_WEIGHT: f32 = 0.6;

/// What plays a preset.
#[derive(Clone, Debug, PartialEq)]
pub enum Fallback {
    /// The avatar has it.
    Own(usize),
    /// Other shapes stand in.
    Shapes(Mix),
    /// The jaw bone opens, this far (0..1).
    JawBone(f32),
    /// The eye bones turn.
    EyeBones,
    /// Nothing moves.
    Nothing,
}

/// What plays each preset, and the shapes behind parameters that VRM has no preset for.
#[derive(Clone, Debug, PartialEq)]
pub struct Fallbacks {
    /// By `Preset as usize`.
    pub presets: [Fallback; Preset::ALL.len()],
    /// Expressions made from morph targets (or parts of expressions) that the file does not offer as expressions.
    pub extra: Vec<Expression>,
    /// Smile of the mouth alone, left and right.
    pub smile: [Mix; 2],
    /// Lips pressed together.
    pub press: Mix,
    /// Raised brows, left and right.
    pub brow_up: [Mix; 2],
    /// Lowered brows, left and right.
    pub brow_down: [Mix; 2],
}

impl AvatarModel {
    /// Decides what stands in for what this avatar lacks.
    pub fn fallbacks(&self) -> Fallbacks {
        let mut finder = Finder { model: self, names: morph_names(&self.meshes), extra: Vec::new() };
        let presets = Preset::ALL.map(|preset| finder.preset(preset));
        let sides = |finder: &mut Finder<'_>, left: &[(&str, f32)], right: &[(&str, f32)], both: &[(&str, f32)]| {
            let (l, r) = (finder.mix(left), finder.mix(right));
            if !l.is_empty() && !r.is_empty() {
                return [l, r];
            }
            // One shape for both sides: each side plays half of it.
            let both: Mix = finder.first(both).into_iter().map(|(i, w)| (i, w * 0.5)).collect();
            [both.clone(), both]
        };
        let mut smile = sides(
            &mut finder,
            &[("mouthsmileleft", 1.0)],
            &[("mouthsmileright", 1.0)],
            &[("mouthsmile", 1.0), ("口角上げ", 1.0), ("fclmthfun", 1.0), ("fclmthjoy", 0.3)],
        );
        if smile[0].is_empty()
            && let Some(happy) = self.preset(Preset::Happy).and_then(|i| self.expressions.get(i))
        {
            // A part of `happy`, without its overrides: a smile must not stop the eyes from blinking.
            let mut part = happy.clone();
            part.name = "smile (part of happy)".into();
            (part.preset, part.is_binary, part.mask) = (None, false, ExpressionMask::default());
            let index = finder.add(part);
            smile = [vec![(index, SMILE_IN_HAPPY * 0.5)], vec![(index, SMILE_IN_HAPPY * 0.5)]];
        }
        let mut press = finder.mix(&[("mouthpressleft", 0.5), ("mouthpressright", 0.5)]);
        if press.is_empty() {
            press = finder.first(&[("visemepp", PRESS_WEIGHT), ("vrcvpp", PRESS_WEIGHT)]);
        }
        let brow_up = sides(
            &mut finder,
            &[("browouterupleft", 1.0), ("browinnerup", 0.5)],
            &[("browouterupright", 1.0), ("browinnerup", 0.5)],
            &[("browinnerup", 1.0), ("fclbrwsurprised", 1.0), ("上", 1.0), ("まゆ上", 1.0)],
        );
        let brow_down = sides(
            &mut finder,
            &[("browdownleft", 1.0)],
            &[("browdownright", 1.0)],
            &[("fclbrwangry", 0.6), ("下", 1.0), ("まゆ下", 1.0)],
        );
        Fallbacks { presets, extra: finder.extra, smile, press, brow_up, brow_down }
    }
}

struct Finder<'a> {
    model: &'a AvatarModel,
    names: Vec<&'a str>,
    extra: Vec<Expression>,
}

impl Finder<'_> {
    fn add(&mut self, expression: Expression) -> usize {
        self.extra.push(expression);
        self.model.expressions.len() + self.extra.len() - 1
    }

    /// A shape by its normalised name: an expression of the file, else a morph target.
    fn shape(&mut self, wanted: &str) -> Option<usize> {
        let own = &self.model.expressions;
        if let Some(index) = own.iter().position(|e| e.preset.is_none() && matches(&e.name, wanted)) {
            return Some(index);
        }
        if let Some(index) = self.extra.iter().position(|e| matches(&e.name, wanted)) {
            return Some(own.len() + index);
        }
        let name = self.names.iter().copied().find(|n| matches(n, wanted))?;
        let expression = expression_of_morph(name, &self.model.meshes)?;
        Some(self.add(expression))
    }

    /// All shapes of a mix; empty where the first one is missing.
    fn mix(&mut self, shapes: &[(&str, f32)]) -> Mix {
        let mut mix = Mix::new();
        for (at, (name, weight)) in shapes.iter().enumerate() {
            match self.shape(name) {
                Some(index) => mix.push((index, *weight)),
                None if at == 0 => return Mix::new(),
                None => {}
            }
        }
        mix
    }

    /// The first of several shapes that exists.
    fn first(&mut self, shapes: &[(&str, f32)]) -> Mix {
        shapes.iter().find_map(|(name, weight)| self.shape(name).map(|i| (i, *weight))).into_iter().collect()
    }

    fn preset(&mut self, preset: Preset) -> Fallback {
        if let Some(own) = self.model.preset(preset) {
            return Fallback::Own(own);
        }
        for name in shape_names(preset) {
            if let Some(index) = self.shape(name) {
                return Fallback::Shapes(vec![(index, 1.0)]);
            }
        }
        let mix = self.mix(compound(preset));
        if !mix.is_empty() {
            return Fallback::Shapes(mix);
        }
        self.related(preset)
    }

    /// The last resort: a related preset or a bone.
    fn related(&mut self, preset: Preset) -> Fallback {
        let model = self.model;
        let vowel = Vowel::ALL.into_iter().find(|v| v.name() == preset.name());
        if let Some(vowel) = vowel {
            // Another vowel opens the mouth as far as this one would.
            let aa = model.preset(Preset::Aa).or_else(|| shape_names(Preset::Aa).iter().find_map(|n| self.shape(n)));
            if let Some(aa) = aa.filter(|_| preset != Preset::Aa) {
                return Fallback::Shapes(vec![(aa, vowel.opening())]);
            }
            if preset == Preset::Aa
                && let Some(oh) = model.preset(Preset::Oh)
            {
                return Fallback::Shapes(vec![(oh, 1.0)]);
            }
            return if model.bone(Bone::Jaw).is_some() {
                Fallback::JawBone(vowel.opening())
            } else {
                Fallback::Nothing
            };
        }
        match preset {
            Preset::Blink => {
                let sides = [Preset::BlinkLeft, Preset::BlinkRight].map(|p| model.preset(p));
                match sides {
                    [Some(left), Some(right)] => Fallback::Shapes(vec![(left, 1.0), (right, 1.0)]),
                    _ => Fallback::Nothing,
                }
            }
            Preset::BlinkLeft | Preset::BlinkRight => match model.preset(Preset::Blink) {
                // One shape for both eyes: see `rig`, which closes them together only.
                Some(blink) => Fallback::Shapes(vec![(blink, 1.0)]),
                None => Fallback::Nothing,
            },
            Preset::LookUp | Preset::LookDown | Preset::LookLeft | Preset::LookRight => {
                let has_eyes = model.bone(Bone::LeftEye).is_some() || model.bone(Bone::RightEye).is_some();
                if has_eyes { Fallback::EyeBones } else { Fallback::Nothing }
            }
            Preset::Relaxed => match model.preset(Preset::Happy) {
                Some(happy) => Fallback::Shapes(vec![(happy, 0.5)]),
                None => Fallback::Nothing,
            },
            _ => {
                debug_assert_eq!(group_of_preset(preset), super::ExpressionGroup::None);
                Fallback::Nothing
            }
        }
    }
}
