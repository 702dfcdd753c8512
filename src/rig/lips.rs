//! Which shapes move the lips: while lip-sync has the mouth, an expression leaves it alone (BEHAVIOUR §2).
//!
//! Avatars name their shapes as they like, so geometry decides: the region of the lips is what the five vowels move, and
//! a shape belongs to it by the share of its movement that lies there. A shape of the whole face (smiling eyes and
//! mouth in one) stays with the expression: half a smile in the eyes would look worse than a smile under the vowels.

use crate::avatar::{AvatarModel, Fallback, Fallbacks, MorphTarget, Preset, Primitive};
use crate::signal::smoothstep;

const VOWELS: [Preset; 5] = [Preset::Aa, Preset::Ih, Preset::Ou, Preset::Ee, Preset::Oh];
/// A vertex belongs to the lips if a vowel moves it by this share of its largest movement.
const REGION_SHARE: f32 = 0.1;
/// Below this share of its movement a shape is not of the lips, from the other one on it is.
const PART_SHARE: f32 = 0.5;
const WHOLE_SHARE: f32 = 0.8;

/// How much each morph target (by its place in `PosedAvatar::morph_weights`) belongs to the lips, 0..1.
pub(super) fn lip_shares(model: &AvatarModel, fallbacks: &Fallbacks) -> Vec<f32> {
    let mut shares = vec![0.0; model.base_morph_weights().len()];
    let vowels = vowel_morphs(model, fallbacks);
    for mesh in &model.meshes {
        let regions: Vec<Vec<bool>> =
            mesh.primitives.iter().map(|p| lip_region(p, mesh.morph_offset, &vowels)).collect();
        for number in 0..mesh.morph_names.len() {
            let (mut inside, mut all) = (0.0, 0.0);
            for (primitive, region) in mesh.primitives.iter().zip(&regions) {
                let Some(morph) = primitive.morphs.get(number) else { continue };
                for (vertex, movement) in morph.vertices.iter().zip(&morph.positions) {
                    let energy = movement.length_squared();
                    all += energy;
                    inside += if region.get(*vertex as usize) == Some(&true) { energy } else { 0.0 };
                }
            }
            if let Some(share) = shares.get_mut(mesh.morph_offset + number)
                && all > 0.0
            {
                *share = smoothstep((inside / all - PART_SHARE) / (WHOLE_SHARE - PART_SHARE));
            }
        }
    }
    shares
}

/// The morph targets of the vowels, by their place in `PosedAvatar::morph_weights`.
fn vowel_morphs(model: &AvatarModel, fallbacks: &Fallbacks) -> Vec<bool> {
    let mut is_vowel = vec![false; model.base_morph_weights().len()];
    for preset in VOWELS {
        let expressions: Vec<usize> = match &fallbacks.presets[preset as usize] {
            Fallback::Own(index) => vec![*index],
            Fallback::Shapes(mix) => mix.iter().map(|(index, _)| *index).collect(),
            _ => continue,
        };
        for index in expressions {
            let Some(expression) = model.expressions.iter().chain(&fallbacks.extra).nth(index) else { continue };
            for bind in &expression.binds.morphs {
                if let Some(slot) = is_vowel.get_mut(bind.morph) {
                    *slot = true;
                }
            }
        }
    }
    is_vowel
}

fn lip_region(primitive: &Primitive, morph_offset: usize, is_vowel: &[bool]) -> Vec<bool> {
    let mut region = vec![false; primitive.positions.len()];
    let vowels = primitive.morphs.iter().enumerate().filter(|(n, _)| is_vowel.get(morph_offset + n) == Some(&true));
    for (_, morph) in vowels {
        let least = largest_movement(morph) * REGION_SHARE;
        for (vertex, movement) in morph.vertices.iter().zip(&morph.positions) {
            if movement.length() > least
                && let Some(slot) = region.get_mut(*vertex as usize)
            {
                *slot = true;
            }
        }
    }
    region
}

fn largest_movement(morph: &MorphTarget) -> f32 {
    morph.positions.iter().map(|p| p.length()).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_the_lips_are_told_by_where_they_move() {
        let model = crate::avatar::bundled().unwrap();
        let shares = lip_shares(&model, &model.fallbacks());
        let share = |name: &str| {
            let expression = model.expressions.iter().find(|e| e.name == name).unwrap();
            expression.binds.morphs.iter().map(|b| shares[b.morph]).fold(0.0, f32::max)
        };
        for lips in ["aa", "oh", "mouthSmileLeft", "mouthFrownRight", "mouthPucker"] {
            assert!(share(lips) > 0.9, "{lips}: {}", share(lips));
        }
        for other in ["eyeBlinkLeft", "browDownLeft", "eyeWideRight"] {
            assert!(share(other) < 0.01, "{other}: {}", share(other));
        }
    }
}
