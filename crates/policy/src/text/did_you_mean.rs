//! The known word that was probably meant.

/// Longer words are not compared: the work grows with the square.
const WORD_CHARS_MAX: usize = 40;

/// The one of `known` that is nearest to what was typed, if it is near: one slip in three characters.
pub(super) fn nearest<'k>(typed: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let typed = flat(typed);
    if typed.len() > WORD_CHARS_MAX || typed.is_empty() {
        return None;
    }
    let slips_max = typed.len().div_ceil(3).min(3);
    let near = known.into_iter().map(|word| (slips(&typed, &flat(word)), word));
    near.filter(|(slips, _)| *slips <= slips_max).min_by_key(|(slips, _)| *slips).map(|(_, word)| word)
}

/// ` Did you mean `x`?`-like beginning of a cure, or the list of all.
pub(super) fn cure(typed: &str, known: &[&str]) -> String {
    match nearest(typed, known.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("write one of {}", listed(known)),
    }
}

/// `` `a`, `b` or `c` ``.
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Small letters and digits alone: `Rate-Limit` and `rate_limit` are no slip apart.
pub(super) fn flat(word: &str) -> Vec<char> {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Characters to add, drop, replace or swap with their neighbour.
fn slips(a: &[char], b: &[char]) -> usize {
    let (mut before, mut above): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        (before, above) = (above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_stranger_is_not() {
        let known = ["burst", "rate", "limit_keys", "match"];
        assert_eq!(nearest("brust", known), Some("burst"));
        assert_eq!(nearest("limitKeys", known), Some("limit_keys"));
        assert_eq!(nearest("Match", known), Some("match"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }

    #[test]
    fn words_are_listed_as_people_do() {
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
