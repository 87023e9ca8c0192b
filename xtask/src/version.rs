//! Versions as programs print them.

/// The first dotted number in a text: `rustc 1.95.0 (…)` gives 1, 95, 0; `v20.19.1` gives 20, 19, 1.
pub(crate) fn version_in(text: &str) -> Vec<u32> {
    let numbered = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut words = text.split_whitespace().map(|word| word.strip_prefix('v').unwrap_or(word));
    let version = words.find(numbered).unwrap_or_default();
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version_in("rustc 1.95.0 (59807616e 2026-04-14)"), [1, 95, 0]);
        assert_eq!(version_in("v20.19.1\n"), [20, 19, 1]);
        assert!(version_in("rustc 1.95.0") >= version_in("1.95"));
        assert!(version_in("rustc 1.100.0-nightly") > version_in("1.95"));
        assert!(version_in("rustc 1.94.1") < version_in("1.95"));
        assert!(version_in("not found") < version_in("20.19"));
    }
}
