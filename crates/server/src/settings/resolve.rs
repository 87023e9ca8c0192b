//! Which value of each setting counts, and who said it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::known::{LATER, MEMORY_ONLY};
use super::{KNOWN, Known, Origin, SettingsError, file, records, secret, store};

/// Variables that Kubernetes sets for a service of the name `tollgate`; nobody's settings.
const OF_KUBERNETES: [&str; 4] = ["_SERVICE_HOST", "_SERVICE_PORT", "TOLLGATE_PORT", "_TCP"];

/// Variables of the commands that ask a server; no settings of one.
const OF_COMMANDS: [&str; 1] = ["TOLLGATE_ADMIN_URL"];

/// Where a store is, for whoever wants to know: the setting `store` unless somebody says otherwise.
const REDIS_URL: &str = "REDIS_URL";
/// The same for a database: the setting `records`.
const DATABASE_URL: &str = "DATABASE_URL";

/// Every setting with its value and origin.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// In the order of [`KNOWN`].
    pub values: Vec<Value>,
    /// What is likely not meant, each in one line.
    pub warnings: Vec<String>,
}

/// One setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// Which setting.
    pub known: &'static Known,
    /// As it was typed; `None` if it is nothing. Show it by [`Value::shown`].
    pub text: Option<String>,
    /// Who said so.
    pub origin: Origin,
}

impl Value {
    /// What may be printed of it.
    pub fn shown(&self) -> Cow<'_, str> {
        match &self.text {
            None => Cow::Borrowed(""),
            Some(_) if self.known.is_secret => Cow::Borrowed("********"),
            Some(text) if self.known.name == "store" => store::masked(text),
            Some(text) if self.known.name == "records" => records::masked(text),
            Some(text) => Cow::Borrowed(text),
        }
    }
}

/// Puts flags, environment and file together. `flags` are settings by name (`max_keys`, `resp_password_file`, and `config` for
/// the file) with their values, `environment` is all of the environment that is text.
pub fn resolve(
    flags: &[(&str, String)],
    environment: &BTreeMap<String, String>,
) -> Result<Resolved, SettingsError> {
    let mut resolved =
        Resolved { values: KNOWN.iter().map(Known::usual_value).collect(), warnings: Vec::new() };
    // What other programs are told, too, is the weakest word.
    let mut said_to_all = Vec::new();
    if let Some(url) = environment.get(REDIS_URL).filter(|url| !url.is_empty()) {
        said_to_all.push(("store".to_owned(), url.clone(), from_variable(REDIS_URL)));
    }
    match environment.get(DATABASE_URL).filter(|url| !url.is_empty()) {
        Some(url) if records::is_ours(url) => {
            said_to_all.push(("records".to_owned(), url.clone(), from_variable(DATABASE_URL)));
        }
        Some(_) => resolved.warnings.push(format!(
            "{DATABASE_URL} is no database that Tollgate knows and was passed over; records are at sqlite:PATH or postgres://…, by --records"
        )),
        None => {}
    }
    if let Some((folder, variable)) = records::usual_state_dir(environment) {
        said_to_all.push(("state_dir".to_owned(), folder, from_variable(variable)));
    }
    resolved.take(said_to_all.into_iter())?;
    let flagged = flags.iter().find(|(name, _)| *name == "config").map(|(_, path)| path);
    if let Some(path) = flagged.or_else(|| environment.get("TOLLGATE_CONFIG")) {
        let entries = file::read(path)?;
        resolved.take(
            entries.into_iter().map(|entry| {
                (entry.name, entry.value, Origin::File { path: path.clone(), line: entry.line })
            }),
        )?;
    }
    let mut known = Vec::new();
    for (variable, value) in environment {
        let Some(name) = variable.strip_prefix("TOLLGATE_").map(str::to_ascii_lowercase) else { continue };
        let setting = known_as(&name);
        let is_setting = setting.is_some() || LATER.iter().any(|(later, _)| *later == name);
        // An empty variable is as good as unset, unless it should hold or name a secret: then the secret is missing.
        if let Some((known, is_file)) = setting
            && (known.is_secret || is_file)
            && value.is_empty()
        {
            let what = if is_file { "the name of the secret's file" } else { "the secret" };
            let why = format!("the variable is set but empty; put {what} there, or unset the variable");
            return Err(SettingsError::value(&from_variable(variable), &name, "", &why));
        }
        if is_setting && !value.is_empty() {
            known.push((name, value.clone(), from_variable(variable)));
        } else if !is_setting && name != "config" && !is_anothers(variable) {
            resolved
                .warnings
                .push(format!("{variable} is no setting and was passed over; unset it, or check its name"));
        }
    }
    resolved.take(known.into_iter())?;
    let typed = flags.iter().filter(|(name, _)| *name != "config");
    resolved.take(typed.map(|(name, value)| {
        ((*name).to_owned(), value.clone(), Origin::Flag { flag: Known::flag(name) })
    }))?;
    resolved.file_in_state_dir();
    resolved.warn_of_memory_only();
    Ok(resolved)
}

