//! Which channel of an interface carries the voice: the live one, not the mean. (A mean with a dead channel is half as
//! loud, and two channels out of phase cancel.)
//!
//! A voice is told from hum, hiss and offset by its rises over the channel's own quiet moments: every 10 ms each
//! channel is weighed, and the one with the most voice is taken once it has had more for a while. Music on another
//! channel rises and falls as well; it is taken only where it is much louder than the voice.

/// More channels than this are not looked at.
pub const CHANNEL_LIMIT: usize = 32;

/// Channels are weighed this often.
const BLOCKS_PER_SEC: u32 = 100;
/// Offset and mains hum below this corner are no voice, Hz.
const CORNER_HZ: f32 = 120.0;
/// A channel must carry this much more voice (in energy; 6 dB) than the one in use ...
const LOUDER: f32 = 4.0;
/// ... for so many blocks before it is taken, so that a cough on another track changes nothing.
const HOLD_BLOCKS: u32 = 40;
/// ... or so many, if there is no voice on the one in use now ...
const VOICELESS_HOLD_BLOCKS: u32 = 60;
/// ... or if there never was one.
const NEVER_VOICED_HOLD_BLOCKS: u32 = 15;
/// ... or so many, if the one in use is dead and the other one surely carries sound.
const DEAD_HOLD_BLOCKS: u32 = 2;
/// Energy (−72 dB) below which a channel counts as silent and proves nothing.
const SILENCE: f32 = 6e-8;
/// Energy (−50 dB) above which a channel is no mere noise of an open input.
const SOUND: f32 = 1e-5;
/// Share of the newest block in the energy (about 50 ms) and in the voice (about 0.3 s).
const ENERGY_SHARE: f32 = 0.2;
const VOICE_SHARE: f32 = 0.033;
/// How fast the quiet moments are forgotten: 6 dB a second.
const FLOOR_RISE: f32 = 1.014;
/// What rises less than this over the quiet moments is their own flutter, dB.
const FLUTTER_DB: f32 = 6.0;
/// Mean rise from which a channel carries a voice, dB. Key clicks are high but short.
const VOICE_FROM_DB: f32 = 3.0;
/// A channel with less than this share of the best channel's rise has none.
const VOICE_SHARE_OF_BEST: f32 = 0.6;
/// A change of channel is faded over this many frames, so that it does not click.
const FADE_FRAMES: u32 = 128;
/// The user is told for so long after a change.
const NOTICE_BLOCKS: u32 = 300;

/// What is known of one channel.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    last_input: f32,
    last_output: f32,
    /// Sum of squares of the block that is not complete yet.
    block: f32,
    energy: f32,
    /// Energy of the quiet moments; 0 before the first block.
    floor: f32,
    /// Mean rise over the quiet moments, dB.
    rise_db: f32,
    /// Mean energy over them.
    voice: f32,
    /// Sums since the start, for a choice with hindsight.
    total_voice: f64,
    total_energy: f64,
}

impl Channel {
    fn end_block(&mut self, len: u32) {
        let energy = self.block / len.max(1) as f32;
        self.block = 0.0;
        self.energy += (energy - self.energy) * ENERGY_SHARE;
        self.floor = match self.floor {
            0.0 => energy,
            floor if energy < floor => floor + (energy - floor) * 0.5,
            floor => floor * FLOOR_RISE,
        };
        // Below the noise of an open input everything is as quiet.
        let floor = self.floor.max(SILENCE);
        self.floor = self.floor.max(1e-12);
        let rise_db = (10.0 * (energy / floor).max(1.0).log10() - FLUTTER_DB).max(0.0);
        self.rise_db += (rise_db - self.rise_db) * VOICE_SHARE;
        let voice = if rise_db > 0.0 { energy - floor } else { 0.0 };
        self.voice += (voice - self.voice) * VOICE_SHARE;
        self.total_voice += f64::from(voice);
        self.total_energy += f64::from(energy);
    }
}

/// Picks one sample of each frame. Fixed size, no allocation: lives in the audio callback.
#[derive(Clone, Debug)]
pub struct ChannelPicker {
    count: usize,
    block_frames: u32,
    /// How much of the last output of the high-pass stays.
    keep: f32,
    channels: [Channel; CHANNEL_LIMIT],
    /// True once a frame has been taken.
    has_begun: bool,
    /// Frames of the block so far.
    frames: u32,
    current: usize,
    previous: usize,
    /// Frames of the fade from `previous` still to come.
    fading: u32,
    /// Blocks for which another channel has been better.
    better_for: u32,
    /// Blocks for which the user is still told.
    notice: u32,
}

