//! A page with pictures side by side. It names the files where they are, and needs nothing else.

use std::{fmt::Write, path::PathBuf};

use super::pictures::Verdict;

/// An image of both sides.
pub struct Row<'a> {
    pub name: &'a str,
    pub verdict: Verdict,
    pub sides: [Option<&'a PathBuf>; 2],
}

/// Text as HTML has it.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A path as a link has it.
fn link(path: &str) -> String {
    let mut out = String::from("file://");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            out.push(byte.into());
        } else {
            // A string takes what is written to it.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The page: differing images first and open, equal ones behind.
pub fn page(rows: &[Row<'_>]) -> Result<String, String> {
    let differ = rows.iter().filter(|row| !row.verdict.is_equal()).count();
    let mut out = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{differ} of {} images differ</title>\n\
         <style>body{{font:14px sans-serif;margin:1em}}td{{vertical-align:top;padding:4px}}\
         img{{max-width:45vw;image-rendering:pixelated;border:1px solid #888}}.d{{background:#fdd}}</style>\n\
         <h1>{differ} of {} images differ</h1>\n<table>\n",
        rows.len(),
        rows.len()
    );
    let (different, same): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.verdict.is_equal());
    for row in different.into_iter().chain(same) {
        let class = if row.verdict.is_equal() { "" } else { " class=\"d\"" };
        let _ = write!(
            out,
            "<tr{class}><td colspan=2>{}: {}</tr><tr>",
            escape(row.name),
            escape(&row.verdict.to_string())
        );
        for side in row.sides {
            match side {
                Some(file) => {
                    let whole =
                        file.canonicalize().map_err(|error| format!("{}: {error}", file.display()))?;
                    let _ =
                        write!(out, "<td><img src=\"{}\" loading=\"lazy\">", link(&whole.to_string_lossy()));
                }
                None => out.push_str("<td>none"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_the_page() {
        assert_eq!(escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(link("/a b/\"<é"), "file:///a%20b/%22%3C%C3%A9");
    }
}
