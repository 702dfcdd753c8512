//! The part of OSC 1.0 that VMC needs: messages of integers, numbers and text, in bundles.
//!
//! Own code and not the crate `rosc`, because that one decodes bundles and arrays by recursion: a single packet of
//! 64 kB with bundles in bundles overflows the stack and ends the whole program. Here nothing recurses and nothing is
//! allocated; arguments are read where they lie. (`rosc` writes the packets that the tests read.)

/// Bundles in bundles beyond this are refused; real senders use one level.
const MAX_DEPTH: usize = 4;

/// A packet that is no OSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoOsc;

/// One argument. Kinds that VMC does not use are read over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arg<'a> {
    Int(i32),
    Float(f32),
    Text(&'a str),
    Other,
}

/// The arguments of a message, in order; ends at the first that is broken or of an unknown kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Args<'a> {
    tags: &'a [u8],
    data: Data<'a>,
}

impl<'a> Iterator for Args<'a> {
    type Item = Arg<'a>;

    fn next(&mut self) -> Option<Arg<'a>> {
        let (tag, tags) = self.tags.split_first()?;
        self.tags = tags;
        Some(match tag {
            b'i' => Arg::Int(i32::from_be_bytes(self.data.chunk()?)),
            b'f' => Arg::Float(f32::from_be_bytes(self.data.chunk()?)),
            b's' | b'S' => Arg::Text(self.data.text()?),
            b'd' => Arg::Float(f64::from_be_bytes(self.data.chunk()?) as f32),
            b'h' | b't' => {
                self.data.chunk::<8>()?;
                Arg::Other
            }
            b'c' | b'r' | b'm' => {
                self.data.chunk::<4>()?;
                Arg::Other
            }
            b'b' => {
                let size = u32::from_be_bytes(self.data.chunk()?) as usize;
                self.data.take(size.checked_next_multiple_of(4)?)?;
                Arg::Other
            }
            b'T' | b'F' | b'N' | b'I' | b'[' | b']' => Arg::Other,
            _ => return None,
        })
    }
}

impl<'a> Args<'a> {
    /// The next argument if it is text.
    pub fn text(&mut self) -> Option<&'a str> {
        match self.next()? {
            Arg::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The next argument if it is a whole number.
    pub fn int(&mut self) -> Option<i32> {
        match self.next()? {
            Arg::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The next argument if it is a finite number.
    pub fn number(&mut self) -> Option<f32> {
        match self.next()? {
            Arg::Float(value) if value.is_finite() => Some(value),
            Arg::Int(value) => Some(value as f32),
            _ => None,
        }
    }

    /// The next arguments if they are `N` finite numbers.
    pub fn numbers<const N: usize>(&mut self) -> Option<[f32; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.number()?;
        }
        Some(values)
    }
}

/// Bytes not read yet.
#[derive(Clone, Copy, Debug)]
struct Data<'a>(&'a [u8]);

impl<'a> Data<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    /// Text up to its zero, and the padding to a multiple of four behind it.
    fn text(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|b| *b == 0)?;
        let padded = self.take((end + 1).next_multiple_of(4))?;
        std::str::from_utf8(padded.get(..end)?).ok()
    }
}

/// Calls `visit` with address and arguments of every message in the packet, in order. Messages that are broken are
/// passed over.
///
/// # Errors
/// If the packet as such is no OSC; what stood before the fault has been visited.
pub(super) fn for_each_message<'a>(packet: &'a [u8], mut visit: impl FnMut(&'a str, Args<'a>)) -> Result<(), NoOsc> {
    // The rests of the bundles that are open.
    let mut open = [Data(&[]); MAX_DEPTH];
    let mut depth = 0;
    let mut element = Data(packet);
    loop {
        match element.0.first() {
            Some(b'/') => {
                if let Some((address, args)) = message(element) {
                    visit(address, args);
                }
            }
            Some(b'#') if element.take(8) == Some(b"#bundle\0") => {
                element.take(8).ok_or(NoOsc)?; // The time tag: everything is shown at once.
                *open.get_mut(depth).ok_or(NoOsc)? = element;
                depth += 1;
            }
            _ => return Err(NoOsc),
        }
        // The next element of the innermost bundle that has one.
        loop {
            let Some(bundle) = depth.checked_sub(1).and_then(|i| open.get_mut(i)) else { return Ok(()) };
            if bundle.0.is_empty() {
                depth -= 1;
                continue;
            }
            let size = u32::from_be_bytes(bundle.chunk().ok_or(NoOsc)?) as usize;
            element = Data(bundle.take(size).ok_or(NoOsc)?);
            break;
        }
    }
}

