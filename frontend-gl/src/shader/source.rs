//! What a source may be: bounds that keep the compiler within its stack, its memory and a reasonable time, and
//! extensions as the context offers them.
//!
//! The compiler recurses over nested and long expressions, follows macros without a limit, and visits each leaf of a
//! structure. The bounds are far above what programs write.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _};

use super::{EXTENSIONS, Environment};

/// Longest source, bytes.
const SOURCE_BYTES: usize = 1 << 20;
/// Longest directive, bytes.
const DIRECTIVE_BYTES: usize = 16 << 10;
/// Tokens that macros may expand to.
const EXPANDED_TOKENS: u64 = 4 << 20;
/// Longest source after macros, bytes.
const EXPANDED_BYTES: usize = 16 << 20;
/// Deepest nesting of brackets.
const NESTING: usize = 256;
/// Longest statement, tokens.
const STATEMENT_TOKENS: usize = 64 << 10;
/// Most functions and nested statements: words `else`, and closing brackets of parameter lists before a body.
const BODIES: usize = 16 << 10;
/// Most members of a structure, counting those of its members and elements.
const STRUCT_LEAVES: u64 = 16 << 10;

/// Extensions that the compiler offers every ES source and that a context may not.
const COMPILER_EXTENSIONS: [&str; 29] = [
    "GL_OES_texture_3D",
    "GL_OES_standard_derivatives",
    "GL_EXT_frag_depth",
    "GL_OES_EGL_image_external",
    "GL_OES_EGL_image_external_essl3",
    "GL_EXT_YUV_target",
    "GL_EXT_shader_texture_lod",
    "GL_EXT_shadow_samplers",
    "GL_EXT_fragment_shading_rate",
    "GL_EXT_conservative_depth",
    "GL_ANDROID_extension_pack_es31a",
    "GL_OES_sample_variables",
    "GL_OES_shader_image_atomic",
    "GL_OES_shader_multisample_interpolation",
    "GL_OES_texture_storage_multisample_2d_array",
    "GL_EXT_geometry_shader",
    "GL_EXT_gpu_shader5",
    "GL_EXT_primitive_bounding_box",
    "GL_EXT_shader_io_blocks",
    "GL_EXT_tessellation_shader",
    "GL_EXT_texture_buffer",
    "GL_EXT_texture_cube_map_array",
    "GL_EXT_shader_implicit_conversions",
    "GL_EXT_shader_integer_mix",
    "GL_EXT_blend_func_extended",
    "GL_EXT_shader_non_constant_global_initializers",
    "GL_OES_geometry_shader",
    "GL_OES_gpu_shader5",
    "GL_OES_tessellation_shader",
];

/// The extension under which the compiler lets names that begin with `GL_` be undefined.
const UNDEFINING: &str = "GL_EXT_spirv_intrinsics";

/// Text in front of every source: the macros of the extensions that the context offers, and of no other.
pub(super) fn preamble(environment: &Environment) -> String {
    let mut text = format!("#extension {UNDEFINING} : enable\n");
    for name in COMPILER_EXTENSIONS {
        if !environment.offers(name) {
            text.extend(["#undef ", name, "\n"]);
        }
    }
    for name in EXTENSIONS {
        if environment.offers(name) && !COMPILER_EXTENSIONS.contains(&name) {
            text.extend(["#define ", name, " 1\n"]);
        }
    }
    text.push_str(PREAMBLE_END);
    text
}

/// The last line of the preamble, which stays when macros are expanded.
const PREAMBLE_END: &str = "#extension GL_EXT_spirv_intrinsics : disable\n";

/// The extension whose variables the compiler knows and whose name it does not.
const UNNAMED: &str = "GL_EXT_draw_buffers";

