//! Parameters and slots become expression weights: fallbacks, then overrides in one pass of group multipliers.

use glam::{Vec3, Vec4};

use super::gaze::LookWeights;
use crate::avatar::{
    AvatarModel, Expression, ExpressionGroup, Fallback, Fallbacks, MaterialColor, MaterialState, Mix, OverrideKind,
    PosedAvatar, Preset,
};
use crate::types::{AvatarPose, Param, Vowel};

/// Weights of all expressions of one avatar in the current frame.
#[derive(Debug)]
pub(super) struct Face {
    /// The model's expressions, then `Fallbacks::extra`.
    weights: Vec<f32>,
    /// The part of each weight that comes from expressions, not from the mouth, lids or gaze.
    acted: Vec<f32>,
    /// Factor on the acted part where it moves the lips, 0..1: what lip-sync leaves of it.
    lips_left: f32,
    /// Both eyes are closed by the same shape.
    blink_is_shared: bool,
}

/// What the face says to the bones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoneMasks {
    /// How far the jaw bone opens, 0..1; 0 where shapes open the mouth.
    pub jaw_open: f32,
    /// Factor on the eye bones, 0..1.
    pub look_at: f32,
}

/// Factors on the groups that expressions can override.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Multipliers {
    pub blink: f32,
    pub look_at: f32,
    pub mouth: f32,
}

impl Face {
    pub(super) fn new(model: &AvatarModel, fallbacks: &Fallbacks) -> Self {
        let [left, right] = [Preset::BlinkLeft, Preset::BlinkRight].map(|p| &fallbacks.presets[p as usize]);
        Self {
            weights: vec![0.0; model.expressions.len() + fallbacks.extra.len()],
            acted: vec![0.0; model.expressions.len() + fallbacks.extra.len()],
            lips_left: 1.0,
            blink_is_shared: left == right && matches!(left, Fallback::Shapes(_)),
        }
    }

    /// Final weights.
    pub(super) fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Final weights, and the weights with which the same expressions move the lips: less, while lip-sync has them.
    pub(super) fn weights_of_lips(&self) -> impl Iterator<Item = (f32, f32)> {
        self.weights
            .iter()
            .zip(&self.acted)
            .map(|(weight, acted)| (*weight, weight * (1.0 - acted * (1.0 - self.lips_left))))
    }

    /// Adds to an expression after the overrides.
    pub(super) fn add(&mut self, expression: usize, weight: f32) {
        if let Some(slot) = self.weights.get_mut(expression) {
            *slot += weight;
        }
    }

    fn mix(&mut self, mix: &Mix, amount: f32) {
        for (expression, weight) in mix {
            self.add(*expression, weight * amount);
        }
    }

    /// Plays a preset or what stands in for it.
    fn preset(&mut self, fallbacks: &Fallbacks, preset: Preset, amount: f32, jaw_open: &mut f32) {
        match &fallbacks.presets[preset as usize] {
            Fallback::Own(index) => self.add(*index, amount),
            Fallback::Shapes(mix) => self.mix(mix, amount),
            Fallback::JawBone(full) => *jaw_open += full * amount,
            Fallback::EyeBones | Fallback::Nothing => {}
        }
    }

    /// The expressions: those chosen one by one, and the emotions.
    fn act(&mut self, fallbacks: &Fallbacks, pose: &AvatarPose) {
        for (slot, weight) in self.weights.iter_mut().zip(&pose.slots) {
            *slot = if weight.is_finite() { *weight } else { 0.0 };
        }
        for (preset, param) in [
            (Preset::Happy, Param::Happy),
            (Preset::Angry, Param::Angry),
            (Preset::Sad, Param::Sad),
            (Preset::Relaxed, Param::Relaxed),
            (Preset::Surprised, Param::Surprised),
        ] {
            // No emotion is played by the jaw bone.
            self.preset(fallbacks, preset, pose.params.get(param), &mut 0.0);
        }
    }

