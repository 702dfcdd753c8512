//! A mouth that speaks: phones with their times become jaw and lips, each sound coloured by its neighbours.
//!
//! Phones file: tab-separated `start_s end_s phone viseme15`, one phone a line, in order; the first line may be a
//! header. Visemes have their Oculus names; other columns are left alone.

use super::script::ScriptError;
use crate::types::Viseme;

/// More phones than any speech of an hour has.
const MAX_PHONES: usize = 100_000;
/// Longest material, seconds.
pub(super) const MAX_SECS: f64 = 3600.0;
/// Steps of the prepared movement a second.
const STEPS_PER_SEC: f64 = 100.0;
/// How far sounds run into each other: the standard deviation of their influence, seconds.
const BLEND_SECS: f64 = 0.036;
/// The same for rounding: speakers begin to round their lips 0.1–0.2 s before a rounded vowel.
const ROUNDING_SECS: f64 = 0.065;
/// Lips close and open around p, b and m within this time.
const CLOSING_SECS: f64 = 0.045;

/// What the mouth does for one sound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lips {
    pub jaw: f32,
    pub pucker: f32,
    pub spread: f32,
}

/// The shape of each viseme and how strongly it asserts itself against its neighbours.
fn shape(viseme: Viseme) -> (Lips, f32) {
    let (jaw, pucker, spread, strength) = match viseme {
        Viseme::Sil => (0.0, 0.0, 0.0, 0.5),
        Viseme::Pp => (0.0, 0.08, 0.0, 2.0),
        Viseme::Ff => (0.06, 0.0, 0.15, 1.8),
        Viseme::Th => (0.15, 0.0, 0.1, 1.1),
        Viseme::Dd => (0.17, 0.0, 0.12, 0.9),
        Viseme::Kk => (0.22, 0.0, 0.05, 0.7),
        Viseme::Ch => (0.14, 0.5, 0.0, 1.2),
        Viseme::Ss => (0.09, 0.0, 0.35, 1.2),
        Viseme::Nn => (0.15, 0.0, 0.1, 0.8),
        Viseme::Rr => (0.18, 0.35, 0.0, 0.9),
        Viseme::Aa => (0.80, 0.0, 0.08, 1.4),
        Viseme::E => (0.50, 0.0, 0.3, 1.1),
        Viseme::Ih => (0.28, 0.0, 0.45, 1.1),
        Viseme::Oh => (0.58, 0.55, 0.0, 1.3),
        Viseme::Ou => (0.24, 0.9, 0.0, 1.3),
    };
    (Lips { jaw, pucker, spread }, strength)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Phone {
    from: f64,
    to: f64,
    viseme: Viseme,
}

/// Speech prepared for the mouth.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Speech {
    phones: Vec<Phone>,
    steps: Vec<Lips>,
}

impl Speech {
    /// Reads a phones file.
    pub fn from_tsv(text: &str) -> Result<Self, ScriptError> {
        let mut phones: Vec<Phone> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let bad = |what: &str| ScriptError::Phones { line: i + 1, what: what.into() };
            let line = line.trim_end();
            if line.is_empty() || (i == 0 && line.starts_with("start")) {
                continue;
            }
            let mut cells = line.split('\t');
            let mut secs =
                || cells.next().and_then(|c| c.trim().parse::<f64>().ok()).filter(|s| (0.0..=MAX_SECS).contains(s));
            let (Some(from), Some(to)) = (secs(), secs()) else {
                return Err(bad("start and end must be seconds from 0 to 3600"));
            };
            let name = cells.nth(1).unwrap_or_default().trim();
            let viseme = Viseme::ALL.into_iter().find(|v| v.name() == name);
            let Some(viseme) = viseme else {
                return Err(bad("the fourth column must be one of the 15 visemes (sil, PP, … ou)"));
            };
            if to <= from || phones.last().is_some_and(|last| from < last.to - 1e-6) {
                return Err(bad("phones must be in order and end after they start"));
            }
            if phones.len() == MAX_PHONES {
                return Err(bad("too many phones"));
            }
            phones.push(Phone { from, to, viseme });
        }
        let steps = prepare(&phones);
        Ok(Self { phones, steps })
    }

    /// The mouth at this time.
    pub fn lips_at(&self, secs: f64) -> Lips {
        let place = secs.max(0.0) * STEPS_PER_SEC;
        let i = place as usize;
        let t = (place - i as f64) as f32;
        let at = |i: usize| self.steps.get(i).copied().unwrap_or_default();
        let (a, b) = (at(i), at(i + 1));
        Lips {
            jaw: a.jaw + (b.jaw - a.jaw) * t,
            pucker: a.pucker + (b.pucker - a.pucker) * t,
            spread: a.spread + (b.spread - a.spread) * t,
        }
    }

    /// The sound at this time; silence between and around phones.
    pub fn viseme_at(&self, secs: f64) -> Viseme {
        let after = self.phones.partition_point(|p| p.to <= secs);
        self.phones.get(after).filter(|p| p.from <= secs).map_or(Viseme::Sil, |p| p.viseme)
    }
}

