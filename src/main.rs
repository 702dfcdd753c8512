//! The omote program: see `omote --help`.

fn main() {}
