//! What is sent to the server.

use crate::Script;

/// One call of a script: `EVALSHA sha numkeys key… argument…`, and `EVAL` with its text when the server answers `NOSCRIPT`.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which script.
    pub script: &'static Script,
    /// Its keys, each once. In Cluster all must be of one slot.
    pub keys: Vec<Vec<u8>>,
    /// Its arguments.
    pub arguments: Vec<Vec<u8>>,
}

impl Call {
    /// The same at a moment of the caller's choosing, in microseconds since 1970. For tests alone: in production the server's
    /// clock is the only one.
    #[must_use]
    pub fn at_micros(mut self, now: u64) -> Call {
        if let Some(time) = self.arguments.get_mut(1) {
            *time = now.to_string().into_bytes();
        }
        self
    }

    /// The words of `EVALSHA`, the command included.
    pub fn evalsha(&self) -> Vec<Vec<u8>> {
        self.words("EVALSHA", self.script.sha())
    }

    /// The words of `EVAL`, for a server that does not know the script yet. It will afterwards.
    pub fn eval(&self) -> Vec<Vec<u8>> {
        self.words("EVAL", self.script.text())
    }

    fn words(&self, command: &str, script: &str) -> Vec<Vec<u8>> {
        let mut words = Vec::with_capacity(3 + self.keys.len() + self.arguments.len());
        words.extend([command, script, &self.keys.len().to_string()].map(|word| word.as_bytes().to_vec()));
        words.extend(self.keys.iter().chain(&self.arguments).cloned());
        words
    }
}
