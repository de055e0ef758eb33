//! The compile-time rules of the macros bite: each program here breaks one rule and must not compile.

#[test]
fn rules_that_are_checked_at_compile_time() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/compile_fail/control.rs");
    cases.compile_fail("tests/compile_fail/rule_*.rs");
}
