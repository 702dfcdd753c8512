//! From samples to figures: sums that can be added up over clips, and what they come to.

use std::collections::BTreeMap;

use glam::Quat;

use super::blinks::{BlinkFigures, blinks};
use super::figures::{FaceFigures, ParityFigures, ProductFigures, ShapeFigures, TruthFigures, Versus, limits};
use super::look::{LandmarkError, Looked, Moving, Sample};
use super::numbers::{Pairs, lag_secs, mean, rms, rotations_apart, second_differences, stillest_second};
use super::truth::{ClipTruth, FaceTimes};
use crate::types::{ARKIT_COUNT, ARKIT_NAMES};

/// So many shapes count as the most used ones.
const MOST_USED: usize = 15;
/// Shapes that move less (standard deviation) have no correlation.
const SHAPE_SD: f64 = 0.02;
/// The same for the lips' gap in eye distances.
const GAP_SD: f64 = 0.01;
/// The same for the gaze, degrees.
const GAZE_SD_DEG: f64 = 1.0;
/// Lids of eyes whose gaze can be seen.
const EYES_OPEN: f64 = 0.3;
/// Signals that move less have no lag: degrees of yaw, opening of the mouth, closing of the lids.
const LAG_SD: [f64; 3] = [1.5, 0.04, 0.08];
/// The first frames of a clip warm caches up.
const WARM_UP: usize = 5;
/// What counts as the same unrest in degrees, mouth opening and lids when the stillest second is looked for.
const UNREST_SCALES: [f64; 5] = [1.0, 1.0, 1.0, 0.05, 0.1];

/// Counted things with a sum.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    count: f64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
    }

    fn extend(&mut self, values: impl Iterator<Item = f64>) {
        values.for_each(|value| self.add(value));
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// Ours and theirs, added up over clips.
#[derive(Clone, Copy, Debug, Default)]
struct Both {
    ours: Mean,
    theirs: Mean,
    /// Logarithms of the ratios of clips.
    ratio: Mean,
}

impl Both {
    fn merge(&mut self, other: Self) {
        self.ours.merge(other.ours);
        self.theirs.merge(other.theirs);
        self.ratio.merge(other.ratio);
    }

    fn add(&mut self, ours: Option<f64>, theirs: Option<f64>) {
        self.ours.extend(ours.into_iter());
        self.theirs.extend(theirs.into_iter());
    }

    /// Sets the ratio of one clip.
    fn compare(&mut self) {
        if let (Some(ours), Some(theirs)) = (self.ours.get(), self.theirs.get())
            && ours > 0.0
            && theirs > 0.0
        {
            self.ratio.add((ours / theirs).ln());
        }
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Versus {
        Versus {
            ours: self.ours.get().map(&f),
            theirs: self.theirs.get().map(&f),
            ratio: self.ratio.get().map(f64::exp),
        }
    }
}

/// Pairs of clips, each against its own mean, and of stills, against the mean of them all.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    clips: Pairs,
    stills: Pairs,
}

impl Signals {
    fn merge(&mut self, other: &Self) {
        self.clips.merge(&other.clips);
        self.stills.merge(&other.stills);
    }

    fn all(&self) -> Pairs {
        let mut all = self.clips;
        all.merge(&self.stills.centred());
        all
    }
}

/// All that adds up to figures.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    files: usize,
    frames: usize,
    parity: ParityFigures,
    landmarks: [Mean; 2],
    shapes: Vec<Signals>,
    shape_weights: Vec<Mean>,
    head: Mean,
    head_offset: Mean,
    gap: Signals,
    states: BTreeMap<&'static str, usize>,
    seen: Mean,
    seen_where: [Mean; 2],
    product_landmarks: [Mean; 2],
    product_head: Mean,
    mouth: Signals,
    lids: Signals,
    /// Squares: head, mouth, lids, landmarks.
    jitter: [Both; 4],
    lag_secs: [Both; 3],
    cost_secs: Both,
    blinks: Option<BlinkFigures>,
    their_blinks: Option<BlinkFigures>,
    known: Known,
}

