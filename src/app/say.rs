//! Words for the user on stderr. Machine output goes to stdout or the named file, never through here.

use std::io::Write;

/// One line on stderr.
pub(super) fn say(line: &str) {
    // Where nobody can read there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}
