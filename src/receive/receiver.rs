//! The socket behind a remote source: asks phones for data, takes the newest packet, stamps it with its arrival.

use std::io::ErrorKind as Io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use super::admission::Admission;
use super::openseeface::OpenSeeFace;
use super::shapes::swap_sides;
use super::vmc::Vmc;
use super::watch::{Rules, Watch};
use super::{ObservationSource, PacketError, Seen, ifacialmocap, vts_phone};
use crate::settings::{VideoSettings, VideoSource};
use crate::sync::SessionClock;
use crate::types::{ErrorKind, FaceReport, SourceError, Timestamp, VideoState};

/// No datagram is larger.
const MAX_DATAGRAM: usize = 65_535;
/// Datagrams taken at once; a flood is read over, not piled up.
const MAX_AT_ONCE: usize = 1024;
/// Reports come at most this often: the newest packet wins.
const MIN_GAP: Duration = Duration::from_millis(8);
/// How often a phone is asked for data.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// A refused packet is worth a remark for this long.
const REMARK_FOR: Duration = Duration::from_secs(3);
/// What Windows says of a datagram larger than the buffer.
const WINDOWS_MESSAGE_TOO_LONG: i32 = 10_040;

/// A protocol and what it remembers.
enum Protocol {
    IFacialMocap,
    VtsPhone,
    OpenSeeFace(OpenSeeFace),
    Vmc(Box<Vmc>),
}

impl Protocol {
    fn of(source: VideoSource) -> Option<Self> {
        match source {
            VideoSource::Camera => None,
            VideoSource::IFacialMocap => Some(Self::IFacialMocap),
            VideoSource::VtsPhone => Some(Self::VtsPhone),
            VideoSource::OpenSeeFace => Some(Self::OpenSeeFace(OpenSeeFace::default())),
            VideoSource::Vmc => Some(Self::Vmc(Box::default())),
        }
    }

    fn read(&mut self, packet: &[u8], at: Timestamp) -> Result<Seen, PacketError> {
        match self {
            Self::IFacialMocap => ifacialmocap::read(packet),
            Self::VtsPhone => vts_phone::read(packet),
            Self::OpenSeeFace(tracker) => tracker.read(packet),
            Self::Vmc(vmc) => vmc.read(packet, at),
        }
    }

    /// True where a frame is spread over many packets, so that none may be passed over.
    fn is_incremental(&self) -> bool {
        matches!(self, Self::Vmc(_))
    }

    /// What to send to a phone that shall send to `port`, and whether it must be repeated while data comes.
    fn request(&self, port: u16) -> Option<(Vec<u8>, bool)> {
        match self {
            Self::IFacialMocap => Some((ifacialmocap::REQUEST.to_vec(), false)),
            Self::VtsPhone => Some((vts_phone::request(port), true)),
            Self::OpenSeeFace(_) | Self::Vmc(_) => None,
        }
    }

    fn rules(&self) -> Rules {
        let frozen = (VideoState::Frozen, Duration::from_millis(500));
        match self {
            // A phone that has lost the face repeats its last packet.
            Self::IFacialMocap => {
                let repeating = (VideoState::FaceLost, Duration::from_millis(120));
                Rules { silent: VideoState::Stalled, repeating }
            }
            // The tracker sends only while it sees a face.
            Self::OpenSeeFace(_) => Rules { silent: VideoState::FaceLost, repeating: frozen },
            Self::VtsPhone | Self::Vmc(_) => Rules { silent: VideoState::Stalled, repeating: frozen },
        }
    }

    /// What the user does at the sender's end.
    fn how_to_start(&self) -> &'static str {
        match self {
            Self::IFacialMocap => {
                "open iFacialMocap on the phone, in the same network, and give the phone's address as sender"
            }
            Self::VtsPhone => {
                "turn on \"3rd Party PC Clients\" in VTube Studio on the phone, and give the phone's address as sender"
            }
            Self::OpenSeeFace(_) => "start facetracker with this address and port (-i and -p)",
            Self::Vmc(_) => "turn on VMC sending in the other program, to this address and port",
        }
    }
}

/// A packet that was not understood.
struct Refusal {
    from: SocketAddr,
    error: PacketError,
    at: Timestamp,
}