/// Sums against the truth.
#[derive(Clone, Debug, Default)]
struct Known {
    frames: usize,
    /// Yaw, pitch, roll.
    head: [Mean; 3],
    mouth: Pairs,
    lids: Pairs,
    gaze: [Pairs; 2],
    lag_secs: [Mean; 3],
}

impl Sums {
    /// The sums of one clip.
    pub fn of(looked: &Looked, is_still: bool, truth: Option<&ClipTruth>) -> Self {
        let samples = looked.samples.as_slice();
        let mut sums = Self {
            files: 1,
            frames: samples.len(),
            shapes: vec![Signals::default(); ARKIT_COUNT],
            shape_weights: vec![Mean::default(); ARKIT_COUNT],
            ..Self::default()
        };
        sums.add_parity(samples, is_still);
        sums.add_product(samples, is_still);
        if !is_still {
            sums.add_movement(samples);
        }
        sums.add_known(samples);
        let known = known_truth(samples);
        if let Some(truth) = truth.or(known.as_ref()) {
            sums.add_truth(looked, truth);
        }
        sums
    }

    fn add_known(&mut self, samples: &[Sample]) {
        let mut known = Known::default();
        for sample in samples {
            let (Some(truth), Some(seen)) = (sample.truth.filter(|t| t.is_seen), sample.product) else { continue };
            known.frames += 1;
            for ((error, ours), theirs) in known.head.iter_mut().zip(seen.head_deg).zip(truth.moving.head_deg) {
                error.add((ours - theirs).abs());
            }
            known.mouth.add(seen.mouth, truth.moving.mouth);
            known.lids.add(seen.lids, truth.moving.lids);
            if let Some(gaze) = sample.product_gaze_deg.filter(|_| truth.moving.lids < EYES_OPEN) {
                for ((pairs, ours), theirs) in known.gaze.iter_mut().zip(gaze).zip(truth.gaze_deg) {
                    pairs.add(ours, theirs);
                }
            }
        }
        if known.frames == 0 {
            return;
        }
        let secs: Vec<f64> = samples.iter().map(|s| s.secs).collect();
        let truth = components(samples, |s| s.truth.map(|t| t.moving));
        let ours = components(samples, |s| s.product);
        for ((lag, i), least_sd) in known.lag_secs.iter_mut().zip([0, 3, 4]).zip(LAG_SD) {
            let signals = truth.get(i).zip(ours.get(i));
            lag.extend(signals.and_then(|(truth, ours)| lag_secs(&secs, truth, ours, least_sd)).into_iter());
        }
        (known.mouth, known.lids) = (known.mouth.centred(), known.lids.centred());
        known.gaze = known.gaze.map(|pairs| pairs.centred());
        self.known = known;
    }

    fn add_parity(&mut self, samples: &[Sample], is_still: bool) {
        let parity = &mut self.parity;
        let mut heads: Vec<(Quat, Quat)> = Vec::new();
        let mut shapes = [Pairs::default(); ARKIT_COUNT];
        let mut gap = Pairs::default();
        for sample in samples {
            let Some(is_same_picture) = sample.is_same_picture else { continue };
            parity.frames += 1;
            parity.other_pixels += usize::from(!is_same_picture);
            let (ours, theirs) = match (&sample.ours, &sample.theirs) {
                (Some(ours), Some(theirs)) => (ours, theirs),
                (ours, theirs) => {
                    parity.ours_only += usize::from(ours.is_some());
                    parity.theirs_only += usize::from(theirs.is_some());
                    continue;
                }
            };
            parity.common += 1;
            if let Some(error) = sample.error {
                add_error(&mut self.landmarks, error);
                parity.landmarks_worst_px = Some(parity.landmarks_worst_px.unwrap_or(0.0).max(error.px));
            }
            for (i, pairs) in shapes.iter_mut().enumerate() {
                let (Some(ours), Some(theirs)) = (ours.blendshapes.get(i), theirs.blendshapes.get(i)) else { continue };
                pairs.add(f64::from(*ours), f64::from(*theirs));
                if let Some(weight) = self.shape_weights.get_mut(i) {
                    weight.add(f64::from(*theirs));
                }
            }
            gap.add(ours.lip_gap, theirs.lip_gap);
            heads.push((ours.head, theirs.head));
        }
        for (sum, pairs) in self.shapes.iter_mut().zip(&shapes) {
            *sum = signals(pairs, is_still);
        }
        self.gap = signals(&gap, is_still);
        let apart = rotations_apart(&heads);
        parity.head_worst_deg = apart.angles_deg.iter().copied().reduce(f64::max);
        self.head.extend(apart.angles_deg.into_iter());
        if heads.len() > 1 {
            self.head_offset.add(apart.offset_deg);
        }
        if parity.common > 0 {
            parity.clips = 1;
            let within = |value: Option<f64>, limit: f64| value.is_none_or(|value| value <= limit);
            let is_within = (within(self.landmarks[0].get(), limits::LANDMARKS_PX)
                || within(self.landmarks[1].get(), limits::LANDMARKS_SHARE))
                && within(self.most_used_error(), limits::BLENDSHAPES)
                && within(self.head.get(), limits::HEAD_DEG)
                && self.gap.all().correlation(GAP_SD).is_none_or(|r| r >= limits::MOUTH);
            self.parity.clips_within_limits = usize::from(is_within);
        }
    }

