//! Info logs for people: the compiler's own, without its banners and repetitions.

/// Longest info log, bytes. A source with a thousand errors is not understood better by the thousand and first.
const BYTES: usize = 16 << 10;

/// Rewrites a log of the compiler, whose lines are `ERROR: STRING:LINE: WHAT`, as `LINE: error: WHAT`.
pub(super) fn clean(log: &str) -> String {
    let mut clean = String::new();
    for line in log.lines().map(str::trim_end) {
        let (kind, rest) = match (line.strip_prefix("ERROR: "), line.strip_prefix("WARNING: ")) {
            (Some(rest), _) => ("error", rest),
            (_, Some(rest)) => ("warning", rest),
            _ => ("", line),
        };
        let banner = rest.ends_with("compilation errors.  No code generated.")
            || rest.starts_with("Linking ") && rest.ends_with("stage:")
            || rest.trim().is_empty()
            // Said again and again of one directive.
            || rest.ends_with("'#extension' : extra tokens -- expected newline");
        if banner {
            continue;
        }
        let (place, what) = place(rest);
        if clean.len() + line.len() + 16 > BYTES {
            clean.push_str("(more messages follow)\n");
            break;
        }
        if !place.is_empty() {
            clean.push_str(place);
            clean.push_str(": ");
        }
        if !kind.is_empty() {
            clean.push_str(kind);
            clean.push_str(": ");
        }
        match what.strip_prefix("Linking ").and_then(|rest| rest.split_once(" stage: ")) {
            Some((stage, what)) => clean.extend([stage, " shader: ", what, "\n"]),
            None => clean.extend([what, "\n"]),
        }
    }
    clean
}

/// The line number in front of a message, and the message.
fn place(message: &str) -> (&str, &str) {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = message.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(string), Some(line), Some(what)) if number(string) && number(line) => (line, what.trim_start()),
        _ => ("", message),
    }
}