fn from_variable(variable: &str) -> Origin {
    Origin::Environment { variable: variable.to_owned() }
}

impl Resolved {
    /// Records for which nobody has named a place are in the state directory; nowhere without one.
    fn file_in_state_dir(&mut self) {
        let state_dir = self.values.iter().find(|value| value.known.name == "state_dir");
        let state_dir = state_dir.and_then(|value| value.text.clone());
        if let Some(records) = self.values.iter_mut().find(|value| value.known.name == "records")
            && records.text.is_none()
        {
            records.text = Some(records::usual(state_dir.as_deref()));
        }
    }

    /// Warns of settings that have no effect, since the buckets are not in memory.
    fn warn_of_memory_only(&mut self) {
        if !matches!(self.read("store", store::Store::parse), Ok(store::Store::Shared(_))) {
            return;
        }
        let is_set = |value: &&Value| {
            MEMORY_ONLY.contains(&value.known.name) && !matches!(value.origin, Origin::Default)
        };
        let warnings = self.values.iter().filter(is_set).map(|value| {
            let place = SettingsError::place(&value.origin, value.known.name);
            format!("{place} has no effect with a shared store: it applies to memory only; leave it out")
        });
        self.warnings.extend(warnings.collect::<Vec<_>>());
    }

    /// Takes over what one of them says: it beats all that was said before.
    fn take(&mut self, said: impl Iterator<Item = (String, String, Origin)>) -> Result<(), SettingsError> {
        let mut seen: Vec<&str> = Vec::new();
        for (name, value, origin) in said {
            let Some((known, is_file)) = known_as(&name) else { return Err(unknown(&name, &value, &origin)) };
            if seen.contains(&known.name) {
                let why =
                    format!("the secret itself is given besides; keep one of `{}` and `{name}`", known.name);
                return Err(SettingsError::value(
                    &origin,
                    &name,
                    if is_file { &value } else { "********" },
                    &why,
                ));
            }
            seen.push(known.name);
            let text = if is_file {
                let read = secret::read(&value);
                read.map_err(|why| SettingsError::value(&origin, &name, &value, &why))?
            } else {
                value.clone()
            };
            if known.is_secret && text.is_empty() {
                let why = if is_file {
                    "the file is empty; write the secret into it, or leave the setting out"
                } else {
                    "the secret is empty; write one, or remove the setting"
                };
                // The name of the file, or nothing.
                return Err(SettingsError::value(&origin, &name, &value, why));
            }
            if let Some(place) = self.values.iter_mut().find(|value| value.known == known) {
                *place = Value { known, text: Some(text), origin };
            }
        }
        Ok(())
    }
}

/// The setting of this name, and whether the name is that of the file which holds it.
fn known_as(name: &str) -> Option<(&'static Known, bool)> {
    let of_file = || KNOWN.iter().find(|known| known.has_file && known.file_name() == name);
    Known::named(name).map(|known| (known, false)).or_else(|| of_file().map(|known| (known, true)))
}

/// Whether a variable with our prefix is meant for somebody else.
fn is_anothers(variable: &str) -> bool {
    OF_COMMANDS.contains(&variable) || OF_KUBERNETES.iter().any(|it| variable.contains(it))
}

fn unknown(name: &str, value: &str, origin: &Origin) -> SettingsError {
    if let Some((_, what)) = LATER.iter().find(|(later, _)| *later == name) {
        return SettingsError::value(
            origin,
            name,
            value,
            &format!("nothing in this build {what} yet; leave it out"),
        );
    }
    let names: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
    let why = format!("there is no such setting; there are {}", names.join(", "));
    SettingsError::value(origin, name, value, &why)
}
