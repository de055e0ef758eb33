//! See `runahead_verify::fuzz::decoder`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| runahead_verify::fuzz::decoder(data));