    fn add_product(&mut self, samples: &[Sample], is_still: bool) {
        let (mut mouth, mut lids) = (Pairs::default(), Pairs::default());
        let mut heads: Vec<(Quat, Quat)> = Vec::new();
        for (i, sample) in samples.iter().enumerate() {
            *self.states.entry(sample.state.name()).or_default() += 1;
            self.seen.add(f64::from(u8::from(sample.product.is_some())));
            if let Some(error) = sample.product_error {
                add_error(&mut self.product_landmarks, error);
            }
            if let (Some(ours), Some(theirs)) = (sample.product_head, &sample.theirs) {
                heads.push((ours, theirs.head));
            }
            if let (Some(ours), Some(theirs)) = (sample.product, sample.theirs_moving) {
                mouth.add(ours.mouth, theirs.mouth);
                lids.add(ours.lids, theirs.lids);
            }
            if i >= WARM_UP {
                let ours = sample.product.map(|_| sample.product_secs);
                self.cost_secs.add(ours, sample.video.and(sample.video_secs));
            }
        }
        self.cost_secs.compare();
        self.mouth = signals(&mouth, is_still);
        self.lids = signals(&lids, is_still);
        self.product_head.extend(rotations_apart(&heads).angles_deg.into_iter());
    }

    fn add_movement(&mut self, samples: &[Sample]) {
        let secs: Vec<f64> = samples.iter().map(|s| s.secs).collect();
        let ours = components(samples, |s| s.product);
        let theirs = components(samples, |s| s.video);
        let has_theirs = samples.iter().any(|s| s.video.is_some());
        // Each signal on its own stillest second, the landmarks on that of head and mouth.
        let still = |part: std::ops::Range<usize>| {
            let scaled = |signals: &'_ [Vec<Option<f64>>]| -> Vec<(Vec<Option<f64>>, f64)> {
                signals.iter().cloned().zip(UNREST_SCALES).skip(part.start).take(part.len()).collect()
            };
            let mut watched = scaled(&ours);
            watched.extend(if has_theirs { scaled(&theirs) } else { Vec::new() });
            let watched: Vec<_> = watched.iter().map(|(signal, scale)| (signal.as_slice(), *scale)).collect();
            // The neighbours of the first and last frame lie outside the second: they do not count.
            stillest_second(&secs, &watched).map(|range| range.start + 1..range.end - 1)
        };
        let square = |signals: &[Vec<Option<f64>>], inside: &std::ops::Range<usize>| {
            let squares = signals.iter().map(|signal| {
                let differences = second_differences(signal);
                rms(differences.get(inside.clone()).unwrap_or_default().iter().copied().flatten()).map(|v| v * v)
            });
            squares.collect::<Option<Vec<f64>>>().and_then(|squares| mean(squares.into_iter()))
        };
        for (jitter, part) in self.jitter.iter_mut().zip([0..3, 3..4, 4..5]) {
            let Some(inside) = still(part.clone()) else { continue };
            let of = |signals: &[Vec<Option<f64>>]| square(signals.get(part.clone()).unwrap_or_default(), &inside);
            jitter.add(of(&ours), of(&theirs));
            jitter.compare();
            jitter.ratio.sum /= 2.0; // of squares
        }
        if let (Some(inside), Some(jitter)) = (still(0..4), self.jitter.last_mut()) {
            let samples = samples.get(inside).unwrap_or_default();
            jitter.add(
                mean(samples.iter().filter_map(|s| s.product_unrest_px2)),
                mean(samples.iter().filter_map(|s| s.video_unrest_px2)),
            );
            jitter.compare();
            jitter.ratio.sum /= 2.0; // of squares
        }
        let (ours_raw, theirs_raw) = (components(samples, |s| s.ours_moving), components(samples, |s| s.theirs_moving));
        for ((lag, i), least_sd) in self.lag_secs.iter_mut().zip([0, 3, 4]).zip(LAG_SD) {
            let between = |raw: &[Vec<Option<f64>>], filtered: &[Vec<Option<f64>>]| {
                lag_secs(&secs, raw.get(i)?, filtered.get(i)?, least_sd)
            };
            lag.add(between(&ours_raw, &ours), between(&theirs_raw, &theirs));
        }
    }

    fn add_truth(&mut self, looked: &Looked, truth: &ClipTruth) {
        if let Some(face) = &truth.face {
            for sample in &looked.samples {
                let is_seen = f64::from(u8::from(sample.product.is_some()));
                self.seen_where[usize::from(!face.at(sample.secs))].add(is_seen);
            }
        }
        if let Some(counted) = &truth.blinks {
            self.blinks = Some(BlinkFigures::of(&blinks(looked.shown_lids.iter().copied()), counted));
            if looked.samples.iter().any(|s| s.video_blink.is_some()) {
                let found = blinks(looked.samples.iter().map(|s| (s.secs, s.video_blink)));
                self.their_blinks = Some(BlinkFigures::of(&found, counted));
            }
        }
    }

    /// Takes in another clip's or group's.
    pub fn merge(&mut self, other: &Self) {
        self.files += other.files;
        self.frames += other.frames;
        let (parity, more) = (&mut self.parity, &other.parity);
        parity.frames += more.frames;
        parity.common += more.common;
        parity.ours_only += more.ours_only;
        parity.theirs_only += more.theirs_only;
        parity.other_pixels += more.other_pixels;
        parity.clips += more.clips;
        parity.clips_within_limits += more.clips_within_limits;
        let worse = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        parity.landmarks_worst_px = worse(parity.landmarks_worst_px, more.landmarks_worst_px);
        parity.head_worst_deg = worse(parity.head_worst_deg, more.head_worst_deg);
        self.shapes.resize(ARKIT_COUNT, Signals::default());
        self.shape_weights.resize(ARKIT_COUNT, Mean::default());
        self.shapes.iter_mut().zip(&other.shapes).for_each(|(a, b)| a.merge(b));
        let means = |a: &mut [Mean], b: &[Mean]| a.iter_mut().zip(b).for_each(|(a, b)| a.merge(*b));
        means(&mut self.shape_weights, &other.shape_weights);
        means(&mut self.landmarks, &other.landmarks);
        means(&mut self.seen_where, &other.seen_where);
        means(&mut self.product_landmarks, &other.product_landmarks);
        self.head.merge(other.head);
        self.head_offset.merge(other.head_offset);
        self.seen.merge(other.seen);
        self.product_head.merge(other.product_head);
        self.gap.merge(&other.gap);
        self.mouth.merge(&other.mouth);
        self.lids.merge(&other.lids);
        for (state, count) in &other.states {
            *self.states.entry(state).or_default() += count;
        }
        self.jitter.iter_mut().zip(&other.jitter).for_each(|(a, b)| a.merge(*b));
        self.lag_secs.iter_mut().zip(&other.lag_secs).for_each(|(a, b)| a.merge(*b));
        self.cost_secs.merge(other.cost_secs);
        self.known.frames += other.known.frames;
        means(&mut self.known.head, &other.known.head);
        means(&mut self.known.lag_secs, &other.known.lag_secs);
        self.known.mouth.merge(&other.known.mouth);
        self.known.lids.merge(&other.known.lids);
        self.known.gaze.iter_mut().zip(&other.known.gaze).for_each(|(a, b)| a.merge(b));
        for (blinks, more) in [(&mut self.blinks, &other.blinks), (&mut self.their_blinks, &other.their_blinks)] {
            if let Some(more) = more {
                blinks.get_or_insert_default().merge(more);
            }
        }
    }

    /// What the sums come to.
    pub fn figures(&self, name: &str) -> FaceFigures {
        let [landmarks_px, landmarks_share] = self.landmarks.map(Mean::get);
        let most_used = || self.most_used().into_iter().take(MOST_USED);
        let parity = ParityFigures {
            landmarks_px,
            landmarks_share,
            blendshapes: self.most_used_error(),
            blendshapes_r: mean(most_used().filter_map(|shape| shape.r)),
            head_deg: self.head.get(),
            head_offset_deg: self.head_offset.get(),
            mouth_r: self.gap.all().correlation(GAP_SD),
            shapes: self.most_used(),
            ..self.parity.clone()
        };
        let [product_px, product_share] = self.product_landmarks.map(Mean::get);
        let [there, none] = self.seen_where.map(Mean::get);
        let [head, mouth, lids, landmarks] = self.jitter.map(|jitter| jitter.map(f64::sqrt));
        let [lag_head, lag_mouth, lag_lids] = self.lag_secs.map(|lag| lag.map(|secs| secs * 1e3));
        FaceFigures {
            name: name.into(),
            files: self.files,
            frames: self.frames,
            parity: (parity.frames > 0).then_some(parity),
            product: ProductFigures {
                seen: self.seen.get().unwrap_or_default(),
                states: self.states.clone(),
                seen_where_there: there,
                seen_where_none: none,
                landmarks_px: product_px,
                landmarks_share: product_share,
                head_deg: self.product_head.get(),
                mouth_r: self.mouth.all().correlation(GAP_SD),
                lids_r: self.lids.all().correlation(GAP_SD),
                jitter_head_deg: head,
                jitter_mouth: mouth,
                jitter_lids: lids,
                jitter_landmarks_px: landmarks,
                lag_head_ms: lag_head,
                lag_mouth_ms: lag_mouth,
                lag_lids_ms: lag_lids,
                cost_ms: self.cost_secs.map(|secs| secs * 1e3),
                blinks: self.blinks.clone(),
                their_blinks: self.their_blinks.clone(),
            },
            truth: (self.known.frames > 0).then(|| self.known.figures()),
        }
    }

    fn most_used_error(&self) -> Option<f64> {
        mean(self.most_used().into_iter().take(MOST_USED).map(|shape| shape.error))
    }

    /// All shapes but the neutral one, by MediaPipe's mean weight.
    fn most_used(&self) -> Vec<ShapeFigures> {
        let figures = |((name, signals), weight): ((&'static str, &Signals), &Mean)| {
            let pairs = signals.all();
            Some(ShapeFigures { name, mean: weight.get()?, error: pairs.mean_error()?, r: pairs.correlation(SHAPE_SD) })
        };
        let named = ARKIT_NAMES.into_iter().zip(&self.shapes).zip(&self.shape_weights).skip(1);
        let mut shapes: Vec<ShapeFigures> = named.filter_map(figures).collect();
        shapes.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        shapes
    }
}