/// A source as the compiler takes it: directives for an extension that is offered and that it has no name for are
/// blank. Nothing else changes.
pub(super) fn without_unnamed<'a>(source: &'a str, environment: &Environment) -> Cow<'a, str> {
    if !environment.offers(UNNAMED) || !source.contains(UNNAMED) {
        return source.into();
    }
    let directive = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("extension")?;
        rest.trim_start().strip_prefix(UNNAMED)?.trim_start().starts_with(':').then_some(())
    };
    let lines = source.split_inclusive('\n').map(|line| if directive(line).is_some() { "\n" } else { line });
    lines.collect::<String>().into()
}

fn refuse<T>(line: usize, what: &str) -> Result<T, String> {
    Err(format!("ERROR: 0:{line}: {what}\n"))
}

/// Checks a source before the compiler sees it.
///
/// # Errors
/// An info log.
pub(super) fn check(source: &str) -> Result<(), String> {
    if source.len() > SOURCE_BYTES {
        return refuse(0, &format!("a source of {} bytes; {SOURCE_BYTES} are the most", source.len()));
    }
    if source.contains('\0') {
        return refuse(0, "a NUL character");
    }
    let joined = source.replace("\\\r\n", "").replace("\\\n", "");
    for (line, text) in (1..).zip(joined.lines()) {
        if text.trim_start().starts_with('#') && text.len() > DIRECTIVE_BYTES {
            return refuse(line, &format!("a directive longer than {DIRECTIVE_BYTES} bytes"));
        }
    }
    Macros::read(&joined).check(&joined)
}

/// Looks at a source without macros and comments: refuses what exceeds a bound or requires an extension that is not
/// offered, and leaves out directives for such extensions. The second text is a log of warnings.
///
/// # Errors
/// An info log.
pub(super) fn review(text: &str, environment: &Environment) -> Result<(String, String), String> {
    if text.len() > EXPANDED_BYTES {
        return refuse(0, &format!("a source of more than {EXPANDED_BYTES} bytes once macros are expanded"));
    }
    // Lines are counted from behind the preamble.
    let text = text.split_once(PREAMBLE_END).map_or(text, |(_, behind)| behind);
    let mut log = String::new();
    let mut kept = String::with_capacity(text.len());
    for (line, one) in (1..).zip(text.split_inclusive('\n')) {
        let Some(extension) = one.strip_prefix("#extension ") else {
            kept.push_str(one);
            continue;
        };
        let (name, behavior) = extension.split_once(':').unwrap_or((extension, ""));
        let (name, behavior) = (name.trim(), behavior.trim());
        let offered = environment.offers(name);
        if name == "all" || offered {
            kept.push_str(one);
            continue;
        }
        match behavior {
            "require" => return refuse(line, &format!("'{name}' : extension not supported")),
            "disable" => {}
            _ => {
                // Writing to a text cannot fail.
                let _ = writeln!(log, "WARNING: 0:{line}: '{name}' : extension not supported");
            }
        }
        kept.push('\n');
    }
    bounds(&kept)?;
    Ok((kept, log))
}

