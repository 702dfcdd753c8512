//! The region of the lips: while lip-sync has the mouth, an expression leaves it alone (BEHAVIOUR §2).
//!
//! Avatars name their shapes as they like, so geometry decides: the lips are what the five vowels move, and a shape
//! belongs to them by the share of its movement that lies there. The emotions of most avatars are shapes of the whole
//! face; loading splits each of those in two, one for the lips and one for the rest.

use super::names::is_single_shape;
use super::{
    AvatarModel, Expression, ExpressionGroup, Fallback, MeshInstance, MorphBind, MorphTarget, Preset, Primitive,
};

const VOWELS: [Preset; 5] = [Preset::Aa, Preset::Ih, Preset::Ou, Preset::Ee, Preset::Oh];
/// A vertex belongs to the lips in full if a vowel moves it by this share of its largest movement; less from zero on.
const REGION_SHARE: f32 = 0.2;
/// Below the first share of its movement a shape is not of the lips, from the second one on it is.
const PART_SHARE: f32 = 0.5;
const WHOLE_SHARE: f32 = 0.8;
/// A shape with less of its movement in the lips is not worth splitting.
const SPLIT_SHARE: f32 = 0.02;
/// A model with more such shapes than any avatar needs is left as it is.
const MAX_SPLITS: usize = 256;