/// Address and arguments; `None` where the message is broken. One without a type tag has no arguments.
fn message(mut data: Data<'_>) -> Option<(&str, Args<'_>)> {
    let address = data.text()?;
    let tags = if data.0.is_empty() { "," } else { data.text()? };
    Some((address, Args { tags: tags.strip_prefix(',')?.as_bytes(), data }))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};

    use super::*;

    pub fn osc(addr: &str, args: Vec<OscType>) -> OscPacket {
        OscPacket::Message(OscMessage { addr: addr.into(), args })
    }

    pub fn bundle(content: Vec<OscPacket>) -> OscPacket {
        OscPacket::Bundle(OscBundle { timetag: OscTime { seconds: 0, fractional: 1 }, content })
    }

    pub fn bytes(packet: &OscPacket) -> Vec<u8> {
        rosc::encoder::encode(packet).unwrap()
    }

    fn read(packet: &[u8]) -> Result<Vec<String>, NoOsc> {
        let mut found = Vec::new();
        for_each_message(packet, |address, args| found.push(format!("{address} {:?}", args.collect::<Vec<_>>())))?;
        Ok(found)
    }

    #[test]
    fn messages_and_bundles_are_read_as_rosc_writes_them() {
        let args = vec![OscType::String("あ".into()), OscType::Int(-3), OscType::Float(0.5), OscType::Double(0.25)];
        assert_eq!(
            read(&bytes(&osc("/a/bc", args))).unwrap(),
            [r#"/a/bc [Text("あ"), Int(-3), Float(0.5), Float(0.25)]"#]
        );
        let odd = vec![
            OscType::Blob(vec![1; 5]),
            OscType::Bool(true),
            OscType::Nil,
            OscType::Long(7),
            OscType::Char('x'),
            OscType::Array(rosc::OscArray { content: vec![OscType::Int(1)] }),
            OscType::Int(9),
        ];
        assert!(read(&bytes(&osc("/x", odd))).unwrap()[0].ends_with("Int(9)]"), "what is behind is still found");
        let nested = bundle(vec![
            osc("/1", vec![]),
            bundle(vec![osc("/2", vec![OscType::Int(2)]), bundle(vec![]), osc("/3", vec![])]),
            osc("/4", vec![]),
        ]);
        assert_eq!(read(&bytes(&nested)).unwrap(), ["/1 []", "/2 [Int(2)]", "/3 []", "/4 []"]);
        assert_eq!(read(b"/old\0\0\0\0").unwrap(), ["/old []"], "without type tags");
    }

    #[test]
    fn a_broken_message_does_not_hide_its_neighbours() {
        let mut packet = bytes(&bundle(vec![osc("/a", vec![]), osc("/bad", vec![OscType::Int(1)]), osc("/c", vec![])]));
        let at = packet.windows(4).position(|w| w == b"/bad").unwrap();
        packet[at + 1] = 0xff;
        assert_eq!(read(&packet).unwrap(), ["/a []", "/c []"]);
        let unknown = b"/x\0\0,iqi\0\0\0\0\0\0\0\x01\0\0\0\x02";
        assert_eq!(read(unknown).unwrap(), ["/x [Int(1)]"], "nothing behind an unknown kind can be found");
    }

    #[test]
    fn hostile_nesting_ends_in_an_error_not_in_a_crash() {
        let nested = |levels: usize| {
            let message = b"/a\0\0,\0\0\0";
            let mut packet = Vec::new();
            for level in 1..=levels {
                packet.extend(b"#bundle\0\0\0\0\0\0\0\0\x01");
                packet.extend((((levels - level) * 20 + message.len()) as u32).to_be_bytes());
            }
            packet.extend(message);
            packet
        };
        assert_eq!(read(&nested(MAX_DEPTH)).unwrap(), ["/a []"]);
        assert_eq!(read(&nested(MAX_DEPTH + 1)), Err(NoOsc));
        assert_eq!(read(&nested(3000)), Err(NoOsc));
        let arrays = [b"/a\0\0,".as_slice(), &[b'['; 30_001], &[b']'; 30_001], b"\0"].concat();
        let padded = [arrays.as_slice(), &vec![0; arrays.len().next_multiple_of(4) - arrays.len()]].concat();
        assert_eq!(read(&padded).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_osc_is_refused() {
        for packet in [
            &b""[..],
            b"hello",
            b"#",
            b"#bundle",
            b"#bundle\0",
            b"#bundle\0\0\0\0\0\0\0\0\x01\0\0",
            b"#bundle\0\0\0\0\0\0\0\0\x01\0\0\0\x08/a\0\0",
            b"#bundle\0\0\0\0\0\0\0\0\x01\xff\xff\xff\xff",
            b"#bundle\0\0\0\0\0\0\0\0\x01\0\0\0\0",
        ] {
            assert_eq!(read(packet), Err(NoOsc), "{packet:?}");
        }
        for packet in [&b"/"[..], b"/a", b"/a\0", b"/a\0\0,", b"/a\0\0i\0\0\0\0\0\0\x01", b"/\xff\0\0,\0\0\0"] {
            assert_eq!(read(packet), Ok(vec![]), "{packet:?}: a broken message alone");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(packet in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&packet);
        }

        #[test]
        fn mangled_bundles_never_panic(at in 0..200usize, byte in any::<u8>(), cut in 0..200usize) {
            let inner = bundle(vec![osc("/VMC/Ext/Blend/Val", vec![OscType::String("A".into()), OscType::Float(1.0)])]);
            let mut packet = bytes(&bundle(vec![osc("/VMC/Ext/OK", vec![OscType::Int(1)]), inner]));
            if let Some(b) = packet.get_mut(at) {
                *b = byte;
            }
            packet.truncate(packet.len().saturating_sub(cut));
            let _ = read(&packet);
        }
    }
}