impl Known {
    fn figures(&self) -> TruthFigures {
        TruthFigures {
            frames: self.frames,
            head_deg: self.head.map(Mean::get),
            mouth: self.mouth.mean_error(),
            mouth_r: self.mouth.correlation(GAP_SD),
            lids: self.lids.mean_error(),
            lids_r: self.lids.correlation(GAP_SD),
            gaze_deg: self.gaze.map(|pairs| pairs.mean_error()),
            gaze_r: self.gaze.map(|pairs| pairs.correlation(GAZE_SD_DEG)),
            lag_ms: self.lag_secs.map(|lag| lag.get().map(|secs| secs * 1e3)),
        }
    }
}

/// When a drawn person blinks and is to be seen; `None` where that is not known.
fn known_truth(samples: &[Sample]) -> Option<ClipTruth> {
    let lids = samples.iter().map(|s| (s.secs, s.truth.map(|t| t.moving.lids)));
    let mut parts: Vec<[f64; 2]> = Vec::new();
    let mut was_seen = false;
    for sample in samples {
        let is_seen = sample.truth?.is_seen;
        match parts.last_mut() {
            Some(part) if is_seen && was_seen => part[1] = sample.secs,
            _ if is_seen => parts.push([sample.secs; 2]),
            _ => {}
        }
        was_seen = is_seen;
    }
    if samples.is_empty() {
        return None;
    }
    let face = FaceTimes::Parts(parts);
    // A blink that nobody can see is none.
    let blinks = blinks(lids).iter().map(|blink| blink.secs).filter(|secs| face.at(*secs)).collect();
    Some(ClipTruth { blinks: Some(blinks), face: Some(face), note: None })
}