/// Checks nesting, statements and structures of a source without macros and comments.
fn bounds(text: &str) -> Result<(), String> {
    let mut structs: HashMap<&str, u64> = HashMap::new();
    let mut line = 1;
    let (mut depth, mut statement, mut bodies) = (0_usize, 0_usize, 0_usize);
    // Name, leaves so far, depth of its braces, the leaves of the member being declared.
    let mut open: Option<(&str, u64, usize, u64)> = None;
    let mut before = ["", ""];
    for token in tokens(text) {
        statement += 1;
        match token {
            "\n" => {
                line += 1;
                statement -= 1;
                continue;
            }
            "(" | "[" | "{" => {
                depth += 1;
                if depth > NESTING {
                    return refuse(line, &format!("brackets nested deeper than {NESTING}"));
                }
                if token == "{" {
                    statement = 0;
                    bodies += usize::from(before[1] == ")");
                    if before[0] == "struct" {
                        open = Some((before[1], 0, depth, 1));
                    }
                }
            }
            ")" | "]" | "}" => {
                if token == "}" {
                    statement = 0;
                    if let Some((name, leaves, _, _)) = open.take_if(|open| open.2 == depth) {
                        structs.insert(name, leaves);
                    }
                }
                depth = depth.saturating_sub(1);
            }
            ";" => statement = 0,
            "else" => bodies += 1,
            _ => {}
        }
        if let Some((_, leaves, at, member)) = &mut open
            && *at == depth
        {
            match token {
                // Declarators; an array's size is looked at with its closing bracket.
                "," | ";" => *leaves = leaves.saturating_add(*member),
                _ if structs.contains_key(token) => *member = structs[token],
                _ => {}
            }
            if token == "]" {
                // A size that is no number is a constant, and unknown here: the linker counts again.
                let size = before[1].parse::<u64>().unwrap_or(1);
                *member = member.saturating_mul(size.max(1));
            }
            if token == ";" {
                *member = 1;
            }
            if *leaves > STRUCT_LEAVES
                || *member > STRUCT_LEAVES && structs.values().any(|leaves| *leaves > 1)
            {
                return refuse(line, &format!("a structure of more than {STRUCT_LEAVES} members"));
            }
        }
        if statement > STATEMENT_TOKENS {
            return refuse(line, &format!("a statement of more than {STATEMENT_TOKENS} tokens"));
        }
        if bodies > BODIES {
            return refuse(line, &format!("more than {BODIES} functions and branches"));
        }
        before = [before[1], token];
    }
    Ok(())
}

/// Tokens of a text: words and numbers, line ends, and single characters.
fn tokens(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        text = text.trim_start_matches([' ', '\t', '\r']);
        let first = text.chars().next()?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = if word(first) { text.find(|c| !word(c)).unwrap_or(text.len()) } else { first.len_utf8() };
        let (token, rest) = text.split_at(len);
        text = rest;
        Some(token)
    })
}

/// A macro's definition.
struct Macro<'a> {
    /// Names of parameters; none for one that is no function.
    parameters: Option<Vec<&'a str>>,
    body: Vec<&'a str>,
}

/// How many tokens something expands to: so many, and so many times each parameter.
#[derive(Clone, Debug, Default)]
struct Size {
    own: u64,
    uses: Vec<u64>,
}

/// The macros of a source. Conditions are not looked at: every definition counts, and of several the largest.
struct Macros<'a> {
    defined: HashMap<&'a str, Vec<Macro<'a>>>,
    sizes: HashMap<&'a str, Option<Size>>,
}

/// What a macro that cannot be bounded is refused with.
const TANGLED: &str = "a macro that names a function-like macro without its arguments cannot be bounded";

impl<'a> Macros<'a> {
    fn read(source: &'a str) -> Self {
        let mut defined: HashMap<&str, Vec<Macro<'_>>> = HashMap::new();
        for line in source.lines() {
            let Some(rest) = line.trim_start().strip_prefix('#') else { continue };
            let Some(rest) = rest.trim_start().strip_prefix("define") else { continue };
            let rest = rest.split("//").next().unwrap_or(rest).trim();
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            let parameters = rest.strip_prefix('(').and_then(|list| list.split_once(')'));
            let one = match parameters {
                Some((list, body)) => Macro {
                    parameters: Some(list.split(',').map(str::trim).filter(|one| !one.is_empty()).collect()),
                    body: tokens(body).collect(),
                },
                None => Macro { parameters: None, body: tokens(rest).collect() },
            };
            defined.entry(name).or_default().push(one);
        }
        Self { defined, sizes: HashMap::new() }
    }