    /// Sets all weights for this frame.
    pub(super) fn resolve(
        &mut self,
        model: &AvatarModel,
        fallbacks: &Fallbacks,
        pose: &AvatarPose,
        look: &LookWeights,
    ) -> BoneMasks {
        self.weights.fill(0.0);
        self.act(fallbacks, pose);
        self.acted.copy_from_slice(&self.weights);
        let get = |param| pose.params.get(param);
        let mut jaw_open = 0.0;
        let closed = get(Param::MouthClosed);
        for vowel in Vowel::ALL {
            let preset = [Preset::Aa, Preset::Ih, Preset::Ou, Preset::Ee, Preset::Oh][vowel as usize];
            self.preset(fallbacks, preset, get(Param::of_vowel(vowel)) * (1.0 - closed), &mut jaw_open);
        }
        self.mix(&fallbacks.press, closed);
        let smile = get(Param::MouthSmile);
        for side in &fallbacks.smile {
            self.mix(side, smile);
        }
        let (left, right) = (get(Param::BlinkLeft), get(Param::BlinkRight));
        if self.blink_is_shared {
            // This avatar cannot wink: its eyes close when both of the person's do.
            self.preset(fallbacks, Preset::BlinkLeft, left.min(right), &mut jaw_open);
        } else {
            self.preset(fallbacks, Preset::BlinkLeft, left, &mut jaw_open);
            self.preset(fallbacks, Preset::BlinkRight, right, &mut jaw_open);
        }
        let brows = [get(Param::BrowLeft), get(Param::BrowRight)];
        for ((up, down), brow) in fallbacks.brow_up.iter().zip(&fallbacks.brow_down).zip(brows) {
            self.mix(up, brow.max(0.0));
            self.mix(down, (-brow).max(0.0));
        }
        for (preset, weight) in look.by_preset() {
            self.preset(fallbacks, preset, weight, &mut jaw_open);
        }
        for (acted, weight) in self.acted.iter_mut().zip(&self.weights) {
            *acted = if *weight > 0.0 { (*acted / weight).clamp(0.0, 1.0) } else { 0.0 };
        }
        let multipliers = apply_overrides(model.expressions.iter().chain(&fallbacks.extra), &mut self.weights);
        // An expression that the artist lets override the mouth keeps it: lip-sync is masked, so the lips stay its own.
        self.lips_left = 1.0 - get(Param::LipSync).clamp(0.0, 1.0) * multipliers.mouth;
        BoneMasks { jaw_open: jaw_open.clamp(0.0, 1.0) * multipliers.mouth, look_at: multipliers.look_at }
    }
}

/// The overrides of VRM 1.0, in one pass: no expression sees another one's masked weight.
pub(super) fn apply_overrides<'a>(
    expressions: impl Iterator<Item = &'a Expression> + Clone,
    weights: &mut [f32],
) -> Multipliers {
    let mut sums = Multipliers { blink: 0.0, look_at: 0.0, mouth: 0.0 };
    for (expression, weight) in expressions.clone().zip(weights.iter_mut()) {
        *weight = weight.clamp(0.0, 1.0);
        if expression.is_binary {
            *weight = if *weight > 0.5 { 1.0 } else { 0.0 };
        }
        let amount = |kind| match kind {
            OverrideKind::None => 0.0,
            OverrideKind::Block => f32::from(u8::from(*weight > 0.0)),
            OverrideKind::Blend => *weight,
        };
        sums.blink += amount(expression.mask.blink);
        sums.look_at += amount(expression.mask.look_at);
        sums.mouth += amount(expression.mask.mouth);
    }
    let left = |sum: f32| (1.0 - sum).max(0.0);
    let multipliers = Multipliers { blink: left(sums.blink), look_at: left(sums.look_at), mouth: left(sums.mouth) };
    for (expression, weight) in expressions.zip(weights) {
        *weight *= match expression.group {
            ExpressionGroup::None => continue,
            ExpressionGroup::Blink => multipliers.blink,
            ExpressionGroup::LookAt => multipliers.look_at,
            ExpressionGroup::Mouth => multipliers.mouth,
        };
        if expression.is_binary && *weight < 1.0 {
            *weight = 0.0;
        }
    }
    multipliers
}

