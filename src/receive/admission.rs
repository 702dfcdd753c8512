//! Who is listened to: the sender the user named, or one at a time. Pure.

use std::net::{IpAddr, SocketAddr};

use crate::types::Timestamp;

/// An unnamed sender that has been silent for this long may be replaced by another one.
const KEPT_SECS: f64 = 0.5;

/// Decides about datagrams by where they come from.
#[derive(Debug)]
pub(super) struct Admission {
    named: Option<IpAddr>,
    followed: Option<(SocketAddr, Timestamp)>,
}

impl Admission {
    /// Listens to the named one alone; without a name, to whoever sends something valid first.
    pub fn new(named: Option<IpAddr>) -> Self {
        Self { named: named.map(|ip| ip.to_canonical()), followed: None }
    }

    /// Whether a datagram from there is read at `now`.
    pub fn admits(&self, from: SocketAddr, now: Timestamp) -> bool {
        if let Some(named) = self.named {
            return from.ip().to_canonical() == named;
        }
        self.followed.is_none_or(|(followed, at)| followed == from || now.secs_after(at) > KEPT_SECS)
    }

    /// What came from there was valid: others are not heard while it goes on.
    pub fn follow(&mut self, from: SocketAddr, now: Timestamp) {
        self.followed = Some((from, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn at(secs: f64) -> Timestamp {
        Timestamp::from_secs_f64(secs)
    }

    #[test]
    fn a_named_sender_is_heard_alone_from_any_port() {
        let admission = Admission::new(Some("192.168.1.20".parse().unwrap()));
        assert!(admission.admits(from("192.168.1.20:5000"), at(0.0)));
        assert!(admission.admits(from("[::ffff:192.168.1.20]:7"), at(0.0)));
        assert!(!admission.admits(from("192.168.1.21:5000"), at(0.0)));
    }

    #[test]
    fn without_a_name_one_is_heard_at_a_time() {
        let mut admission = Admission::new(None);
        let (first, second) = (from("10.0.0.1:1"), from("10.0.0.2:1"));
        assert!(admission.admits(first, at(1.0)) && admission.admits(second, at(1.0)));
        admission.follow(first, at(1.0));
        assert!(admission.admits(first, at(1.1)) && !admission.admits(second, at(1.1)));
        assert!(!admission.admits(from("10.0.0.1:2"), at(1.1)), "a second program beside the first");
        assert!(admission.admits(second, at(1.6)), "the first has ended");
    }
}