fn signals(pairs: &Pairs, is_still: bool) -> Signals {
    if is_still {
        Signals { stills: *pairs, ..Signals::default() }
    } else {
        Signals { clips: pairs.centred(), ..Signals::default() }
    }
}

fn add_error(sums: &mut [Mean; 2], error: LandmarkError) {
    sums[0].add(error.px);
    sums[1].add(error.share);
}

/// Yaw, pitch, roll, mouth and lids, each as a signal.
fn components(samples: &[Sample], of: impl Fn(&Sample) -> Option<Moving>) -> Vec<Vec<Option<f64>>> {
    let mut signals = vec![Vec::new(); 5];
    for sample in samples {
        let values = of(sample).map(|m| [m.head_deg[0], m.head_deg[1], m.head_deg[2], m.mouth, m.lids]);
        for (i, signal) in signals.iter_mut().enumerate() {
            signal.push(values.and_then(|values| values.get(i).copied()));
        }
    }
    signals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::face::look::View;
    use crate::types::VideoState;

    fn sample(i: usize, error: f64) -> Sample {
        let secs = i as f64 / 30.0;
        let wave = (secs * 5.0).sin();
        let moving = |lag: f64, noise: f64| Moving {
            head_deg: [10.0 * ((secs - lag) * 5.0).sin() + noise * (i % 2) as f64, 0.0, 0.0],
            mouth: 0.4 + 0.3 * wave,
            lids: if i % 45 == 20 { 0.9 } else { 0.0 },
        };
        let view = |by: f64| View {
            blendshapes: std::array::from_fn(|shape| (0.01 * shape as f64 * (1.2 + wave) / 2.4 + by) as f32),
            head: Quat::from_rotation_y((0.2 * wave + 0.1 * by) as f32),
            lip_gap: 0.2 + 0.1 * wave + by,
        };
        Sample {
            secs,
            is_same_picture: Some(true),
            ours: Some(view(error)),
            theirs: Some(view(0.0)),
            error: Some(LandmarkError { px: error, share: error / 100.0 }),
            ours_moving: Some(moving(0.0, 0.0)),
            theirs_moving: Some(moving(0.0, 0.0)),
            truth: None,
            state: VideoState::Tracked,
            product_gaze_deg: Some([2.0 * wave, 0.0]),
            product: Some(moving(0.02, 0.1)),
            product_error: None,
            product_head: None,
            product_unrest_px2: Some(0.04),
            product_secs: 0.008,
            video: Some(moving(0.03, 0.05)),
            video_blink: Some(if i % 45 == 20 { 0.7 } else { 0.0 }),
            video_unrest_px2: Some(0.01),
            video_secs: Some(0.010),
        }
    }

    fn looked(error: f64) -> Looked {
        let samples: Vec<Sample> = (0..90).map(|i| sample(i, error)).collect();
        let shown_lids = samples.iter().map(|s| (s.secs, s.product.map(|p| p.lids))).collect();
        Looked { samples, shown_lids }
    }

    #[test]
    fn equal_and_unequal_clips_are_told_apart() {
        let truth = ClipTruth { blinks: Some(vec![0.68, 2.2]), ..ClipTruth::default() };
        let good = Sums::of(&looked(0.01), false, Some(&truth)).figures("good");
        let parity = good.parity.unwrap();
        assert_eq!((parity.frames, parity.common, parity.clips_within_limits), (90, 90, 1));
        assert!((parity.landmarks_px.unwrap() - 0.01).abs() < 1e-9);
        assert!((parity.blendshapes.unwrap() - 0.01).abs() < 1e-6);
        assert!(parity.head_deg.unwrap() < 1e-3 && parity.mouth_r.unwrap() > 0.999);
        assert_eq!((parity.shapes[0].name, parity.shapes.len()), (ARKIT_NAMES[51], 51));
        let product = &good.product;
        let blinks = product.blinks.as_ref().unwrap();
        assert_eq!((blinks.found, blinks.wrong, product.their_blinks.as_ref().unwrap().found), (2, 0, 2));
        assert!((product.lag_head_ms.ours.unwrap() - 20.0).abs() < 3.0, "{:?}", product.lag_head_ms);
        assert!((product.lag_head_ms.theirs.unwrap() - 30.0).abs() < 3.0, "{:?}", product.lag_head_ms);
        assert!((product.jitter_landmarks_px.ratio.unwrap() - 2.0).abs() < 1e-9);
        assert!((product.cost_ms.ratio.unwrap() - 0.8).abs() < 1e-9);
        assert!(product.jitter_head_deg.ratio.unwrap() > 1.2, "{:?}", product.jitter_head_deg);

        let bad = Sums::of(&looked(0.5), false, None).figures("bad").parity.unwrap();
        assert_eq!(bad.clips_within_limits, 0);
    }

    #[test]
    fn the_product_is_held_against_the_truth_of_a_script() {
        let mut looked = looked(0.0);
        for (i, sample) in looked.samples.iter_mut().enumerate() {
            let moving = sample.ours_moving.unwrap();
            let is_seen = i < 60;
            sample.truth = Some(crate::eval::face::look::Known { moving, gaze_deg: [1.0, 0.0], is_seen });
        }
        let figures = Sums::of(&looked, false, None).figures("script");
        let truth = figures.truth.unwrap();
        assert_eq!(truth.frames, 60);
        assert!((truth.lag_ms[0].unwrap() - 20.0).abs() < 3.0, "{:?}", truth.lag_ms);
        assert!(truth.head_deg[0].unwrap() > 0.1 && truth.head_deg[1] == Some(0.0));
        assert_eq!((truth.mouth, truth.gaze_r[1]), (Some(0.0), None));
        assert!(truth.gaze_deg[0].is_some());
        let product = figures.product;
        assert_eq!((product.seen_where_there, product.seen_where_none), (Some(1.0), Some(1.0)));
        let blinks = product.blinks.unwrap();
        assert_eq!((blinks.counted, blinks.found, blinks.wrong), (1, 1, 1), "the second one was out of sight");
    }

    #[test]
    fn groups_add_up_and_clips_without_a_reference_count_for_the_product() {
        let mut sums = Sums::of(&looked(0.01), false, None);
        let mut alone = looked(0.01);
        for sample in &mut alone.samples {
            (sample.is_same_picture, sample.theirs, sample.theirs_moving, sample.video) = (None, None, None, None);
        }
        let alone = Sums::of(&alone, false, None);
        assert_eq!(alone.figures("alone").parity, None);
        assert!(alone.figures("alone").product.jitter_head_deg.ours.is_some());
        sums.merge(&alone);
        let total = sums.figures("total");
        assert_eq!((total.files, total.frames, total.parity.unwrap().frames), (2, 180, 90));
        assert_eq!(total.product.states["tracked"], 180);
        let mut empty = Sums::default();
        empty.merge(&Sums::of(&Looked::default(), true, None));
        assert_eq!(empty.figures("empty").frames, 0);
    }
}