impl ChannelPicker {
    /// A picker for interleaved frames of `count` samples; begins with the first channel.
    pub fn new(count: usize, rate_hz: u32) -> Self {
        let rate_hz = rate_hz.max(1_000);
        Self {
            count: count.clamp(1, CHANNEL_LIMIT),
            block_frames: rate_hz / BLOCKS_PER_SEC,
            keep: (-std::f32::consts::TAU * CORNER_HZ / rate_hz as f32).exp(),
            channels: [Channel::default(); CHANNEL_LIMIT],
            has_begun: false,
            frames: 0,
            current: 0,
            previous: 0,
            fading: 0,
            better_for: 0,
            notice: 0,
        }
    }

    /// The same, beginning with another channel.
    pub fn starting_at(channel: usize, count: usize, rate_hz: u32) -> Self {
        let mut picker = Self::new(count, rate_hz);
        picker.current = channel.min(picker.count - 1);
        picker
    }

    /// The channel in use.
    pub fn current(&self) -> usize {
        self.current
    }

    /// True while another channel has the voice, and for a while after it was taken: the user may have chosen the
    /// wrong input.
    pub fn is_voice_elsewhere(&self) -> bool {
        self.notice > 0 || self.better_for > DEAD_HOLD_BLOCKS
    }

    /// The channel with the most voice since the start; without a voice the loudest; of equals the first.
    pub(super) fn best_so_far(&self) -> usize {
        let channels = self.channels.get(..self.count).unwrap_or_default();
        let has_voice = channels.iter().any(|c| c.total_voice > f64::from(SOUND));
        let of = |c: &Channel| if has_voice { c.total_voice } else { c.total_energy + f64::from(c.block) };
        let mut best = (0, 0.0);
        for (i, channel) in channels.iter().enumerate() {
            if of(channel) > best.1 * 1.05 {
                best = (i, of(channel));
            }
        }
        best.0
    }

    /// The voice's sample of one frame; `sample(c)` is the value of channel `c`, finite.
    #[inline]
    pub fn pick(&mut self, sample: impl Fn(usize) -> f32) -> f32 {
        if self.count == 1 {
            return sample(0);
        }
        for (i, channel) in self.channels.iter_mut().enumerate().take(self.count) {
            let input = sample(i);
            if !self.has_begun {
                // An offset is no step.
                channel.last_input = input;
            }
            let output = input - channel.last_input + self.keep * channel.last_output;
            // Denormal numbers would make silence expensive.
            channel.last_output = if output.abs() < 1e-15 { 0.0 } else { output };
            channel.last_input = input;
            channel.block += output * output;
        }
        self.has_begun = true;
        self.frames += 1;
        if self.frames >= self.block_frames {
            self.frames = 0;
            self.end_block();
        }
        let value = sample(self.current);
        if self.fading == 0 {
            return value;
        }
        let old_share = self.fading as f32 / FADE_FRAMES as f32;
        self.fading -= 1;
        value + (sample(self.previous) - value) * old_share
    }

    fn end_block(&mut self) {
        for channel in self.channels.iter_mut().take(self.count) {
            channel.end_block(self.block_frames);
        }
        self.notice = self.notice.saturating_sub(1);
        let (better, hold) = match self.better() {
            Verdict::Stay => {
                self.better_for = 0;
                return;
            }
            Verdict::Wait => return,
            Verdict::Change { to, hold } => (to, hold),
        };
        self.better_for += 1;
        if self.better_for > hold {
            (self.previous, self.current) = (self.current, better);
            self.fading = FADE_FRAMES;
            self.better_for = 0;
            self.notice = NOTICE_BLOCKS;
        }
    }

    /// Whether another channel is better than the one in use.
    fn better(&self) -> Verdict {
        let channels = self.channels.get(..self.count).unwrap_or_default();
        let Some(current) = channels.get(self.current) else { return Verdict::Stay };
        let highest = |value: fn(&Channel) -> f32, least: f32| {
            let rated = channels.iter().enumerate().filter(|(_, c)| c.rise_db >= least);
            rated.max_by(|a, b| value(a.1).total_cmp(&value(b.1)))
        };
        if current.energy < SILENCE
            && let Some((to, channel)) = highest(|c| c.energy, 0.0)
            && channel.energy > SOUND
        {
            return Verdict::Change { to, hold: DEAD_HOLD_BLOCKS };
        }
        let best_rise_db = channels.iter().map(|c| c.rise_db).fold(0.0, f32::max);
        let least_db = VOICE_FROM_DB.max(best_rise_db * VOICE_SHARE_OF_BEST);
        let Some((to, channel)) = highest(|c| c.voice, least_db) else { return Verdict::Stay };
        if to == self.current || channel.energy < SILENCE {
            return Verdict::Stay;
        }
        if current.rise_db < least_db {
            let was_voiced = current.total_voice > f64::from(SOUND);
            return Verdict::Change {
                to,
                hold: if was_voiced { VOICELESS_HOLD_BLOCKS } else { NEVER_VOICED_HOLD_BLOCKS },
            };
        }
        match channel.energy / current.energy.max(SILENCE) {
            _ if channel.voice <= LOUDER * current.voice => Verdict::Stay,
            // The past may still say otherwise, but the voice is here.
            louder if louder < 1.0 && current.energy > SOUND => Verdict::Stay,
            louder if louder < LOUDER => Verdict::Wait,
            _ => Verdict::Change { to, hold: HOLD_BLOCKS },
        }
    }
}