/// Adds one expression to the posed avatar; where it moves the lips (`lip_shares`, by morph), with its second weight.
pub(super) fn play(
    expression: &Expression,
    (weight, weight_of_lips): (f32, f32),
    lip_shares: &[f32],
    base: &[MaterialState],
    posed: &mut PosedAvatar,
) {
    for bind in &expression.binds.morphs {
        if let Some(slot) = posed.morph_weights.get_mut(bind.morph) {
            let share = lip_shares.get(bind.morph).copied().unwrap_or(0.0);
            *slot += bind.weight * (weight + (weight_of_lips - weight) * share);
        }
    }
    for bind in &expression.binds.materials {
        let (Some(base), Some(state)) = (base.get(bind.material), posed.materials.get_mut(bind.material)) else {
            continue;
        };
        let mix3 = |slot: &mut Vec3, base: Vec3| *slot += (bind.target.truncate() - base) * weight;
        match bind.color {
            MaterialColor::Base => state.base_color += (bind.target - base.base_color) * weight,
            MaterialColor::Emission => mix3(&mut state.emissive, base.emissive),
            MaterialColor::Shade => mix3(&mut state.shade_color, base.shade_color),
            MaterialColor::Matcap => mix3(&mut state.matcap_color, base.matcap_color),
            MaterialColor::Rim => mix3(&mut state.rim_color, base.rim_color),
            MaterialColor::Outline => mix3(&mut state.outline_color, base.outline_color),
        }
        state.base_color = state.base_color.max(Vec4::ZERO);
    }
    for bind in &expression.binds.textures {
        if let Some(state) = posed.materials.get_mut(bind.material) {
            state.uv_scale += (bind.scale - 1.0) * weight;
            state.uv_offset += bind.offset * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const VECTORS: &str = include_str!("../../tests/data/vrm_vectors.json");

    fn expression(name: &str, setup: &Value) -> Expression {
        let kind = |key: &str| match setup[name][key].as_str() {
            Some("block") => OverrideKind::Block,
            Some("blend") => OverrideKind::Blend,
            _ => OverrideKind::None,
        };
        let group = match name {
            "blink" | "blinkLeft" => ExpressionGroup::Blink,
            "aa" => ExpressionGroup::Mouth,
            "lookLeft" => ExpressionGroup::LookAt,
            _ => ExpressionGroup::None,
        };
        Expression {
            name: name.into(),
            is_binary: setup[name]["isBinary"] == true,
            mask: crate::avatar::ExpressionMask {
                blink: kind("overrideBlink"),
                look_at: kind("overrideLookAt"),
                mouth: kind("overrideMouth"),
            },
            group,
            ..Expression::default()
        }
    }

    #[test]
    fn overrides_follow_the_reference() {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let cases = vectors["expr"].as_array().unwrap();
        // The last case has an expression override its own group; the loader removes that, the reference does not.
        for case in &cases[..cases.len() - 1] {
            let names = ["happy", "sad", "blink", "blinkLeft", "aa", "lookLeft"];
            let expressions: Vec<Expression> = names.iter().map(|n| expression(n, &case["setup"])).collect();
            let mut weights: Vec<f32> =
                names.iter().map(|n| case["weights"][n].as_f64().unwrap_or(0.0) as f32).collect();
            apply_overrides(expressions.iter(), &mut weights);
            for (name, weight) in names.iter().zip(weights) {
                let expected = case["applied"][name].as_f64().unwrap() as f32;
                assert!((weight - expected).abs() < 1e-5, "{name} is {weight}, not {expected}, in {case}");
            }
        }
    }
}
