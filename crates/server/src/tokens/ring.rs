//! The key ring: what the keys of a policy are made of, and the verifier that they make. Never changed in part: a ring is replaced
//! by another, or stays as it is.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;
use tollgate::jwt::{JwtKeyError, JwtKeyProblem, KeyMaterial, ToFetch, Verifier, read_key_material};
use tollgate::policy::{JwtKey, JwtSettings};

use super::endpoint::Endpoint;

/// What a policy's keys are made of. Empty if the policy names none.
#[derive(Default, PartialEq, Eq)]
pub(super) struct Ring {
    settings: Option<Arc<JwtSettings>>,
    /// From files and the environment.
    read: Arc<[KeyMaterial]>,
    fetched: Vec<KeySet>,
}

/// A key set that is fetched.
#[derive(Clone, PartialEq, Eq)]
struct KeySet {
    source: Arc<KeySource>,
    /// None until it came for the first time.
    text: Option<Arc<str>>,
    /// Whether it could not be fetched the last time.
    is_failing: bool,
}

/// Where a key set is fetched from.
pub(super) struct KeySource {
    to_fetch: ToFetch,
    pub(super) endpoint: Endpoint,
    /// Somebody has use for a fresh set.
    pub(super) wanted: Notify,
    was_attempted: AtomicBool,
}

/// What a check looks at.
pub(super) struct Keys {
    pub(super) settings: Arc<JwtSettings>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) sources: Vec<Arc<KeySource>>,
    /// Key sets that have not come yet.
    pub(super) waiting: usize,
    /// Key sets that came, and could not be fetched again.
    pub(super) failing: usize,
}

impl Ring {
    /// The ring of these settings. Key sets that were fetched before are kept, by their address.
    pub(super) fn read(settings: Option<&JwtSettings>, before: &Ring) -> Result<Ring, JwtKeyError> {
        let Some(settings) = settings else { return Ok(Ring::default()) };
        let (read, to_fetch) = read_key_material(settings)?;
        let mut fetched: Vec<KeySet> = Vec::new();
        for to_fetch in to_fetch {
            // The same set twice is the same set.
            if fetched.iter().all(|set| set.source.to_fetch.url != to_fetch.url) {
                fetched.push(before.key_set(to_fetch)?);
            }
        }
        Ok(Ring { settings: Some(Arc::new(settings.clone())), read: read.into(), fetched })
    }

    fn key_set(&self, to_fetch: ToFetch) -> Result<KeySet, JwtKeyError> {
        let known = self.fetched.iter().find(|set| set.source.to_fetch.url == to_fetch.url);
        Ok(match known {
            Some(known) if known.source.to_fetch == to_fetch => known.clone(),
            Some(known) => KeySet { source: KeySource::new(to_fetch)?, ..known.clone() },
            None => KeySet { source: KeySource::new(to_fetch)?, text: None, is_failing: false },
        })
    }

    /// The same with what was fetched. Nothing changes if the policy has given the source up.
    pub(super) fn with_fetched(&self, source: &Arc<KeySource>, text: &str) -> Ring {
        let mut fetched = self.fetched.clone();
        if let Some(set) = fetched.iter_mut().find(|set| Arc::ptr_eq(&set.source, source)) {
            set.text = Some(text.into());
            set.is_failing = false;
        }
        Ring { settings: self.settings.clone(), read: Arc::clone(&self.read), fetched }
    }

    pub(super) fn has_set(&self, source: &Arc<KeySource>) -> bool {
        self.fetched.iter().any(|set| Arc::ptr_eq(&set.source, source) && set.text.is_some())
    }

    pub(super) fn note_failure(&mut self, source: &Arc<KeySource>) {
        if let Some(set) = self.fetched.iter_mut().find(|set| Arc::ptr_eq(&set.source, source)) {
            set.is_failing = true;
        }
    }

    /// The keys that it makes; none if no key is named.
    pub(super) fn keys(&self) -> Result<Option<Keys>, JwtKeyError> {
        let Some(settings) = &self.settings else { return Ok(None) };
        let came = self.fetched.iter().filter_map(|set| {
            set.text.as_ref().map(|text| KeyMaterial::jwks(&set.source.to_fetch.source, text))
        });
        let material: Vec<KeyMaterial> = self.read.iter().cloned().chain(came).collect();
        let verifier = Arc::new(Verifier::new(settings, &material)?);
        let (settings, sources) = (Arc::clone(settings), self.sources());
        Ok(Some(self.counted(&Keys { settings, verifier, sources, waiting: 0, failing: 0 })))
    }

    /// The same keys with what is known of their freshness now.
    pub(super) fn counted(&self, keys: &Keys) -> Keys {
        let waiting = self.fetched.iter().filter(|set| set.text.is_none()).count();
        let failing = self.fetched.iter().filter(|set| set.text.is_some() && set.is_failing).count();
        let (settings, verifier) = (Arc::clone(&keys.settings), Arc::clone(&keys.verifier));
        Keys { settings, verifier, sources: keys.sources.clone(), waiting, failing }
    }

    pub(super) fn sources(&self) -> Vec<Arc<KeySource>> {
        self.fetched.iter().map(|set| Arc::clone(&set.source)).collect()
    }

    /// The files that it was read from.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        files(self.settings.as_deref())
    }
}

/// The files that the settings name.
pub(super) fn files(settings: Option<&JwtSettings>) -> Vec<PathBuf> {
    let keys = settings.map(|settings| settings.keys.as_slice()).unwrap_or_default();
    let files = keys.iter().filter_map(|key| match key {
        JwtKey::PemFile { path, .. } | JwtKey::JwksFile(path) => Some(PathBuf::from(&**path)),
        JwtKey::SecretFromEnv { .. } | JwtKey::JwksUrl(_) => None,
    });
    files.collect()
}

impl KeySource {
    pub(super) fn new(to_fetch: ToFetch) -> Result<Arc<KeySource>, JwtKeyError> {
        let endpoint = Endpoint::of(&to_fetch.url).map_err(|why| JwtKeyError {
            source: to_fetch.source.clone(),
            problem: JwtKeyProblem::UnusableUrl(why.into()),
        })?;
        let (wanted, was_attempted) = (Notify::new(), AtomicBool::new(false));
        Ok(Arc::new(KeySource { to_fetch, endpoint, wanted, was_attempted }))
    }

    /// What logs call it: the field, and the address.
    pub(super) fn name(&self) -> &str {
        &self.to_fetch.source
    }

    pub(super) fn was_attempted(&self) -> bool {
        self.was_attempted.load(Ordering::Relaxed)
    }

    pub(super) fn note_attempt(&self) {
        self.was_attempted.store(true, Ordering::Relaxed);
    }
}

/// A source is where it is, whatever has happened to it.
impl PartialEq for KeySource {
    fn eq(&self, other: &KeySource) -> bool {
        self.to_fetch == other.to_fetch
    }
}

impl Eq for KeySource {}