/// What a block says about the choice of the channel.
enum Verdict {
    /// No other channel is better.
    Stay,
    /// Another one has been better, but this block, a pause between syllables, says nothing.
    Wait,
    /// Another one is better; it is taken after so many blocks that say so.
    Change { to: usize, hold: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    fn tone(i: usize) -> f32 {
        (i as f32 * 0.05).sin() * 0.3
    }

    /// Syllables: a tone that comes and goes four times a second.
    fn voice(i: usize) -> f32 {
        let phase = i as f32 / RATE as f32 * 4.0 % 1.0;
        tone(i) * if phase < 0.6 { 1.0 } else { 0.003 }
    }

    fn run(picker: &mut ChannelPicker, secs: f32, value: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        (0..(secs * RATE as f32) as usize).map(|i| picker.pick(|c| value(c, i))).collect()
    }

    #[test]
    fn a_single_channel_passes_untouched() {
        let mut picker = ChannelPicker::new(1, RATE);
        assert!((0..1000).all(|i| picker.pick(|_| tone(i)) == tone(i)));
        assert!(!picker.is_voice_elsewhere());
    }

    #[test]
    fn the_live_channel_is_found_at_once_and_at_full_level() {
        for offset in [0.0, 0.2] {
            let mut picker = ChannelPicker::new(2, RATE);
            let out = run(&mut picker, 0.1, |c, i| if c == 1 { tone(i) } else { offset });
            assert_eq!(picker.current(), 1);
            assert!(picker.is_voice_elsewhere(), "the user is told");
            assert!(out.iter().enumerate().skip(3000).all(|(i, v)| *v == tone(i)), "{offset}");
        }
    }

    #[test]
    fn channels_out_of_phase_do_not_cancel() {
        let mut picker = ChannelPicker::new(2, RATE);
        let out = run(&mut picker, 2.0, |c, i| if c == 0 { voice(i) } else { -voice(i) });
        assert!(out.iter().enumerate().all(|(i, v)| *v == voice(i)));
        assert!(!picker.is_voice_elsewhere());
    }

    #[test]
    fn a_short_noise_elsewhere_changes_nothing_but_a_lasting_voice_does() {
        let mut picker = ChannelPicker::new(2, RATE);
        let mut run = |secs: f32, left: f32, right: f32| {
            run(&mut picker, secs, |c, i| voice(i) * if c == 0 { left } else { right });
            picker.current()
        };
        assert_eq!(run(2.0, 0.1, 0.05), 0);
        assert_eq!(run(0.1, 0.1, 1.0), 0, "a click");
        assert_eq!(run(2.0, 0.1, 0.05), 0);
        assert_eq!(run(2.0, 0.1, 1.0), 1, "the voice is on the other channel");
    }

    #[test]
    fn hum_and_hiss_are_no_voice_however_loud() {
        let mut rng = crate::signal::Rng::new(5);
        let hiss: Vec<f32> = (0..RATE as usize * 3).map(|_| rng.normal() * 0.1).collect();
        let hum = |i: usize| (i as f32 / RATE as f32 * std::f32::consts::TAU * 150.0).sin() * 0.8;
        for noisy in [0, 1, 4] {
            let mut picker = ChannelPicker::new(5, RATE);
            run(&mut picker, 3.0, |c, i| match c {
                2 => voice(i) * 0.1,
                c if c == noisy => hum(i),
                3 => hiss[i],
                _ => 0.0,
            });
            assert_eq!(picker.current(), 2, "hum on {noisy}");
            assert_eq!(picker.best_so_far(), 2, "hum on {noisy}");
        }
    }

    #[test]
    fn key_clicks_on_another_channel_do_not_take_over() {
        let mut picker = ChannelPicker::new(2, RATE);
        run(&mut picker, 4.0, |c, i| match c {
            0 => voice(i) * 0.3,
            _ if i % 12_000 < 300 => tone(i * 7) * (-((i % 12_000) as f32) / 80.0).exp(),
            _ => tone(i) * 1e-3,
        });
        assert_eq!(picker.current(), 0);
    }

    #[test]
    fn a_change_does_not_click() {
        let mut picker = ChannelPicker::new(2, RATE);
        let out = run(&mut picker, 3.0, |c, i| tone(i) * if (c == 1) == (i > 24_000) { 1.0 } else { 0.01 });
        let worst = out.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
        assert_eq!(picker.current(), 1);
        assert!(worst < 0.03 + 0.27 * 0.06, "largest step {worst}");
    }
}
