//! What a verb has to show, and whether all is well.

/// The result of a verb: goes to stdout, whole.
#[derive(Debug)]
pub(crate) struct Page {
    /// Every line ended; may be empty.
    pub(crate) text: String,
    /// Whether the command ends with exit code 0; if not, with 1.
    pub(crate) is_good: bool,
}

impl Page {
    /// All is well.
    pub(crate) fn good(text: String) -> Page {
        Page { text, is_good: true }
    }
}
