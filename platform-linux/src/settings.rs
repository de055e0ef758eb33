//! The settings of a client: the environment variables that begin with `RUNAHEAD_`.
//!
//! [`VARIABLES`] is the one table of them. What reads the environment, the help of the programs and the table in
//! `README.md` are all made from it or compared with it.
//!
//! # Contract
//!
//! - A variable that is not set leaves its default. One that is set to what is not allowed is an error, also where it
//!   is empty; so is a variable of that prefix that is not in the table: a typing error is never silent.
//! - A server has none of them: [`environment`](crate::environment) drops the prefix.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::OsStrExt,
};

use runahead_core::compare::Check;

use crate::{
    control::{
        handshake::{CEILING, MAX_CREDIT, MIN_RING},
        message::{Doorbell, LogLevel},
    },
    session::{Choice, Config, Counting, Programs, Topology},
};

/// How the name of every variable begins.
pub const PREFIX: &str = "RUNAHEAD_";

/// How the line of a note begins that names the file of a recording.
pub const RECORDING: &str = "recording ";

/// Set by the build script for the compiler. Cargo hands it on to the programs that it runs for a package, so it may be
/// in an environment without anybody having set it.
const COMPILE_TIME: &str = "RUNAHEAD_BUILD_STAMP";

/// A variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may be set to.
    pub allowed: &'static str,
    /// What holds where it is not set.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Puts a value into a configuration; `None` where it is not allowed.
    set: fn(&mut Config, &OsStr) -> Option<()>,
}