/// Blends the sounds by dominance (after Cohen and Massaro 1993), with firm closures.
fn prepare(phones: &[Phone]) -> Vec<Lips> {
    let Some(end) = phones.last().map(|p| p.to) else { return Vec::new() };
    // The normal distribution's integral, by the logistic one.
    let passed = |x: f64, blend: f64| 1.0 / (1.0 + (-1.702 * x / blend).exp());
    let count = ((end + 0.3) * STEPS_PER_SEC) as usize + 1;
    let mut first = 0;
    (0..count)
        .map(|step| {
            let secs = step as f64 / STEPS_PER_SEC;
            while phones.get(first).is_some_and(|p| p.to < secs - 0.25) {
                first += 1;
            }
            // Silence before, after and between phones.
            let (mut total, mut round_total) = (0.02f32, 0.02f32);
            let mut sum = Lips::default();
            let (mut closed, mut bitten) = (0.0f32, 0.0f32);
            for phone in phones.iter().skip(first).take_while(|p| p.from < secs + 0.25) {
                let (lips, strength) = shape(phone.viseme);
                let during = |blend| (passed(secs - phone.from, blend) - passed(secs - phone.to, blend)) as f32;
                let share = strength * during(BLEND_SECS);
                total += share;
                // The lips' rounding matters to few sounds; the others let it pass through them.
                let round_share = during(ROUNDING_SECS) * if lips.pucker > 0.3 { 2.0 } else { 0.8 };
                round_total += round_share;
                sum.jaw += share * lips.jaw;
                sum.pucker += round_share * lips.pucker;
                sum.spread += share * lips.spread;
                let outside = (phone.from + 0.012 - secs).max(secs - (phone.to - 0.012)).max(0.0);
                let firm = (1.0 - outside / CLOSING_SECS).clamp(0.0, 1.0) as f32;
                match phone.viseme {
                    Viseme::Pp => closed = closed.max(firm * firm * (3.0 - 2.0 * firm)),
                    Viseme::Ff => bitten = bitten.max(firm * firm * (3.0 - 2.0 * firm)),
                    _ => {}
                }
            }
            let jaw = sum.jaw / total;
            let jaw = jaw + (jaw.min(0.07) - jaw) * bitten;
            Lips {
                jaw: jaw * (1.0 - closed),
                pucker: sum.pucker / round_total,
                spread: sum.spread / total * (1.0 - 0.5 * closed),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAMA: &str = "start_s\tend_s\tphone\tviseme15\n0.0\t1.0\t_\tsil\n1.0\t1.08\tm\tPP\n1.08\t1.25\ta\taa\n1.25\t1.33\tm\tPP\n1.33\t1.5\tu\tou\n1.5\t2.0\t_\tsil\n";

    #[test]
    fn lips_close_for_m_open_for_a_and_push_forward_for_u() {
        let speech = Speech::from_tsv(MAMA).expect("phones");
        assert_eq!(speech.lips_at(0.5), Lips::default());
        for closed in [1.04, 1.29] {
            assert!(speech.lips_at(closed).jaw < 0.02, "{:?}", speech.lips_at(closed));
        }
        assert!(speech.lips_at(1.165).jaw > 0.5, "{:?}", speech.lips_at(1.165));
        assert!(speech.lips_at(1.42).pucker > 0.6);
        assert!(speech.lips_at(1.27).pucker > 0.1, "the u is heard coming in the m");
        assert_eq!(speech.lips_at(9.0), Lips::default());
        assert_eq!(speech.viseme_at(1.29), Viseme::Pp);
        assert_eq!(speech.viseme_at(5.0), Viseme::Sil);
    }

    #[test]
    fn the_mouth_never_jumps() {
        let speech = Speech::from_tsv(MAMA).expect("phones");
        for step in 0..400 {
            let at = |step: i32| speech.lips_at(f64::from(step) / 200.0);
            let (a, b) = (at(step), at(step + 1));
            assert!((a.jaw - b.jaw).abs() < 0.12 && (a.pucker - b.pucker).abs() < 0.12, "{step}: {a:?} {b:?}");
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("0\t1\t_\tsil\n1\t0.5\ta\taa\n", 2),
            ("0\t1\t_\tsil\n0.5\t2\ta\taa\n", 2),
            ("0\tNaN\t_\tsil\n", 1),
            ("0\t1\t_\tlaa\n", 1),
            ("0\t1e9\t_\tsil\n", 1),
            ("hello\n", 1),
        ] {
            let error = Speech::from_tsv(text).expect_err(text).to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
        }
    }
}
