//! The control window without a display: clicks by label, and what they change.

use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use omote::engine::{Command, DeviceLists, Sources, Telemetry, Transparency};
use omote::settings::{Background, LipsyncMode, Settings, VideoSource};
use omote::types::{AudioState, HeadPose, VideoState, Vowel};
use omote::ui::{ControlState, Preview, UiAction, apply_theme, control_ui};
use omote::voice::{Calibration, CalibrationError, Coaching};

/// All that a window of the app holds.
struct Window {
    settings: Settings,
    telemetry: Telemetry,
    notices: Vec<String>,
    commands: Vec<Command>,
    actions: Vec<UiAction>,
}

fn window(telemetry: Telemetry) -> Harness<'static, Window> {
    let state = Window {
        settings: Settings::default(),
        telemetry,
        notices: Vec::new(),
        commands: Vec::new(),
        actions: Vec::new(),
    };
    let mut harness = Harness::builder().with_size([1000.0, 1100.0]).build_ui_state(
        |ui, window: &mut Window| {
            let mut state = ControlState {
                settings: &mut window.settings,
                telemetry: &window.telemetry,
                preview: Preview::default(),
                is_output_shown: true,
                notices: &mut window.notices,
                commands: &mut window.commands,
                actions: &mut window.actions,
            };
            control_ui(ui, &mut state);
        },
        state,
    );
    apply_theme(&harness.ctx);
    harness.run();
    harness
}

fn running() -> Telemetry {
    let mut telemetry = Telemetry { is_running: true, ..Telemetry::default() };
    telemetry.devices = DeviceLists {
        cameras: vec!["Front camera".into(), "Capture card".into()],
        microphones: vec!["Desk microphone".into(), "Headset".into()],
        is_known: true,
    };
    telemetry.video.source = "Front camera".into();
    telemetry.video.state = VideoState::Tracked;
    telemetry.audio.source = "Desk microphone".into();
    telemetry.audio.state = AudioState::Live;
    telemetry.audio.level_db = -20.0;
    telemetry
}

#[test]
fn lip_sync_is_switched_with_one_click() {
    let mut harness = window(running());
    for (label, mode) in [("Audio", LipsyncMode::Audio), ("Video", LipsyncMode::Video), ("Mix", LipsyncMode::Mix)] {
        harness.get_by_label(label).click();
        harness.run();
        assert_eq!(harness.state().settings.lipsync.mode, mode);
    }
}

#[test]
fn cameras_and_microphones_are_picked_from_the_lists() {
    let mut harness = window(running());
    harness.get_by_label("Camera picker").click();
    harness.run();
    harness.get_by_label("Capture card").click();
    harness.run();
    assert_eq!(harness.state().settings.video.camera, "Capture card");
    harness.get_by_label("Microphone picker").click();
    harness.run();
    harness.get_by_label("Headset").click();
    harness.run();
    assert_eq!(harness.state().settings.audio.microphone, "Headset");
    assert!(harness.state().actions.contains(&UiAction::RefreshDevices));
}

#[test]
fn another_tracker_takes_the_cameras_place() {
    let mut harness = window(running());
    harness.get_by_label("Face picker").click();
    harness.run();
    harness.get_by_label("iFacialMocap").click();
    harness.run();
    assert_eq!(harness.state().settings.video.source, VideoSource::IFacialMocap);
    assert!(harness.query_by_label("Camera picker").is_none());
    harness.get_by_label("The sender is another device").click();
    harness.get_by_label("The sender mirrors").click();
    harness.run();
    let video = &harness.state().settings.video;
    assert!(video.network && video.sender_mirrors && video.port == 0);
    // An address is taken over when the field is left, not letter by letter.
    harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "Sender").focus();
    harness.run();
    harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "Sender").type_text("192.168.1.20");
    harness.run();
    assert_eq!(harness.state().settings.video.sender, "");
    harness.key_press(egui::Key::Enter);
    harness.run();
    assert_eq!(harness.state().settings.video.sender, "192.168.1.20");
    // What it says where nothing comes, and where it cannot listen.
    harness.state_mut().telemetry.video.source = "iFacialMocap at 192.168.1.5:49983".into();
    harness.state_mut().telemetry.video.state = VideoState::Stalled;
    harness.state_mut().telemetry.video.message = Some("waiting for a sender: open it".into());
    harness.run();
    assert!(harness.query_by_label_contains("listening: iFacialMocap at 192.168.1.5:49983").is_some());
    assert!(harness.query_all_by_label_contains("open it").next().is_some());
    harness.state_mut().telemetry.video.source.clear();
    harness.state_mut().telemetry.video.state = VideoState::Disconnected;
    harness.run();
    assert!(harness.query_all_by_label_contains("iFacialMocap cannot be listened to yet").next().is_some());
}

#[test]
fn background_mirror_and_output_are_switched() {
    let mut harness = window(running());
    harness.get_by_label("Colour").click();
    harness.run();
    assert_eq!(harness.state().settings.output.background, Background::CHROMA_GREEN);
    harness.get_by_label("Transparent").click();
    harness.run();
    assert_eq!(harness.state().settings.output.background, Background::Transparent);
    harness.get_by_label("Mirror").click();
    harness.get_by_label("Output window").click();
    harness.get_by_label("30").click();
    harness.run();
    assert!(!harness.state().settings.view.mirror);
    assert_eq!(harness.state().settings.output.fps, 30);
    assert_eq!(harness.state().actions, [UiAction::ShowOutput(false)]);
}