/// How much each morph target (by its place in `PosedAvatar::morph_weights`) belongs to the lips, 0..1.
pub fn lip_shares(model: &AvatarModel) -> Vec<f32> {
    let vowels = vowel_morphs(model);
    let shares = model.meshes.iter().flat_map(|mesh| {
        let regions = lip_regions(mesh, &vowels);
        (0..mesh.morph_names.len()).map(move |number| {
            let share = share_of_lips(mesh, number, &regions).unwrap_or(0.0);
            let t = ((share - PART_SHARE) / (WHOLE_SHARE - PART_SHARE)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        })
    });
    shares.collect()
}

/// Splits the shapes of whole-face expressions in lips and rest. What they do together stays the same.
pub(super) fn split_lips(model: &mut AvatarModel) {
    let vowels = vowel_morphs(model);
    let acted = acted_morphs(model, &vowels);
    // New places come at the end of each mesh's own, so the places of later meshes move.
    let mut lips_of = vec![None; vowels.len()];
    let mut moved_by = vec![0; vowels.len()];
    let mut added = 0;
    for mesh in &mut model.meshes {
        let regions = lip_regions(mesh, &vowels);
        let first = mesh.morph_offset;
        let count = mesh.morph_names.len();
        mesh.morph_offset += added;
        for number in 0..count {
            if let Some(slot) = moved_by.get_mut(first + number) {
                *slot = added;
            }
        }
        let mut own = 0;
        for number in 0..count {
            let is_mixed = || {
                share_of_lips(mesh, number, &regions).is_some_and(|share| (SPLIT_SHARE..WHOLE_SHARE).contains(&share))
            };
            if acted.get(first + number) != Some(&true) || added + own >= MAX_SPLITS || !is_mixed() {
                continue;
            }
            split(mesh, number, &regions);
            if let Some(slot) = lips_of.get_mut(first + number) {
                *slot = Some(mesh.morph_offset + count + own);
            }
            own += 1;
        }
        added += own;
    }
    model.morph_count += added;
    for expression in &mut model.expressions {
        let binds = std::mem::take(&mut expression.binds.morphs);
        for bind in binds {
            let place = bind.morph + moved_by.get(bind.morph).copied().unwrap_or(0);
            let lips = lips_of.get(bind.morph).copied().flatten();
            expression.binds.morphs.push(MorphBind { morph: place, ..bind });
            expression.binds.morphs.extend(lips.map(|morph| MorphBind { morph, ..bind }));
        }
    }
}

/// Moves the lips' part of a mesh's morph target to a new one at the end.
fn split(mesh: &mut MeshInstance, number: usize, regions: &[Vec<f32>]) {
    let name = mesh.morph_names.get(number).map(|name| format!("{name} (lips)")).unwrap_or_default();
    mesh.morph_names.push(name);
    mesh.morph_weights.push(mesh.morph_weights.get(number).copied().unwrap_or(0.0));
    for (primitive, region) in mesh.primitives.iter_mut().zip(regions) {
        let Some(whole) = primitive.morphs.get_mut(number) else {
            primitive.morphs.push(MorphTarget::default());
            continue;
        };
        let share = |vertex: u32| region.get(vertex as usize).copied().unwrap_or(0.0);
        let lips = part(whole, share);
        *whole = part(whole, |vertex| 1.0 - share(vertex));
        primitive.morphs.push(lips);
    }
}

/// A morph target with each vertex's movement taken by its share.
fn part(whole: &MorphTarget, share: impl Fn(u32) -> f32) -> MorphTarget {
    let mut part = MorphTarget::default();
    for (entry, (vertex, movement)) in whole.vertices.iter().zip(&whole.positions).enumerate() {
        let share = share(*vertex);
        if share > 0.0 {
            part.vertices.push(*vertex);
            part.positions.push(*movement * share);
            part.normals.extend(whole.normals.get(entry).map(|normal| *normal * share));
        }
    }
    part
}

/// The morph targets of expressions that act with the whole face: emotions and what the artist has added to them.
fn acted_morphs(model: &AvatarModel, vowels: &[bool]) -> Vec<bool> {
    let mut is_acted = vec![false; vowels.len()];
    let has_acting =
        |expression: &&Expression| expression.group == ExpressionGroup::None && !is_single_shape(&expression.name);
    for bind in model.expressions.iter().filter(has_acting).flat_map(|e| &e.binds.morphs) {
        if let Some(slot) = is_acted.get_mut(bind.morph) {
            *slot = vowels.get(bind.morph) != Some(&true);
        }
    }
    // A camera-angle correction is no acting.
    let corrections = model.sidecar.corrections.iter().flat_map(|c| &c.expressions);
    let corrections = corrections.filter_map(|(index, _)| model.expressions.get(*index));
    for bind in corrections.flat_map(|e| &e.binds.morphs) {
        if let Some(slot) = is_acted.get_mut(bind.morph) {
            *slot = false;
        }
    }
    is_acted
}

/// The morph targets of the vowels, by their place in `PosedAvatar::morph_weights`.
fn vowel_morphs(model: &AvatarModel) -> Vec<bool> {
    let fallbacks = model.fallbacks();
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

/// The share of a morph target's movement (squared) that lies in the lips; `None` for one that moves nothing.
fn share_of_lips(mesh: &MeshInstance, number: usize, regions: &[Vec<f32>]) -> Option<f32> {
    // Files may move vertices by any number: the square of the largest is finite in double precision.
    let (mut inside, mut all) = (0.0_f64, 0.0_f64);
    for (primitive, region) in mesh.primitives.iter().zip(regions) {
        let Some(morph) = primitive.morphs.get(number) else { continue };
        for (vertex, movement) in morph.vertices.iter().zip(&morph.positions) {
            let energy = movement.as_dvec3().length_squared();
            all += energy;
            inside += energy * f64::from(region.get(*vertex as usize).copied().unwrap_or(0.0));
        }
    }
    (all > 0.0 && all.is_finite()).then(|| (inside / all) as f32)
}

/// By primitive and vertex: how much it belongs to the lips, 0..1.
fn lip_regions(mesh: &MeshInstance, is_vowel: &[bool]) -> Vec<Vec<f32>> {
    let vowels: Vec<usize> =
        (0..mesh.morph_names.len()).filter(|number| is_vowel.get(mesh.morph_offset + number) == Some(&true)).collect();
    // The largest movement is that of the whole mesh: a primitive that a vowel hardly touches is not the lips.
    let scale = |number: usize| {
        let morphs = mesh.primitives.iter().filter_map(|p| p.morphs.get(number));
        morphs.flat_map(|m| &m.positions).map(|p| p.length()).fold(0.0, f32::max) * REGION_SHARE
    };
    let scales: Vec<(usize, f32)> = vowels.into_iter().map(|n| (n, scale(n))).filter(|(_, s)| *s > 0.0).collect();
    mesh.primitives.iter().map(|primitive| lip_region(primitive, &scales)).collect()
}

fn lip_region(primitive: &Primitive, vowels: &[(usize, f32)]) -> Vec<f32> {
    let mut region = vec![0.0_f32; primitive.positions.len()];
    for (number, full) in vowels {
        let Some(morph) = primitive.morphs.get(*number) else { continue };
        for (vertex, movement) in morph.vertices.iter().zip(&morph.positions) {
            if let Some(slot) = region.get_mut(*vertex as usize) {
                *slot = slot.max((movement.length() / full).clamp(0.0, 1.0));
            }
        }
    }
    region
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares_of(model: &AvatarModel, name: &str) -> Vec<f32> {
        let shares = lip_shares(model);
        let expression = model.expressions.iter().find(|e| e.name == name).unwrap();
        expression.binds.morphs.iter().map(|b| shares[b.morph]).collect()
    }

    #[test]
    fn shapes_of_the_lips_are_told_by_where_they_move() {
        let model = crate::avatar::bundled().unwrap();
        for lips in ["aa", "oh", "mouthSmileLeft", "mouthFrownRight", "mouthPucker"] {
            assert!(shares_of(&model, lips).iter().any(|s| *s > 0.9), "{lips}");
        }
        for other in ["eyeBlinkLeft", "browDownLeft", "eyeWideRight"] {
            assert!(shares_of(&model, other).iter().all(|s| *s < 0.01), "{other}");
        }
    }

    #[test]
    fn an_emotion_of_the_whole_face_is_split_and_stays_what_it_was() {
        let model = crate::avatar::bundled().unwrap();
        let shares = shares_of(&model, "happy");
        assert!(shares.iter().any(|s| *s > 0.9) && shares.iter().any(|s| *s < 0.1), "{shares:?}");

        let mut whole = MorphTarget::default();
        for vertex in [0, 2, 3] {
            whole.vertices.push(vertex);
            whole.positions.push(glam::Vec3::new(1.0, vertex as f32, -2.0));
        }
        let share = |vertex: u32| [0.0, 0.0, 0.25, 1.0][vertex as usize];
        let (lips, rest) = (part(&whole, share), part(&whole, |v| 1.0 - share(v)));
        assert_eq!((lips.vertices.clone(), rest.vertices.clone()), (vec![2, 3], vec![0, 2]));
        assert_eq!(lips.positions[0] + rest.positions[1], whole.positions[1]);
        assert_eq!(lips.positions[1], whole.positions[2]);
    }
}
