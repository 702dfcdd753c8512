//! Faces over real UDP, on this machine's loopback, through a live engine to the stage.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use omote::engine::{DeviceLists, Engine, EngineParts, OpenedVideo, Sources, Telemetry, VideoFeed, VisemeModelMaker};
use omote::face::{FaceError, FaceModel};
use omote::receive;
use omote::render::RenderError;
use omote::settings::{AudioSettings, LipsyncMode, Settings, VideoSettings, VideoSource};
use omote::sync::SessionClock;
use omote::types::{AudioReport, ErrorKind, FaceReport, SourceError, Timestamp, VideoFrame, VideoState};
use omote::voice::VisemeModel;
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};

const LONG: Duration = Duration::from_secs(20);
const FRAME: Duration = Duration::from_millis(16);

/// There is no camera in these tests.
struct NoFace;

impl FaceModel for NoFace {
    fn observe(&mut self, _: &VideoFrame) -> Result<FaceReport, FaceError> {
        Err(FaceError::Frame("no camera in this test".into()))
    }

    fn reset(&mut self) {}

    fn configure(&mut self, _: &VideoSettings) {}
}

struct NoVoice;

impl VisemeModel for NoVoice {
    fn classify(&mut self, _: &[f32], _: Timestamp, _: &mut Vec<AudioReport>) {}

    fn configure(&mut self, _: &AudioSettings) {}

    fn reset(&mut self) {}
}

/// Settings for a remote source on a port that is free now.
fn settings(source: VideoSource) -> Settings {
    let mut settings = Settings::default();
    settings.video.source = source;
    settings.video.port = UdpSocket::bind("127.0.0.1:0").expect("socket").local_addr().expect("address").port();
    settings.lipsync.mode = LipsyncMode::Video;
    settings.view.mirror = false;
    settings
}

fn start(settings: &Settings) -> Engine {
    let clock = SessionClock::new();
    let make_viseme_model: VisemeModelMaker = Box::new(|| Ok(Box::new(NoVoice)));
    Engine::start(EngineParts {
        settings: settings.clone(),
        sources: Sources::Devices,
        clock,
        open_video: Box::new(move |_, video| {
            let receiver = receive::open(video, clock)?;
            let name = receiver.listens_at().to_string();
            Ok(OpenedVideo { feed: VideoFeed::Reports(Box::new(receiver)), name })
        }),
        open_sound: Box::new(|_, _| Err(SourceError::device(ErrorKind::Gone, "no microphone"))),
        make_face_model: Box::new(|| Ok(Box::new(NoFace))),
        make_viseme_model,
        list_devices: Box::new(|| DeviceLists { is_known: true, ..DeviceLists::default() }),
        open_picture: Box::new(|| Err(RenderError::NoAdapter { seen: "none in this test".into() })),
        size: [64, 48],
        seed: 1,
    })
    .expect("threads")
}

/// Sends packets as a tracker does, until the telemetry is as wanted.
fn drive(
    engine: &Engine,
    socket: &UdpSocket,
    port: u16,
    what: &str,
    packet: impl Fn(u32) -> Vec<u8>,
    is_so: impl Fn(&Telemetry) -> bool,
) -> Telemetry {
    let began = Instant::now();
    for i in 0.. {
        let telemetry = engine.telemetry();
        if is_so(&telemetry) {
            return telemetry;
        }
        assert!(began.elapsed() < LONG, "{what} did not come: {telemetry:#?}");
        let packet = packet(i);
        if !packet.is_empty() {
            // Nobody may be listening yet.
            let _ = socket.send_to(&packet, ("127.0.0.1", port));
        }
        std::thread::sleep(FRAME);
    }
    unreachable!("the numbers do not end")
}

/// Each packet of a real tracker differs a little from the one before.
fn noise(i: u32) -> f32 {
    (i % 7) as f32 * 0.01
}

fn ifacialmocap(i: u32, yaw_deg: f32, jaw: f32) -> Vec<u8> {
    format!(
        "jawOpen-{}|eyeBlink_L-0|eyeBlink_R-0|=head#0,{},0,0,0,-0.5|rightEye#0,0,0|leftEye#0,0,0|",
        (jaw * 100.0) as i32,
        yaw_deg + noise(i)
    )
    .into_bytes()
}