    fn check(mut self, source: &'a str) -> Result<(), String> {
        if self.defined.is_empty() {
            return Ok(());
        }
        let text: Vec<&str> = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("#define"))
            .flat_map(tokens)
            .collect();
        let size = self.expand(&text, &[]).or_else(|what| refuse(0, what))?;
        if size.own > EXPANDED_TOKENS {
            return refuse(0, &format!("macros that may expand to more than {EXPANDED_TOKENS} tokens"));
        }
        Ok(())
    }

    fn is_function(&self, name: &str) -> bool {
        self.defined.get(name).is_some_and(|all| all.iter().any(|one| one.parameters.is_some()))
    }

    /// The size of a macro, with a use for each parameter; that of one which is being sized is a token.
    fn size(&mut self, name: &'a str) -> Result<Size, &'static str> {
        if let Some(known) = self.sizes.get(name) {
            return Ok(known.clone().unwrap_or(Size { own: 1, uses: Vec::new() }));
        }
        self.sizes.insert(name, None);
        let definitions = self.defined.remove(name).unwrap_or_default();
        let mut all = Size { own: 1, uses: Vec::new() };
        for one in &definitions {
            // Its parentheses would come from behind it.
            let dangling = one.body.last().is_some_and(|last| self.is_function(last));
            if dangling && one.body.len() > 1 {
                return Err(TANGLED);
            }
            let parameters = one.parameters.as_deref().unwrap_or(&[]);
            let size = match one.body.as_slice() {
                [alias] if dangling => self.size(alias)?,
                body => self.expand(body, parameters)?,
            };
            all.own = all.own.max(size.own);
            let uses = all.uses.len().max(size.uses.len());
            all.uses.resize(uses, 0);
            for (most, this) in all.uses.iter_mut().zip(size.uses) {
                *most = this.max(*most);
            }
        }
        self.defined.insert(name, definitions);
        self.sizes.insert(name, Some(all.clone()));
        Ok(all)
    }

    /// The size of tokens, among which parameters may be.
    fn expand(&mut self, text: &[&'a str], parameters: &[&str]) -> Result<Size, &'static str> {
        let mut sum = Size { own: 0, uses: vec![0; parameters.len()] };
        let mut at = 0;
        while let Some(token) = text.get(at) {
            at += 1;
            if let Some(index) = parameters.iter().position(|one| one == token) {
                sum.uses[index] = sum.uses[index].saturating_add(1);
                continue;
            }
            if !self.defined.contains_key(token) && !self.sizes.contains_key(token) {
                sum.own = sum.own.saturating_add(1);
                continue;
            }
            let size = self.size(token)?;
            sum.own = sum.own.saturating_add(size.own);
            if size.uses.is_empty() {
                continue;
            }
            let mut behind = at;
            while text.get(behind) == Some(&"\n") {
                behind += 1;
            }
            if text.get(behind) != Some(&"(") {
                continue;
            }
            let (arguments, end) = arguments(text, behind + 1);
            at = end;
            for (index, argument) in arguments.into_iter().enumerate() {
                if let [name] = argument
                    && self.is_function(name)
                {
                    return Err(TANGLED);
                }
                let uses = size.uses.get(index).copied().unwrap_or(0).max(1);
                let argument = self.expand(argument, parameters)?;
                sum.own = sum.own.saturating_add(argument.own.saturating_mul(uses));
                for (total, this) in sum.uses.iter_mut().zip(argument.uses) {
                    *total = total.saturating_add(this.saturating_mul(uses));
                }
            }
        }
        Ok(sum)
    }
}

/// The arguments that begin at a token, and the token behind their closing parenthesis.
fn arguments<'t, 'a>(text: &'t [&'a str], start: usize) -> (Vec<&'t [&'a str]>, usize) {
    let mut arguments = Vec::new();
    let (mut depth, mut first) = (0, start);
    for (at, token) in text.iter().enumerate().skip(start) {
        match *token {
            "(" => depth += 1,
            ")" if depth == 0 => {
                arguments.push(&text[first..at]);
                return (arguments, at + 1);
            }
            ")" => depth -= 1,
            "," if depth == 0 => {
                arguments.push(&text[first..at]);
                first = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(&text[first..]);
    (arguments, text.len())
}
