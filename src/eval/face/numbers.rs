//! The arithmetic of the figures: correlation, jitter, lag, rotation apart from a constant offset.

use glam::{DQuat, Quat};

/// Sums for a correlation and a mean error of pairs (ours, theirs).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pairs {
    pub count: f64,
    sum: [f64; 2],
    squares: [f64; 2],
    product: f64,
    error: f64,
}

impl Pairs {
    /// Fewer pairs say nothing about how two signals move together.
    const MIN_COUNT: f64 = 8.0;

    pub fn add(&mut self, ours: f64, theirs: f64) {
        self.count += 1.0;
        self.sum[0] += ours;
        self.sum[1] += theirs;
        self.squares[0] += ours * ours;
        self.squares[1] += theirs * theirs;
        self.product += ours * theirs;
        self.error += (ours - theirs).abs();
    }

    /// Takes in another clip's pairs. Each clip is measured against its own mean, so that two people at different
    /// heights make no correlation; `centred` sums may be added to each other, and plain ones to each other.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for i in 0..2 {
            self.sum[i] += other.sum[i];
            self.squares[i] += other.squares[i];
        }
        self.product += other.product;
        self.error += other.error;
    }

    /// The same with each signal's mean taken out of what the correlation rests on.
    pub fn centred(&self) -> Self {
        let Self { count, sum: [a, b], squares: [aa, bb], product, error } = *self;
        if count == 0.0 {
            return *self;
        }
        Self {
            count,
            sum: [0.0; 2],
            squares: [(aa - a * a / count).max(0.0), (bb - b * b / count).max(0.0)],
            product: product - a * b / count,
            error,
        }
    }

    pub fn mean_error(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.error / self.count)
    }

    /// Pearson's r of centred sums. `None` while there are few pairs or one side hardly moved: by less than
    /// `least_sd`.
    pub fn correlation(&self, least_sd: f64) -> Option<f64> {
        let [a, b] = self.squares;
        let moved = |squares: f64| squares / self.count >= least_sd * least_sd;
        let is_telling = self.count >= Self::MIN_COUNT && moved(a) && moved(b) && a > 0.0 && b > 0.0;
        is_telling.then(|| self.product / (a * b).sqrt())
    }
}

/// Root of the mean of squares; `None` of nothing.
pub(super) fn rms(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), v| (count + 1.0, sum + v * v));
    (count > 0.0).then(|| (sum / count).sqrt())
}

/// Arithmetic mean; `None` of nothing.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), v| (count + 1.0, sum + v));
    (count > 0.0).then(|| sum / count)
}

/// How far `signal[i]` lies off the middle of its neighbours, twice: `s[i−1] − 2 s[i] + s[i+1]`; `None` beside gaps.
pub(super) fn second_differences(signal: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut differences = vec![None; signal.len()];
    for (out, window) in differences.iter_mut().skip(1).zip(signal.windows(3)) {
        if let [Some(a), Some(b), Some(c)] = window {
            *out = Some(a - 2.0 * b + c);
        }
    }
    differences
}

/// The second (as a range of frames) in which the signals move least: where the sum of their variances, each divided
/// by its scale's square, is smallest. Only seconds without a gap count; `None` if there is none.
pub(super) fn stillest_second(secs: &[f64], signals: &[(&[Option<f64>], f64)]) -> Option<std::ops::Range<usize>> {
    /// Fewer frames are too few for a second difference that means something.
    const MIN_FRAMES: usize = 8;
    let mut best: Option<(f64, std::ops::Range<usize>)> = None;
    for start in 0..secs.len() {
        let Some(&from) = secs.get(start) else { break };
        // A frame's worth of tolerance: at 25/s a second is 25 or 26 frames.
        let end = start + secs.get(start..)?.iter().take_while(|&&at| at - from < 1.0 - 1e-6).count();
        if end >= secs.len() && secs.last().is_some_and(|last| last - from < 0.9) {
            break;
        }
        if end - start < MIN_FRAMES {
            continue;
        }
        let mut unrest = 0.0;
        let is_whole = signals.iter().all(|(signal, scale)| {
            let values: Option<Vec<f64>> =
                signal.get(start..end).and_then(|part| part.iter().map(|v| v.map(|v| v / scale)).collect());
            let Some(values) = values else { return false };
            let middle = values.iter().sum::<f64>() / values.len() as f64;
            unrest += values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / values.len() as f64;
            true
        });
        if is_whole && best.as_ref().is_none_or(|(least, _)| unrest < *least) {
            best = Some((unrest, start..end));
        }
    }
    best.map(|(_, range)| range)
}