#[test]
fn without_devices_the_demo_and_a_retry_are_offered() {
    let mut telemetry = Telemetry { is_running: true, ..Telemetry::default() };
    telemetry.video.message = Some("no camera is plugged in".into());
    let mut harness = window(telemetry);
    assert!(harness.query_by_label_contains("No camera and no microphone").is_some());
    assert!(harness.query_by_label_contains("no camera is plugged in").is_some());
    harness.get_by_label("Try again").click();
    harness.run();
    harness.get_by_label("Play the demo").click();
    harness.run();
    assert_eq!(harness.state().commands, [Command::Retry, Command::SetSources(Sources::Demo)]);
}

#[test]
fn stop_start_and_neutral_pose_do_what_they_say() {
    let mut telemetry = running();
    telemetry.video.raw_head = Some(HeadPose { yaw: 0.1, pitch: -0.2, roll: 0.0 });
    let mut harness = window(telemetry);
    harness.get_by_label("Set neutral pose").click();
    harness.run();
    let neutral = harness.state().settings.calibration.neutral_head_deg;
    assert!((neutral[0] - 5.73).abs() < 0.01 && (neutral[1] + 11.46).abs() < 0.01, "{neutral:?}");
    harness.get_by_label("Stop").click();
    harness.run();
    harness.state_mut().telemetry.is_running = false;
    harness.run();
    harness.get_by_label("Start").click();
    harness.run();
    let commands = &harness.state().commands;
    assert_eq!(*commands, [Command::SetSources(Sources::Stopped), Command::SetSources(Sources::Devices)]);
}

#[test]
fn every_state_is_told_in_words() {
    let mut telemetry = running();
    telemetry.audio.state = AudioState::Muted;
    telemetry.video.state = VideoState::TooDark;
    telemetry.picture.transparency = Transparency::Unavailable;
    let mut harness = window(telemetry);
    assert!(harness.query_all_by_label_contains("muted: check the switch").next().is_some());
    assert!(harness.query_all_by_label_contains("too dark to see a face").next().is_some());
    assert!(harness.query_by_label_contains("Chroma Key filter").is_some());
    harness.state_mut().notices.push("the settings cannot be saved".into());
    harness.run();
    harness.get_by_label("Dismiss").click();
    harness.run();
    assert!(harness.state().notices.is_empty());
}

#[test]
fn the_user_is_led_through_the_vowels() {
    let mut telemetry = running();
    let mut harness = window(telemetry.clone());
    harness.get_by_label("Lip-sync details").click();
    harness.run();
    harness.get_by_label("Learn my vowels").click();
    harness.run();
    assert_eq!(harness.state().commands, [Command::CoachVowels(true)]);
    telemetry.audio.coaching = Some(Coaching::Hold { vowel: Vowel::Ou, share: 0.4 });
    harness.state_mut().telemetry = telemetry.clone();
    harness.run_steps(2);
    harness.get_by_label("Hold “oo” as in moon");
    harness.get_by_label("Cancel").click();
    harness.run_steps(2);
    assert_eq!(harness.state().commands.last(), Some(&Command::CoachVowels(false)));
    telemetry.audio.coaching = Some(Coaching::Failed(CalibrationError::TooShort(Vowel::Ou)));
    harness.state_mut().telemetry = telemetry.clone();
    harness.run_steps(2);
    harness.get_by_label_contains("too little was heard of the vowel");
    let numbers: Vec<f32> = (0..73).map(|n| 1.0 + n as f32 / 10.0).collect();
    telemetry.audio.coaching =
        Calibration::from_numbers(&numbers).map(|calibration| Coaching::Done(Box::new(calibration)));
    harness.state_mut().telemetry = telemetry.clone();
    harness.run_steps(2);
    assert_eq!(harness.state().settings.audio.voice_calibration, numbers);
    telemetry.audio.coaching = None;
    harness.state_mut().telemetry = telemetry;
    harness.run_steps(2);
    harness.get_by_label("Forget").click();
    harness.run_steps(2);
    assert!(harness.state().settings.audio.voice_calibration.is_empty());
}

#[test]
fn nothing_is_wider_than_its_panel() {
    let mut telemetry = running();
    telemetry.avatar.expressions =
        ["happy", "angry", "surprised", "a very long name of an expression of an avatar"].map(String::from).into();
    telemetry.audio.message = Some("a message that is longer than the panel is wide, and says what can be done".into());
    let mut harness = window(telemetry);
    for details in ["Lip-sync details", "Tracking details", "Avatar details"] {
        harness.get_by_label(details).click();
        harness.run();
        for source in VideoSource::ALL {
            harness.state_mut().settings.video.source = source;
            harness.run_steps(3);
            let wide: Vec<_> = widgets_beyond(&harness, 1000.0 - 8.0);
            assert!(wide.is_empty(), "{details}, {source:?}: {wide:?}");
        }
    }
}

/// Labels of the widgets that reach beyond this place.
fn widgets_beyond(harness: &Harness<'_, Window>, right: f32) -> Vec<String> {
    let nodes = harness.root().children_recursive();
    let wide = nodes.filter(|node| node.accesskit_node().label().is_some() && node.rect().right() > right);
    wide.map(|node| format!("{:?} to {}", node.accesskit_node().label(), node.rect().right())).collect()
}
