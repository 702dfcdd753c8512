//! Is somebody who speaks ever left with a still mouth? A small version of `omote eval ventriloquist`, through all
//! networks; and silent expressions of the drawn presenter.

use omote::capture::FrameSource;
use omote::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use omote::eval::ventriloquist::{BUNDLED, Loss, VentriloquistOptions, bundled_ventriloquist, table};
use omote::face::{FaceModel, FaceOptions, FaceTracker};
use omote::mix::Mixer;
use omote::settings::Settings;
use omote::types::{AudioReport, AudioState, Timestamp, VisemeFrame, Vowel};

#[test]
fn no_loss_leaves_a_speaker_with_a_still_mouth() {
    let script: Vec<_> = BUNDLED.iter().filter(|s| s.name == "talk_en").copied().collect();
    let options = VentriloquistOptions { shifts: vec![0.0], ..VentriloquistOptions::default() };
    let figures = bundled_ventriloquist(&script, &options, &mut |_| {}).expect("bundled scripts");
    println!("{}", table(&figures));
    // Correlations and recoveries also tell of the networks; `omote eval ventriloquist` judges them over all material.
    let broken: Vec<_> = figures.broken().filter(|g| ["ventriloquism", "rest", "flapping"].contains(&g.what)).collect();
    assert!(broken.is_empty(), "{broken:?}");
    let tried = Loss::ALL.iter().filter(|l| figures.losses.iter().any(|f| f.loss == **l && f.tries > 0)).count();
    assert_eq!(tried, Loss::ALL.len());
    let clip = |mode: &str| figures.clips.iter().find(|c| c.mode == mode).expect("mode");
    let (audio, mix) = (clip("audio"), clip("mix"));
    assert!(mix.six_class >= audio.six_class.map(|a| a - 0.01), "mix is less right than audio: {mix:?} {audio:?}");
    // The clip begins with a g and a short u: what is drawn opens the mouth as late, in video mode too.
    assert!(mix.onset_secs.is_some_and(|s| s <= 0.2) && mix.missed_onsets == 0, "{mix:?}");
    assert!(mix.changes_per_sec <= 10.0 && audio.changes_per_sec <= 10.0, "{mix:?} {audio:?}");
    // The measure sees what it must: in audio mode a dead microphone leaves a still mouth.
    let dead = figures.losses.iter().find(|f| f.loss == Loss::MicrophoneDead && f.mode == "audio").expect("figures");
    assert!(dead.ventriloquism_secs > 0.4, "{dead:?}");
}

/// Yawn, gasp and silent "o", seen by the tracker while the room is quiet.
#[test]
fn silent_expressions_reach_the_mouth() {
    let script = r#"
        format = 1
        duration = 4.6
        [tracks]
        jaw = [[0.5, 0.0], [1.0, 1.0], [1.5, 1.0], [1.9, 0.0], [2.3, 0.0], [2.45, 0.8, "out"], [2.8, 0.8], [3.0, 0.0],
               [3.4, 0.0], [3.7, 0.55], [4.6, 0.55]]
        pucker = [[3.4, 0.0], [3.7, 0.6], [4.6, 0.6]]
        lids = [[0.6, 0.0], [1.0, 0.7], [1.5, 0.7], [1.9, 0.0]]
    "#;
    let script = PresenterScript::from_toml(script, None).expect("script");
    let mut camera = PresenterCamera::open(std::sync::Arc::new(script), Filming::default()).expect("presenter");
    let mut tracker = FaceTracker::load(FaceOptions::default()).expect("bundled models");
    let mut mixer = Mixer::new();
    let settings = Settings::default();
    let mut mouths = Vec::new();
    while let Ok(frame) = camera.next_frame(std::time::Duration::ZERO) {
        let at = frame.captured_at;
        mixer.see(&tracker.observe(&frame).expect("observed"));
        let frame = VisemeFrame { level_db: -70.0, ..VisemeFrame::SILENT };
        for hop in 0..3 {
            let captured_at = Timestamp::from_secs_f64(at.as_secs_f64() + 0.01 * f64::from(hop));
            mixer.hear(AudioReport { captured_at, state: AudioState::Silent, frame, ..AudioReport::default() });
        }
        mouths.push((at.as_secs_f64(), mixer.mix(at, &settings).mouth));
    }
    let at = |secs: f64| mouths.iter().find(|(t, _)| *t >= secs).expect("time").1;
    assert!(at(0.4).open < 0.05 && at(2.2).open < 0.05, "closed between: {} {}", at(0.4).open, at(2.2).open);
    assert!(at(1.4).open > 0.6, "a yawn opens to {}", at(1.4).open);
    assert!(at(2.75).open > 0.5, "a gasp opens to {}", at(2.75).open);
    let o = at(4.5);
    assert!(o.open > 0.3 && o.width < 0.45, "a silent o: {o:?}");
    assert!(o.vowels[Vowel::Oh as usize] > o.vowels[Vowel::Aa as usize], "a silent o is round: {o:?}");
}
