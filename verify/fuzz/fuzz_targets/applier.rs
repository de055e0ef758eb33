//! See `runahead_verify::fuzz::applier`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| _ = runahead_verify::fuzz::applier(data));
