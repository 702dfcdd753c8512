//! Which channel of an interface carries the voice: the live one, not the mean. (A mean with a dead channel is half as
//! loud, and two channels out of phase cancel.)

/// More channels than this are not looked at.
pub const CHANNEL_LIMIT: usize = 32;

/// A channel must be this much louder (in energy; 6 dB) than the one in use ...
const LOUDER: f32 = 4.0;
/// ... for this long before it is taken, so that a cough on another track changes nothing.
const HOLD_SECS: f32 = 0.4;
/// ... or this long, if the one in use is dead and the other one surely carries sound.
const DEAD_HOLD_SECS: f32 = 0.02;
/// Energies are averaged over about this long.
const AVERAGE_SECS: f32 = 0.05;
/// Energy (−72 dB) below which a channel counts as silent and proves nothing.
const SILENCE: f32 = 6e-8;
/// Energy (−50 dB) above which a channel is no mere noise of an open input.
const SOUND: f32 = 1e-5;
/// A change of channel is faded over this many frames, so that it does not click.
const FADE_FRAMES: u32 = 128;

/// Picks one sample of each frame. Fixed size, no allocation: lives in the audio callback.
#[derive(Clone, Debug)]
pub struct ChannelPicker {
    channels: usize,
    share: f32,
    hold_frames: u32,
    dead_hold_frames: u32,
    energy: [f32; CHANNEL_LIMIT],
    current: usize,
    previous: usize,
    /// Frames of the fade from `previous` still to come.
    fading: u32,
    /// Frames for which another channel has been louder.
    louder_for: u32,
}

impl ChannelPicker {
    /// A picker for interleaved frames of `channels` samples.
    pub fn new(channels: usize, rate_hz: u32) -> Self {
        let rate = rate_hz.max(1) as f32;
        Self {
            channels: channels.clamp(1, CHANNEL_LIMIT),
            share: (1.0 / (AVERAGE_SECS * rate)).min(1.0),
            hold_frames: (HOLD_SECS * rate) as u32,
            dead_hold_frames: (DEAD_HOLD_SECS * rate) as u32,
            energy: [0.0; CHANNEL_LIMIT],
            current: 0,
            previous: 0,
            fading: 0,
            louder_for: 0,
        }
    }

    /// The channel in use.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The voice's sample of one frame; `sample(c)` is the value of channel `c`, finite.
    #[inline]
    pub fn pick(&mut self, sample: impl Fn(usize) -> f32) -> f32 {
        if self.channels == 1 {
            return sample(0);
        }
        let mut loudest = self.current;
        let mut loudest_energy = 0.0_f32;
        for (channel, energy) in self.energy.iter_mut().enumerate().take(self.channels) {
            let value = sample(channel);
            *energy += (value * value - *energy) * self.share;
            // Denormal numbers would make silence expensive.
            *energy = if *energy < 1e-20 { 0.0 } else { *energy };
            if *energy > loudest_energy {
                (loudest, loudest_energy) = (channel, *energy);
            }
        }
        let current_energy = self.energy.get(self.current).copied().unwrap_or_default();
        if loudest != self.current && loudest_energy > SILENCE && loudest_energy > LOUDER * current_energy {
            self.louder_for += 1;
            let is_current_dead = current_energy < SILENCE && loudest_energy > SOUND;
            let hold = if is_current_dead { self.dead_hold_frames } else { self.hold_frames };
            if self.louder_for > hold {
                (self.previous, self.current) = (self.current, loudest);
                self.fading = FADE_FRAMES;
                self.louder_for = 0;
            }
        } else {
            self.louder_for = 0;
        }
        let value = sample(self.current);
        if self.fading == 0 {
            return value;
        }
        let old_share = self.fading as f32 / FADE_FRAMES as f32;
        self.fading -= 1;
        value + (sample(self.previous) - value) * old_share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 48_000;

    fn tone(i: usize) -> f32 {
        (i as f32 * 0.05).sin() * 0.3
    }

    #[test]
    fn a_single_channel_passes_untouched() {
        let mut picker = ChannelPicker::new(1, RATE);
        assert!((0..1000).all(|i| picker.pick(|_| tone(i)) == tone(i)));
    }

    #[test]
    fn the_live_channel_is_found_at_once_and_at_full_level() {
        let mut picker = ChannelPicker::new(2, RATE);
        let out: Vec<f32> = (0..4800).map(|i| picker.pick(|c| if c == 1 { tone(i) } else { 0.0 })).collect();
        assert_eq!(picker.current(), 1);
        assert!(out.iter().enumerate().skip(1500).all(|(i, v)| *v == tone(i)));
    }

    #[test]
    fn channels_out_of_phase_do_not_cancel() {
        let mut picker = ChannelPicker::new(2, RATE);
        let peak =
            (0..4800).map(|i| picker.pick(|c| if c == 0 { tone(i) } else { -tone(i) }).abs()).fold(0.0, f32::max);
        assert!(peak > 0.29);
    }

    #[test]
    fn a_short_noise_elsewhere_changes_nothing_but_a_lasting_one_does() {
        let mut picker = ChannelPicker::new(2, RATE);
        let mut run = |secs: f32, left: f32, right: f32| {
            for i in 0..(secs * RATE as f32) as usize {
                picker.pick(|c| tone(i) * if c == 0 { left } else { right });
            }
            picker.current()
        };
        assert_eq!(run(1.0, 0.1, 0.05), 0);
        assert_eq!(run(0.1, 0.1, 1.0), 0, "a click");
        assert_eq!(run(1.0, 0.1, 0.05), 0);
        assert_eq!(run(1.0, 0.1, 1.0), 1, "the voice is on the other channel");
    }

    #[test]
    fn a_change_does_not_click() {
        let mut picker = ChannelPicker::new(2, RATE);
        let mut last = 0.0_f32;
        let mut worst = 0.0_f32;
        for i in 0..48_000 {
            let value = picker.pick(|c| tone(i) * if c == 0 { 0.3 } else { 1.0 });
            worst = worst.max((value - last).abs());
            last = value;
        }
        assert_eq!(picker.current(), 1);
        assert!(worst < 0.03, "largest step {worst}");
    }
}
