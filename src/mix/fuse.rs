//! The fusion rule for two measurements of the same thing (BEHAVIOUR §1).

/// Fuses the same quantity (0..1) heard as `a` and seen as `v`.
///
/// Where they agree within 0.2 both count the same. From 0.5 apart on the larger is believed
/// (0.8 · larger + 0.2 · smaller), because the smaller one has usually been lost. Continuous, and never decreasing in
/// either argument. NaN counts as 0.
pub fn fuse(a: f32, v: f32) -> f32 {
    let (a, v) = (sane(a), sane(v));
    let (larger, smaller) = (a.max(v), a.min(v));
    let difference = larger - smaller;
    larger - (difference / 2.0).min(0.1).max(difference / 5.0)
}

/// How much of `fuse(a, v)` comes from `a`: the `s` with `fuse = s·a + (1 - s)·v`.
pub(super) fn fuse_share(a: f32, v: f32) -> f32 {
    let (a, v) = (sane(a), sane(v));
    let difference = (a - v).abs();
    if difference < 1e-6 {
        return 0.5;
    }
    let from_larger = 1.0 - (difference / 2.0).min(0.1).max(difference / 5.0) / difference;
    if a > v { from_larger } else { 1.0 - from_larger }
}

fn sane(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_rule_by_hand() {
        for (a, v, expected) in [
            (0.0, 0.0, 0.0),
            (1.0, 1.0, 1.0),
            (0.4, 0.6, 0.5),  // up to 0.2 apart: the mean
            (0.2, 0.6, 0.5),  // between: 0.1 under the larger
            (0.1, 0.6, 0.5),  // 0.5 apart: both forms meet
            (0.0, 1.0, 0.8),  // beyond: 80 % of the larger
            (0.9, 0.1, 0.74), // 0.8 · 0.9 + 0.2 · 0.1
        ] {
            assert!((fuse(a, v) - expected).abs() < 1e-6, "fuse({a}, {v}) = {}", fuse(a, v));
        }
    }

    proptest! {
        #[test]
        fn bounded_and_symmetric(a in 0.0f32..=1.0, v in 0.0f32..=1.0) {
            let fused = fuse(a, v);
            prop_assert!(fused >= a.min(v) - 1e-6 && fused <= a.max(v) + 1e-6);
            prop_assert_eq!(fused, fuse(v, a));
        }

        #[test]
        fn continuous_and_monotone(a in 0.0f32..=1.0, v in 0.0f32..=1.0, step in 0.0f32..0.05) {
            let moved = fuse((a + step).min(1.0), v) - fuse(a, v);
            prop_assert!(moved >= -1e-6, "fell by {}", -moved);
            prop_assert!(moved <= step + 1e-6, "jumped by {moved} for {step}");
        }

        #[test]
        fn the_share_rebuilds_the_fusion(a in 0.0f32..=1.0, v in 0.0f32..=1.0) {
            let share = fuse_share(a, v);
            prop_assert!((0.2 - 1e-4..=0.8 + 1e-4).contains(&share) || (a - v).abs() < 0.5);
            prop_assert!((share * a + (1.0 - share) * v - fuse(a, v)).abs() < 1e-5);
        }

        #[test]
        fn never_nan(a in any::<f32>(), v in any::<f32>()) {
            prop_assert!((0.0..=1.0).contains(&fuse(a, v)));
            prop_assert!((0.0..=1.0).contains(&fuse_share(a, v)));
        }
    }
}