/// Faces from the network; used on the thread that opened it.
pub struct Receiver {
    socket: UdpSocket,
    /// Where it listens, as the sender must be told.
    listens_at: SocketAddr,
    protocol: Protocol,
    admission: Admission,
    watch: Watch,
    clock: SessionClock,
    sender_mirrors: bool,
    /// The phone to be asked for data.
    phone: Option<SocketAddr>,
    asked_at: Option<Timestamp>,
    ask_error: Option<String>,
    refusal: Option<Refusal>,
    reported_at: Option<Timestamp>,
    seq: u64,
    dropped_count: u64,
    buffer: Vec<u8>,
    newest: Vec<u8>,
}

impl Receiver {
    /// Where it listens: this computer's address as senders must be told, and the port.
    pub fn listens_at(&self) -> SocketAddr {
        self.listens_at
    }

    /// Asks the phone for data if it is time.
    fn ask(&mut self, now: Timestamp) {
        let Some(phone) = self.phone else { return };
        let Some((request, is_repeated)) = self.protocol.request(self.listens_at.port()) else { return };
        let is_flowing = self.watch.heard_at().is_some_and(|at| now.saturating_since(at) < ASK_EVERY);
        let is_due = self.asked_at.is_none_or(|at| now.saturating_since(at) >= ASK_EVERY);
        if is_due && (is_repeated || !is_flowing) {
            self.asked_at = Some(now);
            self.ask_error = self.socket.send_to(&request, phone).err().map(|e| e.to_string());
        }
    }

    /// Waits for a datagram, takes all that have come, and gives what they say together: the newest of it.
    fn take(&mut self, wait: Duration) -> Result<Option<FaceReport>, SourceError> {
        let gone = |e: std::io::Error| {
            SourceError::device(ErrorKind::Gone, format!("the network port failed ({e}); it is opened anew"))
        };
        // Zero would mean to wait for ever.
        self.socket.set_read_timeout(Some(wait.max(Duration::from_millis(1)))).map_err(gone)?;
        let mut report = None;
        let mut newest_from = None;
        let mut is_waiting = true;
        for _ in 0..MAX_AT_ONCE {
            let (length, from) = match self.socket.recv_from(&mut self.buffer) {
                Ok(received) => received,
                Err(e) if e.raw_os_error() == Some(WINDOWS_MESSAGE_TOO_LONG) => {
                    self.dropped_count += 1;
                    continue;
                }
                // Some systems report here that a request of ours found no listener.
                Err(e) if matches!(e.kind(), Io::ConnectionReset | Io::ConnectionRefused | Io::Interrupted) => continue,
                Err(e) if matches!(e.kind(), Io::WouldBlock | Io::TimedOut) => break,
                Err(e) => {
                    let _ = self.socket.set_nonblocking(false);
                    return Err(gone(e));
                }
            };
            if std::mem::take(&mut is_waiting) {
                self.socket.set_nonblocking(true).map_err(gone)?;
            }
            let now = self.clock.now();
            if !self.admission.admits(from, now) {
                self.dropped_count += 1;
            } else if self.protocol.is_incremental() {
                let packet = std::mem::take(&mut self.buffer);
                report = self.read(packet.get(..length).unwrap_or_default(), from, now).or(report);
                self.buffer = packet;
            } else {
                self.dropped_count += u64::from(newest_from.is_some());
                std::mem::swap(&mut self.buffer, &mut self.newest);
                newest_from = Some((length, from));
            }
        }
        self.socket.set_nonblocking(false).map_err(gone)?;
        if let Some((length, from)) = newest_from {
            let packet = std::mem::take(&mut self.newest);
            report = self.read(packet.get(..length).unwrap_or_default(), from, self.clock.now());
            self.newest = packet;
        }
        Ok(report)
    }

    fn read(&mut self, packet: &[u8], from: SocketAddr, now: Timestamp) -> Option<FaceReport> {
        match self.protocol.read(packet, now) {
            Ok(seen) => {
                self.admission.follow(from, now);
                self.refusal = None;
                self.watch.hear(seen, now)
            }
            Err(error) => {
                self.dropped_count += 1;
                self.refusal = Some(Refusal { from, error, at: now });
                None
            }
        }
    }