/// By how many seconds `late` comes after `early`: the peak of their cross-correlation, over shifts up to 0.2 s.
/// `None` if the signals hardly move (`least_sd`) or do not fit together.
pub(super) fn lag_secs(secs: &[f64], early: &[Option<f64>], late: &[Option<f64>], least_sd: f64) -> Option<f64> {
    /// Grid that both are put on.
    const STEP_SECS: f64 = 1.0 / 240.0;
    const MAX_STEPS: i64 = 48;
    /// The peak of signals that belong together is higher.
    const MIN_PEAK: f64 = 0.8;
    let (early, late) = (resample(secs, early, STEP_SECS)?, resample(secs, late, STEP_SECS)?);
    let correlation = |shift: i64| {
        let mut pairs = Pairs::default();
        for (i, a) in early.iter().enumerate() {
            let at = usize::try_from(i as i64 + shift).ok();
            if let (Some(a), Some(b)) = (a, at.and_then(|at| late.get(at).copied().flatten())) {
                pairs.add(*a, b);
            }
        }
        pairs.centred().correlation(least_sd)
    };
    let curve: Vec<f64> = (-MAX_STEPS..=MAX_STEPS).map(correlation).collect::<Option<_>>()?;
    let (at, peak) = curve.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // A peak at the end of the range is none.
    let (before, after) = (*curve.get(at.checked_sub(1)?)?, *curve.get(at + 1)?);
    let bend = before - 2.0 * peak + after;
    let between = if bend < 0.0 { 0.5 * (before - after) / bend } else { 0.0 };
    (peak >= MIN_PEAK).then_some((at as f64 - MAX_STEPS as f64 + between) * STEP_SECS)
}

/// A signal on an even grid, with straight lines between its values; gaps stay gaps. `None` if it is too short.
fn resample(secs: &[f64], signal: &[Option<f64>], step: f64) -> Option<Vec<Option<f64>>> {
    /// Ten minutes of grid: a longer clip's beginning says enough.
    const MAX_LEN: usize = 144_000;
    let (first, last) = (*secs.first()?, *secs.last()?);
    let count = ((last - first) / step).floor().clamp(0.0, MAX_LEN as f64) as usize;
    if count < 120 {
        return None;
    }
    let mut out = Vec::with_capacity(count);
    let mut at = 0;
    for i in 0..count {
        let now = first + i as f64 * step;
        while secs.get(at + 1).is_some_and(|next| *next <= now) {
            at += 1;
        }
        let pair = secs.get(at).zip(secs.get(at + 1)).zip(signal.get(at).copied().flatten());
        out.push(pair.zip(signal.get(at + 1).copied().flatten()).map(|(((from, to), a), b)| {
            let share = if to > from { (now - from) / (to - from) } else { 0.0 };
            a + (b - a) * share
        }));
    }
    Some(out)
}

/// Angles in degrees between rotations once their constant offset is taken out, and that offset in degrees.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Apart {
    pub angles_deg: Vec<f64>,
    pub offset_deg: f64,
}

