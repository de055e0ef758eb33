//! See `runahead_verify::fuzz::ring_consumer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| runahead_verify::fuzz::ring_consumer(data));