fn openseeface(i: u32, mouth_open: f32) -> Vec<u8> {
    let mut packet = vec![0u8; 1785];
    let mut put = |at: usize, values: &[f32]| {
        for (k, value) in values.iter().enumerate() {
            packet[at + 4 * k..at + 4 * k + 4].copy_from_slice(&value.to_le_bytes());
        }
    };
    put(12, &[640.0, 480.0, 1.0, 1.0]);
    put(29, &[6.5]);
    // Turned 25° to the own left, as the tracker's solver gives it.
    put(33, &[0.6975, 0.6512, -0.1386, -0.2651]);
    put(61, &[0.474, -0.475, -3.794 + noise(i)]);
    put(73, &[0.9; 68]);
    put(1729 + 4 * 12, &[mouth_open]);
    packet[28] = 1;
    packet
}

fn vmc(i: u32, yaw_deg: f32, aa: f32) -> Vec<u8> {
    let message = |addr: &str, args| OscPacket::Message(OscMessage { addr: addr.into(), args });
    // Unity counts a turn to the own left as negative.
    let half = (-yaw_deg - noise(i)).to_radians() / 2.0;
    let head = [0.0, 0.1, 0.0, 0.0, half.sin(), 0.0, half.cos()].map(OscType::Float);
    let head = std::iter::once(OscType::String("Head".into())).chain(head).collect();
    let content = vec![
        message("/VMC/Ext/Bone/Pos", head),
        message("/VMC/Ext/Blend/Val", vec![OscType::String("A".into()), OscType::Float(aa)]),
        message("/VMC/Ext/Blend/Apply", vec![]),
        message("/VMC/Ext/OK", vec![OscType::Int(1)]),
    ];
    let bundle = OscBundle { timetag: OscTime { seconds: 0, fractional: 1 }, content };
    rosc::encoder::encode(&OscPacket::Bundle(bundle)).expect("packet")
}

fn turned(telemetry: &Telemetry, degrees: f32) -> bool {
    telemetry.video.raw_head.is_some_and(|h| (h.yaw.to_degrees() - degrees).abs() < 3.0)
}

fn is_followed(telemetry: &Telemetry) -> bool {
    telemetry.video.state == VideoState::Tracked && telemetry.stage.trust.face > 0.9
}

#[test]
fn the_stage_follows_a_phone_through_loss_and_return() {
    let settings = settings(VideoSource::IFacialMocap);
    let (engine, port) = (start(&settings), settings.video.port);
    let phone = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let drive = |what: &str, packet: &dyn Fn(u32) -> Vec<u8>, is_so: &dyn Fn(&Telemetry) -> bool| {
        drive(&engine, &phone, port, what, packet, is_so)
    };
    let silent = |_| Vec::new();
    let telemetry = drive("word of the silence", &silent, &|t| t.video.state == VideoState::Stalled);
    let message = telemetry.video.message.expect("what to do");
    assert!(message.contains(&format!("port {port}")) && message.contains("iFacialMocap on the phone"), "{message}");
    assert!(telemetry.video.source.contains(&port.to_string()));

    let closed = |i| ifacialmocap(i, 20.0, 0.0);
    let open = |i| ifacialmocap(i, -15.0, 0.7);
    drive("a face", &closed, &|t| is_followed(t) && turned(t, 20.0) && t.stage.mouth.open < 0.05);
    let telemetry = drive("an open mouth", &open, &|t| is_followed(t) && turned(t, -15.0) && t.stage.mouth.open > 0.5);
    assert_eq!(telemetry.video.message, None);

    // The phone is put away: told within 0.3 s, the face is let go.
    let began = Instant::now();
    drive("the loss", &silent, &|t| t.video.state == VideoState::Stalled && t.stage.trust.face < 0.1);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    drive("the return", &open, &|t| is_followed(t) && t.stage.mouth.open > 0.5);

    // The phone sees no face and repeats its last packet.
    let repeated = |_| ifacialmocap(0, -15.0, 0.7);
    drive("the lost face", &repeated, &|t| t.video.state == VideoState::FaceLost && t.stage.trust.face < 0.1);
    drive("the face again", &closed, &|t| is_followed(t) && turned(t, 20.0));

    // Hostile packets in between change nothing.
    let hostile = |i: u32| match i % 4 {
        0 => ifacialmocap(i, 20.0, 0.0),
        1 => vec![0xff; 60_000],
        2 => b"jawOpen-nan|=head#inf,nan,0,0,0,0|".to_vec(),
        _ => vec![b'|'; 5000],
    };
    let dropped = engine.telemetry().video.dropped_count;
    let telemetry = drive("a face among rubbish", &hostile, &|t| {
        is_followed(t) && turned(t, 20.0) && t.video.dropped_count > dropped + 20
    });
    assert!(telemetry.stage.frame_count > 0);
}

