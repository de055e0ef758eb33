//! The table as a page for people.

use super::{RowFlags, RowInfo, Standing};
use core::fmt;

/// Writes a catalogue as a Markdown page. Generated catalogues call this from `documentation`.
///
/// # Errors
/// The writer's own.
pub fn write_documentation<W: fmt::Write + ?Sized>(
    out: &mut W,
    title: &str,
    docs: &str,
    revision: u32,
    rows: &[RowInfo],
) -> fmt::Result {
    writeln!(out, "# Catalogue `{title}`, revision {revision}\n")?;
    writeln!(out, "{}\n", docs.trim())?;
    writeln!(
        out,
        "Sizes are bytes. A tail reads `name: element(size) x count <= limit`. B blob, V tails, R reply, O optional.\n"
    )?;
    writeln!(out, "| # | row | payload | class | flags | wait | tails, blobs | answer | meaning |")?;
    writeln!(out, "|--:|---|---|---|---|---|---|---|---|")?;
    for row in rows {
        if let Standing::Retired { reason } = row.standing {
            writeln!(
                out,
                "| {} | ~~{}~~ | | | | | | | Retired: {reason} {} |",
                row.op,
                row.name,
                row.docs.trim()
            )?;
            continue;
        }
        write!(out, "| {} | {} | ", row.op, row.name)?;
        if let Some(payload) = row.payload {
            write!(out, "{} {}", payload.name, payload.size)?;
        }
        write!(out, " | {:?} | ", row.class)?;
        for (flag, letter) in [
            (RowFlags::BLOB, 'B'),
            (RowFlags::VAR_TAIL, 'V'),
            (RowFlags::REPLY, 'R'),
            (RowFlags::OPTIONAL, 'O'),
        ] {
            if row.flags.contains(flag) {
                write!(out, "{letter}")?;
            }
        }
        write!(out, " | {:?} | ", row.wait)?;
        let mut separator = "";
        for tail in row.tails {
            write!(
                out,
                "{separator}{}: {}({}) x {} <= {}",
                tail.name, tail.element_name, tail.size, tail.count, tail.max
            )?;
            separator = "; ";
        }
        for blob in row.blobs {
            write!(out, "{separator}blob {}", blob.name)?;
            if blob.count != 1 {
                write!(out, " x {}", blob.count)?;
            }
            if blob.optional {
                write!(out, " (optional)")?;
            }
            separator = "; ";
        }
        write!(out, " | ")?;
        if let Some(answer) = row.answer {
            write!(out, "{}", answer.name)?;
            if let Some(layout) = answer.layout {
                write!(out, " {}", layout.size)?;
            }
        }
        write!(out, " | {}", row.docs.trim())?;
        if let Standing::Superseded { by } = row.standing {
            write!(out, " Superseded: a client sends {by}.")?;
        }
        writeln!(out, " |")?;
    }
    Ok(())
}