    fn finished(&mut self, mut report: FaceReport, now: Timestamp) -> FaceReport {
        if self.sender_mirrors
            && let Some(seen) = &mut report.observation
        {
            swap_sides(seen);
        }
        report.seq = self.seq;
        self.seq += 1;
        self.reported_at = Some(now);
        report
    }
}

impl ObservationSource for Receiver {
    fn next_report(&mut self, timeout: Duration) -> Result<FaceReport, SourceError> {
        let started = self.clock.now();
        self.ask(started);
        let due = self.reported_at.map_or(started, |at| at + MIN_GAP);
        let mut report = None;
        loop {
            let now = self.clock.now();
            // What has come is held until it is due: something newer may come till then.
            let until = if report.is_some() { due } else { started + timeout };
            if now >= until {
                break;
            }
            report = self.take(until.saturating_since(now))?.or(report);
        }
        let now = self.clock.now();
        match report.or_else(|| self.watch.silence(now)) {
            Some(report) => Ok(self.finished(report, now)),
            None => Err(SourceError::Timeout),
        }
    }

    fn advice(&self) -> Option<String> {
        let now = self.clock.now();
        let is_recent = |at: Timestamp| now.saturating_since(at) < REMARK_FOR;
        if let Some(Refusal { from, error, .. }) = self.refusal.as_ref().filter(|r| is_recent(r.at)) {
            return Some(format!("what {} sends is {error}: choose the source that it is", from.ip()));
        }
        if self.watch.heard_at().is_some_and(is_recent) {
            return None;
        }
        if let (Some(why), Some(phone)) = (&self.ask_error, self.phone) {
            return Some(format!("{phone} cannot be reached ({why}): are both devices in the same network?"));
        }
        let (ip, port) = (self.listens_at.ip(), self.listens_at.port());
        let scope = if ip.is_loopback() { ", from this computer only" } else { "" };
        let whom = self.phone.map_or("a sender".to_owned(), |p| p.ip().to_string());
        Some(format!("waiting for {whom} at {ip} port {port}{scope}: {}", self.protocol.how_to_start()))
    }

    fn dropped_count(&self) -> u64 {
        self.dropped_count
    }
}

/// Opens the remote source of the settings. To be used on the thread that will read from it.
///
/// # Errors
/// `Device` with what the user can do: the port is taken, the sender is no address, or it is on the network and omote
/// may only listen to this computer.
pub fn open(settings: &VideoSettings, clock: SessionClock) -> Result<Receiver, SourceError> {
    let setup = |message: String| SourceError::device(ErrorKind::Setup, message);
    let source = settings.source;
    let protocol = Protocol::of(source).ok_or_else(|| setup("a camera is no remote source".into()))?;
    let phone = sender(settings).map_err(setup)?;
    if let Some(phone) = phone.filter(|p| !settings.network && !p.ip().is_loopback()) {
        return Err(setup(format!(
            "{} is another device, and omote listens to this computer only: allow the network below the port",
            phone.ip()
        )));
    }
    let is_v6 = phone.is_some_and(|p| p.is_ipv6());
    let ip: IpAddr = match (settings.network, is_v6) {
        (false, false) => Ipv4Addr::LOCALHOST.into(),
        (false, true) => Ipv6Addr::LOCALHOST.into(),
        (true, false) => Ipv4Addr::UNSPECIFIED.into(),
        (true, true) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let port = if settings.port == 0 { source.usual_port() } else { settings.port };
    let socket = UdpSocket::bind((ip, port)).map_err(|e| cannot_listen(port, &e))?;
    let listens_at = SocketAddr::new(
        this_computer(settings).unwrap_or(ip),
        socket.local_addr().map_err(|e| cannot_listen(port, &e))?.port(),
    );
    let watch = Watch::new(protocol.rules(), clock.now());
    Ok(Receiver {
        socket,
        listens_at,
        protocol,
        admission: Admission::new(phone.map(|p| p.ip())),
        watch,
        clock,
        sender_mirrors: settings.sender_mirrors,
        phone,
        asked_at: None,
        ask_error: None,
        refusal: None,
        reported_at: None,
        seq: 0,
        dropped_count: 0,
        buffer: vec![0; MAX_DATAGRAM],
        newest: vec![0; MAX_DATAGRAM],
    })
}

/// The sender of the settings, with the port at which its protocol's senders take requests; `None` where it is left open.
fn sender(settings: &VideoSettings) -> Result<Option<SocketAddr>, String> {
    let text = settings.sender.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let address = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, settings.source.usual_port()));
    address.or_else(|_| text.parse::<SocketAddr>()).map(Some).map_err(|_| {
        format!("{text:?} is no address: give numbers as the phone shows them, such as 192.168.1.20, or leave it empty")
    })
}

