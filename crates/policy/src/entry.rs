//! A rule or a group that is kept in a database: as text, exactly what a policy file could list under `rules`.

/// One full rule, or one group, with its name. Stands in for the rule or group of that name in the file, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// That of its rule or group. Unique among entries.
    pub name: String,
    /// YAML or JSON of one rule or one group; [`Entry::parse`] says what is best stored.
    pub text: String,
    /// Whether its rules are enforced. If not, they are `off`, and so is the rule of the file that it stands in for.
    pub is_active: bool,
}