/// Every variable.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "RUNAHEAD_TOPOLOGY",
        allowed: "direct, inproc or spawn",
        default: "spawn",
        what: "where commands are applied: in the call itself (rings and server do not matter then), a thread, or a process",
        set: |config, value| {
            config.topology = *Topology::ALL.iter().find(|topology| value == topology.name())?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_BACKEND",
        allowed: "gles",
        default: "gles",
        what: "what a program's commands are applied on: gles is the system's OpenGL ES driver",
        set: |config, value| {
            config.backend = *Choice::ALL.iter().find(|backend| value == backend.name())?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_RUN_AHEAD",
        allowed: "0 or 1",
        default: "1",
        what: "1: the client goes on while the server works; 0: it waits for the server at each draw",
        set: |config, value| {
            config.wanted.0.run_ahead = match value.to_str()? {
                "0" => false,
                "1" => true,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_CREDIT",
        allowed: "1 to 8",
        default: "1",
        what: "frames that the client may be ahead of the server",
        set: |config, value| {
            let credit = u32::try_from(number(value)?).ok()?;
            config.wanted.0.credit = (1..=MAX_CREDIT).contains(&credit).then_some(credit)?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_RING_KB",
        allowed: "a power of two from 4 to 65536",
        default: "8192",
        what: "size of the command ring in KiB",
        set: |config, value| {
            config.wanted.0.sizes.commands = ring(value, CEILING.commands)?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_STAGE_KB",
        allowed: "a power of two from 4 to 1048576",
        default: "32768",
        what: "size of the ring for bulk data (textures, buffers, shaders) in KiB",
        set: |config, value| {
            config.wanted.0.sizes.stage = ring(value, CEILING.stage)?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_DOORBELL",
        allowed: "futex or eventfd",
        default: "futex",
        what: "how client and server wake each other: by the memory that they share, or by two file descriptors",
        set: |config, value| {
            config.wanted.0.doorbell = match value.to_str()? {
                "futex" => Doorbell::Futex,
                "eventfd" => Doorbell::EventFd,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_LOG",
        allowed: "error, warning, info, debug or off",
        default: "warning",
        what: "what client and server say on standard error: lines as grave as this, and graver ones",
        set: |config, value| {
            config.diagnostics.log = match value.to_str()? {
                "off" => None,
                name => Some(*LogLevel::ALL.iter().find(|level| level.name() == name)?),
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_STATS",
        allowed: "0, 1 or the path of a file (with a slash in it)",
        default: "0",
        what: "at the end of a session, what both sides counted: 1 prints it, a file has it appended as JSON",
        set: |config, value| {
            config.diagnostics.counting = match value.as_bytes() {
                b"0" => Counting::Off,
                b"1" => Counting::Print,
                path if path.contains(&b'/') => Counting::File(value.into()),
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_VERIFY",
        allowed: "0, 1, corrupt or drop",
        default: "0",
        what: "1: the server compares the client's state with its own at each verb; corrupt and drop break it, and are found",
        set: |config, value| {
            config.diagnostics.check = match value.to_str()? {
                "0" => Check::Off,
                "1" => Check::On,
                "corrupt" => Check::Corrupt,
                "drop" => Check::Drop,
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_SERVER",
        allowed: "the path of a file",
        default: "runahead-server next to the library or program",
        what: "the server program that spawn starts",
        set: |config, value| {
            config.server = (!value.is_empty()).then(|| Some(value.into()))?;
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_CACHE",
        allowed: "0, or the path of a folder that nobody else writes",
        default: "the user's own, in the folder for caches",
        what: "where translated programs are kept from run to run; 0: nowhere",
        set: |config, value| {
            config.programs = match value.as_bytes() {
                b"0" => Programs::Nowhere,
                path if path.contains(&b'/') => Programs::In(value.into()),
                _ => return None,
            };
            Some(())
        },
    },
    Variable {
        name: "RUNAHEAD_RECORD",
        allowed: "the path of a file, not with topology direct",
        default: "nothing is recorded",
        what: "file to record to, for runahead replay; where it exists, its name gets a number",
        set: |config, value| {
            config.record = (!value.is_empty()).then(|| Some(value.into()))?;
            Some(())
        },
    },
    Variable {
        name: NOTE,
        allowed: "the path of a file",
        default: "none",
        what: "a file that gets a line when the library is loaded and for each session; `runahead run` reads it",
        set: |config, value| {
            config.note = (!value.is_empty()).then(|| Some(value.into()))?;
            Some(())
        },
    },
];

/// The variable that `runahead run` learns by whether a program used EGL.
pub const NOTE: &str = "RUNAHEAD_NOTE";

/// A whole number, written the one way that it is printed.
fn number(value: &OsStr) -> Option<u64> {
    let text = value.to_str()?;
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// Bytes of a ring, from a number of KiB.
fn ring(value: &OsStr, ceiling: u64) -> Option<u64> {
    let bytes = number(value)?.checked_mul(1024)?;
    (bytes.is_power_of_two() && (MIN_RING..=ceiling).contains(&bytes)).then_some(bytes)
}

/// Why the variables make no configuration. Prints as one sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// A variable is set to what it may not be.
    Invalid {
        /// Its name.
        name: &'static str,
        /// What it is set to.
        value: OsString,
        /// What it may be set to.
        allowed: &'static str,
    },
    /// A variable has our prefix and is none of ours.
    Unknown {
        /// Its name.
        name: OsString,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Quoted, and with what is no letter escaped: a value can hold anything.
        match self {
            Self::Invalid { name, value, allowed } => {
                write!(f, "{name} is set to {value:?}; allowed: {allowed}")
            }
            Self::Unknown { name } => {
                write!(f, "the environment holds {name:?}, which Runahead does not know; unset it (known: ")?;
                for (index, variable) in VARIABLES.iter().enumerate() {
                    write!(f, "{}{}", if index == 0 { "" } else { ", " }, variable.name)?;
                }
                f.write_str(")")
            }
        }
    }
}

impl std::error::Error for SettingsError {}

/// The configuration that variables make; those without the prefix are somebody else's.
///
/// # Errors
/// [`SettingsError`]: the first variable, by its name, that is not as the table has it.
pub fn from_variables(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Config, SettingsError> {
    let mut ours: Vec<(OsString, OsString)> = variables
        .into_iter()
        .filter(|(name, _)| name.as_bytes().starts_with(PREFIX.as_bytes()) && name != COMPILE_TIME)
        .collect();
    // An environment has no order, and the message should not change from run to run.
    ours.sort();
    let mut config = Config::default();
    for (name, value) in ours {
        let Some(variable) = VARIABLES.iter().find(|variable| name == variable.name) else {
            return Err(SettingsError::Unknown { name });
        };
        if (variable.set)(&mut config, &value).is_none() {
            let Variable { name, allowed, .. } = *variable;
            return Err(SettingsError::Invalid { name, value, allowed });
        }
    }
    Ok(config)
}

/// The configuration that this process's environment makes.
///
/// # Errors
/// As [`from_variables`].
pub fn from_environment() -> Result<Config, SettingsError> {
    from_variables(std::env::vars_os())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;
    use crate::control::handshake::USUAL;

    fn with(name: &str, value: &str) -> Result<Config, SettingsError> {
        from_variables([(name.into(), value.into())])
    }

    #[test]
    fn every_variable_reaches_the_configuration() {
        let all = [
            ("RUNAHEAD_TOPOLOGY", "inproc"),
            ("RUNAHEAD_RUN_AHEAD", "0"),
            ("RUNAHEAD_CREDIT", "8"),
            ("RUNAHEAD_RING_KB", "64"),
            ("RUNAHEAD_STAGE_KB", "256"),
            ("RUNAHEAD_BACKEND", "gles"),
            ("RUNAHEAD_DOORBELL", "eventfd"),
            ("RUNAHEAD_LOG", "debug"),
            ("RUNAHEAD_STATS", "/x/statistics"),
            ("RUNAHEAD_VERIFY", "drop"),
            ("RUNAHEAD_SERVER", "/x/server"),
            ("RUNAHEAD_CACHE", "/x/folder"),
            ("RUNAHEAD_NOTE", "/x/note"),
            ("RUNAHEAD_RECORD", "/x/file.rah"),
            ("PATH", "/bin"),
            ("MY_RUNAHEAD_NOTE", "not ours"),
        ];
        let config = from_variables(all.map(|(name, value)| (name.into(), value.into()))).unwrap();
        assert_eq!(config.topology, Topology::Inproc);
        assert!(!config.wanted.0.run_ahead);
        assert_eq!(config.wanted.0.credit, 8);
        assert_eq!(config.wanted.0.sizes.commands, 64 << 10);
        assert_eq!(config.wanted.0.sizes.stage, 256 << 10);
        assert_eq!(config.wanted.0.doorbell, Doorbell::EventFd);
        assert_eq!(config.diagnostics.log, Some(LogLevel::Debug));
        assert_eq!(config.diagnostics.counting, Counting::File("/x/statistics".into()));
        assert_eq!(config.diagnostics.check, Check::Drop);
        assert_eq!(config.server, Some("/x/server".into()));
        assert_eq!(config.note, Some("/x/note".into()));
        assert_eq!(config.record, Some("/x/file.rah".into()));
        assert_eq!(config.programs, Programs::In("/x/folder".into()));
        assert_eq!(with("RUNAHEAD_CACHE", "0").unwrap().programs, Programs::Nowhere);
        let set = all.iter().filter(|(name, _)| name.starts_with(PREFIX)).count();
        assert_eq!(set, VARIABLES.len(), "a variable is not in this test");
    }

    #[test]
    fn nothing_set_is_the_default() {
        let config = from_variables([]).unwrap();
        assert_eq!(config.topology, Topology::default());
        assert_eq!(config.wanted.0, crate::session::Wanted::default().0);
        assert_eq!((config.server, config.note, config.record), (None, None, None));
    }

    #[test]
    fn stated_defaults_are_the_real_ones() {
        let mut config = Config::default();
        let files = ["RUNAHEAD_SERVER", "RUNAHEAD_CACHE", "RUNAHEAD_RECORD", NOTE];
        for variable in VARIABLES.iter().filter(|variable| !files.contains(&variable.name)) {
            assert_eq!((variable.set)(&mut config, variable.default.as_ref()), Some(()), "{}", variable.name);
        }
        assert_eq!(config.topology, Topology::default());
        let terms = config.wanted.0;
        assert_eq!((terms.run_ahead, terms.credit), (USUAL.run_ahead, USUAL.credit));
        assert_eq!((terms.sizes.commands, terms.sizes.stage), (USUAL.sizes.commands, USUAL.sizes.stage));
        assert_eq!(terms.doorbell, USUAL.doorbell);
        let usual = Config::default().diagnostics;
        assert_eq!((config.diagnostics.log, config.diagnostics.counting), (usual.log, usual.counting));
        assert_eq!(config.diagnostics.check, usual.check);
        assert_eq!(with("RUNAHEAD_LOG", "off").unwrap().diagnostics.log, None);
        assert_eq!(with("RUNAHEAD_STATS", "1").unwrap().diagnostics.counting, Counting::Print);
    }

    #[test]
    fn stated_limits_are_the_real_ones() {
        let allowed = |name: &str| VARIABLES.iter().find(|variable| variable.name == name).unwrap().allowed;
        assert_eq!(allowed("RUNAHEAD_CREDIT"), format!("1 to {MAX_CREDIT}"));
        for (name, ceiling) in [("RUNAHEAD_RING_KB", CEILING.commands), ("RUNAHEAD_STAGE_KB", CEILING.stage)]
        {
            let (least, most) = (MIN_RING / 1024, ceiling / 1024);
            assert_eq!(allowed(name), format!("a power of two from {least} to {most}"));
            for inside in [least, most] {
                with(name, &inside.to_string()).unwrap();
            }
            for outside in [least / 2, most * 2] {
                with(name, &outside.to_string()).unwrap_err();
            }
        }
        let names: Vec<&str> = Topology::ALL.iter().map(|topology| topology.name()).collect();
        let (last, others) = names.split_last().unwrap();
        assert_eq!(allowed("RUNAHEAD_TOPOLOGY"), format!("{} or {last}", others.join(", ")));
        let levels = LogLevel::ALL.map(LogLevel::name).join(", ");
        assert_eq!(allowed("RUNAHEAD_LOG"), format!("{levels} or off"));
    }

    #[test]
    fn what_is_not_allowed_is_refused_by_name_and_value() {
        for (name, values) in [
            ("RUNAHEAD_TOPOLOGY", &["", "Spawn", "spawn ", "unix"][..]),
            ("RUNAHEAD_RUN_AHEAD", &["", "2", "yes", "01"]),
            ("RUNAHEAD_CREDIT", &["", "0", "9", "+1", "01", "-1", "1.0", "4294967297"]),
            (
                "RUNAHEAD_RING_KB",
                &["", "0", "2", "5", "64k", "131072", "18446744073709551615", "18014398509481984"],
            ),
            ("RUNAHEAD_STAGE_KB", &["", "0", "2", "6", "0x40", "2097152"]),
            ("RUNAHEAD_DOORBELL", &["", "Futex", "socket"]),
            ("RUNAHEAD_LOG", &["", "Error", "fatal", "0"]),
            ("RUNAHEAD_STATS", &["", "2", "yes", "file"]),
            ("RUNAHEAD_SERVER", &[""]),
            ("RUNAHEAD_CACHE", &["", "1", "folder"]),
            ("RUNAHEAD_RECORD", &[""]),
        ] {
            for value in values {
                let error = with(name, value).expect_err(value);
                let allowed = VARIABLES.iter().find(|variable| variable.name == name).unwrap().allowed;
                assert_eq!(error.to_string(), format!("{name} is set to {value:?}; allowed: {allowed}"));
            }
        }
    }

    #[test]
    fn a_value_cannot_break_the_message() {
        let value = OsString::from_vec(b"\xff\n\x1b[2J".to_vec());
        let error = from_variables([("RUNAHEAD_TOPOLOGY".into(), value)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"RUNAHEAD_TOPOLOGY is set to "\xFF\n\u{1b}[2J"; allowed: direct, inproc or spawn"#
        );
        let path = OsString::from_vec(b"/x/\xff".to_vec());
        let config = from_variables([("RUNAHEAD_SERVER".into(), path.clone())]).unwrap();
        assert_eq!(config.server, Some(path.into()));
    }

    #[test]
    fn an_unknown_variable_is_refused() {
        for misspelt in ["TOPLOGY", "", "topology", "TOPOLOGY "] {
            let name = format!("{PREFIX}{misspelt}");
            let text = with(&name, "spawn").unwrap_err().to_string();
            assert!(text.contains(&format!("{name:?}")) && text.contains("RUNAHEAD_TOPOLOGY,"), "{text}");
        }
        with(COMPILE_TIME, "0.1.0").unwrap();
    }

    #[test]
    fn the_first_by_name_is_reported_whatever_the_order() {
        let mut both: Vec<(OsString, OsString)> =
            vec![("RUNAHEAD_RUN_AHEAD".into(), "x".into()), ("RUNAHEAD_CREDIT".into(), "x".into())];
        let first = from_variables(both.clone()).unwrap_err();
        both.reverse();
        assert_eq!(from_variables(both).unwrap_err(), first);
        assert!(first.to_string().starts_with("RUNAHEAD_CREDIT "), "{first}");
    }
}