fn cannot_listen(port: u16, error: &std::io::Error) -> SourceError {
    match error.kind() {
        // It may become free.
        Io::AddrInUse => SourceError::device(
            ErrorKind::Gone,
            format!(
                "port {port} is in use by another program: close that program, or choose another port here and at the \
                 sender"
            ),
        ),
        Io::PermissionDenied => SourceError::device(
            ErrorKind::Setup,
            format!("the system does not let omote listen on port {port}: choose one above 1023"),
        ),
        _ => SourceError::device(ErrorKind::Gone, format!("omote cannot listen on port {port} ({error})")),
    }
}

/// The address that senders must be told: of this computer in the network if the settings allow that, else of this
/// computer to itself. `None` where there is no network. Sends nothing.
pub fn this_computer(settings: &VideoSettings) -> Option<IpAddr> {
    if !settings.network {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    // Connecting sends nothing; it makes the system choose the way, and so the address, it would send by.
    let toward = sender(settings).ok().flatten().unwrap_or_else(|| SocketAddr::from(([192, 0, 2, 1], 9)));
    let any: IpAddr = if toward.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(toward).ok()?;
    socket.local_addr().ok().map(|a| a.ip()).filter(|ip| !ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(50);
    const PACKET: &[u8] = b"jawOpen-60|=head#0,20,0,0,0,-0.5|rightEye#0,0,0|leftEye#0,0,0|";

    /// Settings for a port that is free now. (Port 0 means the usual one, so one is asked from the system.)
    fn settings(source: VideoSource) -> VideoSettings {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        VideoSettings { source, port, ..VideoSettings::default() }
    }

    fn opened(settings: &VideoSettings) -> Receiver {
        open(settings, SessionClock::new()).unwrap()
    }

    fn sender_to(receiver: &Receiver) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(receiver.listens_at()).unwrap();
        socket
    }

    /// The next report with a face.
    fn next_face(receiver: &mut Receiver) -> FaceReport {
        for _ in 0..40 {
            match receiver.next_report(WAIT) {
                Ok(report) if report.observation.is_some() => return report,
                Ok(_) | Err(SourceError::Timeout) => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("no face came");
    }

    #[test]
    fn the_newest_packet_wins() {
        let mut receiver = opened(&settings(VideoSource::IFacialMocap));
        let sender = sender_to(&receiver);
        for yaw in 1..=30 {
            sender.send(format!("jawOpen-0|=head#0,{yaw},0,0,0,-0.5|").as_bytes()).unwrap();
        }
        let report = next_face(&mut receiver);
        assert!((report.observation.unwrap().head.yaw.to_degrees() - 30.0).abs() < 1e-3);
        assert_eq!((report.seq, receiver.dropped_count()), (0, 29));
        assert!(receiver.advice().is_none());
        // Not more often than the rate allows.
        let began = receiver.clock.now();
        for _ in 0..5 {
            sender.send(PACKET).unwrap();
            next_face(&mut receiver);
        }
        assert!(receiver.clock.now().saturating_since(began) >= MIN_GAP * 4);
    }

    #[test]
    fn silence_and_strange_packets_are_told() {
        let mut receiver = opened(&settings(VideoSource::IFacialMocap));
        assert_eq!(receiver.next_report(WAIT), Err(SourceError::Timeout), "silent for a moment only");
        let advice = receiver.advice().unwrap();
        assert!(
            advice.contains("waiting for a sender at 127.0.0.1") && advice.contains("this computer only"),
            "{advice}"
        );
        let sender = sender_to(&receiver);
        sender.send(&[0xff; 60_000]).unwrap();
        sender.send(b"{\"FaceFound\":true}").unwrap();
        let mut states = Vec::new();
        for _ in 0..8 {
            states.extend(receiver.next_report(WAIT).map(|r| r.state));
        }
        assert!(states.iter().all(|s| *s == VideoState::Stalled) && !states.is_empty(), "{states:?}");
        let advice = receiver.advice().unwrap();
        assert!(advice.contains("127.0.0.1 sends is no iFacialMocap packet"), "{advice}");
        sender.send(PACKET).unwrap();
        next_face(&mut receiver);
    }

    #[test]
    fn a_busy_port_is_an_error_that_says_what_to_do() {
        let settings = settings(VideoSource::Vmc);
        let holder = opened(&settings);
        let error = open(&settings, SessionClock::new()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Gone, "it is tried again");
        assert!(error.to_string().contains(&format!("port {} is in use", settings.port)), "{error}");
        drop(holder);
        opened(&settings);
    }

    #[test]
    fn the_network_is_closed_unless_the_user_opens_it() {
        let mut settings = settings(VideoSource::VtsPhone);
        let receiver = opened(&settings);
        assert!(receiver.socket.local_addr().unwrap().ip().is_loopback());
        drop(receiver);
        settings.sender = "192.168.1.20".into();
        let error = open(&settings, SessionClock::new()).err().unwrap();
        assert!(error.kind() == ErrorKind::Setup && error.to_string().contains("allow the network"), "{error}");
        settings.network = true;
        assert!(opened(&settings).socket.local_addr().unwrap().ip().is_unspecified());
        settings.sender = "my phone".into();
        let error = open(&settings, SessionClock::new()).err().unwrap();
        assert!(error.kind() == ErrorKind::Setup && error.to_string().contains("is no address"), "{error}");
        settings.source = VideoSource::Camera;
        assert!(open(&settings, SessionClock::new()).is_err());
    }

    #[test]
    fn phones_are_asked_and_asked_again() {
        let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
        phone.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let mut settings = settings(VideoSource::VtsPhone);
        settings.sender = phone.local_addr().unwrap().to_string();
        let mut receiver = opened(&settings);
        let mut buffer = [0; 1000];
        let answer = br#"{"FaceFound":true,"BlendShapes":[{"k":"JawOpen","v":0.6}],"Rotation":{"x":0,"y":5,"z":0}}"#;
        for _ in 0..2 {
            let began = receiver.clock.now();
            let asked = loop {
                let _ = receiver.next_report(WAIT);
                phone.set_nonblocking(true).unwrap();
                if let Ok((length, from)) = phone.recv_from(&mut buffer) {
                    break (String::from_utf8_lossy(&buffer[..length]).into_owned(), from);
                }
                assert!(receiver.clock.now().saturating_since(began) < Duration::from_secs(3), "asked again");
            };
            assert!(asked.0.contains("iOSTrackingDataRequest") && asked.0.contains(&settings.port.to_string()));
            phone.send_to(answer, asked.1).unwrap();
            assert!(next_face(&mut receiver).observation.unwrap().head.yaw > 0.0);
        }
    }

    #[test]
    fn only_the_named_sender_is_heard() {
        let mut settings = settings(VideoSource::IFacialMocap);
        settings.sender = "127.0.0.2".into();
        let mut receiver = opened(&settings);
        sender_to(&receiver).send(PACKET).unwrap();
        assert!(receiver.next_report(WAIT).is_err());
        assert_eq!(receiver.dropped_count(), 1);
    }

    #[test]
    fn a_mirroring_sender_is_turned_round() {
        let mut settings = settings(VideoSource::IFacialMocap);
        settings.sender_mirrors = true;
        let mut receiver = opened(&settings);
        sender_to(&receiver).send(PACKET).unwrap();
        assert!(next_face(&mut receiver).observation.unwrap().head.yaw < -0.3);
    }

    #[test]
    fn an_address_of_this_computer_is_known() {
        let mut settings = settings(VideoSource::Vmc);
        assert_eq!(this_computer(&settings), Some(Ipv4Addr::LOCALHOST.into()));
        settings.network = true;
        // A machine without any network has none; it must not be the empty one.
        assert!(this_computer(&settings).is_none_or(|ip| !ip.is_unspecified()));
    }
}