#[test]
fn sources_are_changed_while_the_engine_runs() {
    let first = settings(VideoSource::OpenSeeFace);
    let mut engine = start(&first);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let port = first.video.port;
    drive(
        &engine,
        &socket,
        port,
        "an OpenSeeFace face",
        |i| openseeface(i, 0.8),
        |t| is_followed(t) && turned(t, 25.0) && t.stage.mouth.open > 0.5,
    );
    // It sends nothing while it sees no face.
    drive(&engine, &socket, port, "the lost face", |_| Vec::new(), |t| t.video.state == VideoState::FaceLost);

    let second = settings(VideoSource::Vmc);
    engine.set_settings(second.clone());
    drive(
        &engine,
        &socket,
        second.video.port,
        "a VMC avatar",
        |i| vmc(i, 30.0, 1.0),
        |t| is_followed(t) && turned(t, 30.0) && t.stage.mouth.open > 0.5,
    );
    drive(
        &engine,
        &socket,
        second.video.port,
        "a frozen avatar",
        |_| vmc(0, 30.0, 1.0),
        |t| t.video.state == VideoState::Frozen && t.stage.trust.face < 0.1,
    );
    // Off and on.
    let mut off = second.clone();
    off.video.enabled = false;
    engine.set_settings(off);
    drive(&engine, &socket, second.video.port, "the end", |_| Vec::new(), |t| t.video.source.is_empty());
    engine.set_settings(second.clone());
    drive(
        &engine,
        &socket,
        second.video.port,
        "the avatar again",
        |i| vmc(i, -10.0, 0.0),
        |t| is_followed(t) && turned(t, -10.0),
    );
    let began = Instant::now();
    drop(engine);
    assert!(began.elapsed() < Duration::from_secs(3), "the engine ends in {:?}", began.elapsed());
}

#[test]
fn a_phone_is_asked_for_its_data() {
    let phone = UdpSocket::bind("127.0.0.1:0").expect("socket");
    phone.set_nonblocking(true).expect("non-blocking");
    let mut settings = settings(VideoSource::VtsPhone);
    settings.video.sender = phone.local_addr().expect("address").to_string();
    let engine = start(&settings);
    let answer_to = std::cell::Cell::new(None);
    let mut buffer = [0; 1000];
    let began = Instant::now();
    while answer_to.get().is_none() {
        if let Ok((length, _)) = phone.recv_from(&mut buffer) {
            let request: serde_json::Value = serde_json::from_slice(&buffer[..length]).expect("JSON");
            answer_to.set(request["ports"][0].as_u64());
        }
        assert!(began.elapsed() < LONG, "no request came");
        std::thread::sleep(FRAME);
    }
    assert_eq!(answer_to.get(), Some(u64::from(settings.video.port)));
    let packet = |is_found: bool, yaw: f32| {
        serde_json::json!({
            "FaceFound": is_found, "Rotation": {"x": 0.0, "y": yaw, "z": 0.0}, "Position": {"x": 0.0, "y": 0.0, "z": 4.7},
            "BlendShapes": [{"k": "JawOpen", "v": 0.6}, {"k": "EyeBlinkLeft", "v": 0.0}],
        })
        .to_string()
        .into_bytes()
    };
    let port = settings.video.port;
    drive(&engine, &phone, port, "a face", |i| packet(true, 12.0 + noise(i)), |t| is_followed(t) && turned(t, 12.0));
    drive(
        &engine,
        &phone,
        port,
        "no face",
        |i| packet(false, noise(i)),
        |t| t.video.state == VideoState::FaceLost && t.stage.trust.face < 0.1,
    );
}

#[test]
fn a_busy_port_is_told_and_taken_when_it_is_free() {
    let settings = settings(VideoSource::Vmc);
    let port = settings.video.port;
    let holder = UdpSocket::bind(("127.0.0.1", port)).expect("socket");
    let engine = start(&settings);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
    let telemetry = drive(&engine, &socket, port, "the reason", |_| Vec::new(), |t| t.video.message.is_some());
    assert_eq!(telemetry.video.state, VideoState::Disconnected);
    let message = telemetry.video.message.expect("what to do");
    assert!(message.contains(&format!("port {port} is in use")) && message.contains("another port"), "{message}");
    drop(holder);
    drive(&engine, &socket, port, "the avatar", |i| vmc(i, 10.0, 0.0), is_followed);
}