/// How far rotations (ours, theirs) are apart. A single pair has no offset: its whole angle counts.
pub(super) fn rotations_apart(pairs: &[(Quat, Quat)]) -> Apart {
    let differences: Vec<DQuat> =
        pairs.iter().map(|(ours, theirs)| (ours.as_dquat() * theirs.as_dquat().inverse()).normalize()).collect();
    let offset = match differences.as_slice() {
        // Near each other, so the sum of quaternions of one sign points along their mean.
        [first, _, ..] => differences.iter().fold(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), |sum, q| {
            if q.dot(*first) < 0.0 { sum + -*q } else { sum + *q }
        }),
        _ => DQuat::IDENTITY,
    };
    let offset = if offset.length_squared() > 1e-12 { offset.normalize() } else { DQuat::IDENTITY };
    let degrees = |q: DQuat| 2.0 * q.xyz().length().atan2(q.w.abs()).to_degrees();
    Apart {
        angles_deg: differences.iter().map(|q| degrees(*q * offset.inverse())).collect(),
        offset_deg: degrees(offset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_pearsons_within_each_clip() {
        let mut one = Pairs::default();
        let mut other = Pairs::default();
        for i in 0..20 {
            let x = f64::from(i) / 10.0;
            one.add(2.0 * x, x);
            // The other clip lies elsewhere, and moves against.
            other.add(50.0 - x, x - 7.0);
        }
        assert!((one.centred().correlation(0.0).unwrap() - 1.0).abs() < 1e-9);
        assert!((other.centred().correlation(0.0).unwrap() + 1.0).abs() < 1e-9);
        let mut both = one.centred();
        both.merge(&other.centred());
        let r = both.correlation(0.0).unwrap();
        assert!((0.2..0.4).contains(&r), "2:1 for, 1:1 against: {r}");
        assert!((one.mean_error().unwrap() - 0.95).abs() < 1e-9);
        assert_eq!(one.centred().correlation(5.0), None, "hardly moves");
        assert_eq!(Pairs::default().correlation(0.0), None);
    }

    #[test]
    fn second_differences_leave_gaps_out() {
        let signal = [Some(0.0), Some(1.0), Some(4.0), None, Some(1.0), Some(1.0), Some(1.0)];
        assert_eq!(second_differences(&signal), [None, Some(2.0), None, None, None, Some(0.0), None]);
        assert_eq!(second_differences(&signal[..1]), [None]);
    }

    #[test]
    fn the_stillest_second_is_found_and_never_spans_a_gap() {
        let secs: Vec<f64> = (0..100).map(|i| f64::from(i) / 25.0).collect();
        let mut signal: Vec<Option<f64>> =
            (0..100).map(|i| Some(if (50..75).contains(&i) { 0.01 } else { 1.0 } * f64::from(i * 7 % 11))).collect();
        assert_eq!(stillest_second(&secs, &[(&signal, 1.0)]), Some(50..75));
        signal[60] = None;
        let range = stillest_second(&secs, &[(&signal, 1.0)]).unwrap();
        assert!(!range.contains(&60), "{range:?}");
        assert_eq!(stillest_second(&secs[..10], &[(&signal[..10], 1.0)]), None);
    }

    #[test]
    fn a_shift_is_measured_below_a_frame() {
        let secs: Vec<f64> = (0..90).map(|i| f64::from(i) / 30.0).collect();
        let wave = |delay: f64| -> Vec<Option<f64>> {
            secs.iter().map(|t| Some(((t - delay) * std::f64::consts::TAU * 0.7).sin())).collect()
        };
        for delay in [-0.02, 0.0, 0.011, 0.05] {
            let lag = lag_secs(&secs, &wave(0.0), &wave(delay), 0.1).unwrap();
            assert!((lag - delay).abs() < 0.002, "{lag} instead of {delay}");
        }
        let still = vec![Some(0.0); 90];
        assert_eq!(lag_secs(&secs, &still, &wave(0.0), 0.1), None);
        assert_eq!(lag_secs(&secs[..3], &still[..3], &still[..3], 0.0), None);
    }

    #[test]
    fn a_constant_turn_is_no_error() {
        let turn = Quat::from_rotation_y(0.2);
        let heads: Vec<Quat> = (0..9).map(|i| Quat::from_rotation_x(0.05 * i as f32)).collect();
        let pairs: Vec<_> = heads.iter().map(|&q| (turn * q, q)).collect();
        let apart = rotations_apart(&pairs);
        assert!(apart.angles_deg.iter().all(|a| *a < 1e-3), "{apart:?}");
        assert!((apart.offset_deg - 0.2f64.to_degrees()).abs() < 1e-3);
        let alone = rotations_apart(&pairs[..1]);
        assert!((alone.angles_deg[0] - 0.2f64.to_degrees()).abs() < 1e-3 && alone.offset_deg == 0.0);
        assert_eq!(rotations_apart(&[]), Apart::default());
    }
}
