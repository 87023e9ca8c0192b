//! What is compared of a transcript: everything but times, numbers of tokens, hashes, and counts of what goes on meanwhile.

/// Commands that show counts of what goes on meanwhile: whole numbers and decimals that stand by themselves are not compared.
const COUNTING: [&str; 9] = [
    "tollgate top",
    "tollgate keys top",
    "tollgate keys get",
    "tollgate keys reset",
    "tollgate keys grant",
    "tollgate violations",
    "tollgate rules list",
    "tollgate rules get",
    "/metrics",
];

/// The words of each line, with `#` for what differs from run to run. Columns are as wide as their cells make them.
pub(crate) fn form(typed: &str, lines: &[String]) -> Vec<Vec<String>> {
    let is_counting = COUNTING.iter().any(|command| typed.contains(command));
    let compared = |line: &String| {
        // A cursor stands at the end.
        let line = line.split_once("--cursor ").map_or(line.as_str(), |(before, _)| before);
        line.split_whitespace().map(|word| of_word(word, is_counting)).collect()
    };
    lines.iter().map(compared).collect()
}

fn of_word(word: &str, is_counting: bool) -> String {
    let plain = word.trim_end_matches([')', ',']);
    let is_number = plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_time(word) || is_token(word) || is_counting && is_number {
        return "#".to_owned();
    }
    let mut word = word.to_owned();
    for (before, after) in [("\"hash\":\"", '"'), ("hash=\"", '"'), ("\"version\":", ','), ("version=", ' ')]
    {
        if let Some((head, tail)) = word.split_once(before) {
            let tail = tail.find(after).map_or("", |end| &tail[end..]);
            word = format!("{head}{before}#{tail}");
        }
    }
    word
}

/// As in `2026-11-16T06:07:08Z`, whatever stands behind the seconds.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 20 && bytes[4] == b'-' && bytes[10] == b'T' && bytes[13] == b':' && word.contains('Z')
}

/// The number of a token, in parentheses where it signs.
fn is_token(word: &str) -> bool {
    let word = word.trim_start_matches('(').trim_end_matches(')');
    word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
