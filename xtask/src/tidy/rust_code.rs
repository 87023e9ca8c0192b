//! Blanks out what is not code in a Rust file: comments, strings and characters.
//!
//! Lines keep their numbers. It is no parser: it only has to know where prose begins and ends.

/// The same text with every comment and literal replaced by spaces.
pub(super) fn blank_out_prose(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(next) = rest.chars().next() {
        let prose_bytes = length_of_prose(rest, code.chars().next_back());
        if prose_bytes == 0 {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            let (prose, after) = rest.split_at(prose_bytes);
            code.extend(prose.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// Length in bytes of the comment or literal that `text` starts with; 0 if it starts with code.
fn length_of_prose(text: &str, before: Option<char>) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return length_of_block_comment(text);
    }
    if text.starts_with('"') {
        return length_of_quoted(text, '"');
    }
    if text.starts_with('\'') {
        return length_of_character(text);
    }
    let inside_a_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if inside_a_word { 0 } else { length_of_raw_string(text) }
}

/// `/* … */`, which nests.
fn length_of_block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// From one quote to the next that has no backslash before it.
fn length_of_quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `'x'` or `'\n'`; a lifetime such as `'a` is code.
fn length_of_character(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => length_of_quoted(text, '\''),
        _ => 0,
    }
}

/// `r"…"`, `r#"…"#`, `br#"…"#`, `cr#"…"#`; a raw name such as `r#type` is code.
fn length_of_raw_string(text: &str) -> usize {
    let Some(after_r) = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix)) else {
        return 0;
    };
    let body = after_r.trim_start_matches('#');
    if !body.starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(after_r.len() - body.len()));
    let body_start = text.len() - body.len() + 1;
    text[body_start..].find(&end).map_or(text.len(), |at| body_start + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::blank_out_prose;

    fn check(text: &str, expected: &str) {
        let code = blank_out_prose(text);
        assert_eq!(code.lines().count(), text.lines().count());
        let words: Vec<&str> = code.split_whitespace().collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn comments_are_no_code() {
        check("a // f64\n/// f64\nb /* f64 /* f64 */ f64\n */ c", "a b c");
    }

    #[test]
    fn strings_are_no_code() {
        check(r#"a("f64 \" f64", b"f64"); c"#, "a( , b ); c");
        check("a(\"f64 // f64\"); b // f64", "a( ); b");
        check(r##"a(r#"f64 " f64"#, br"f64\"); b"##, "a( , ); b");
    }

    #[test]
    fn characters_are_no_code_but_lifetimes_are() {
        check(r#"match c { '"' => f64, '\'' => 'a' } // f64"#, "match c { => f64, => }");
        check("fn f<'a>(x: &'a str) -> &'static f64", "fn f<'a>(x: &'a str) -> &'static f64");
    }

    #[test]
    fn raw_names_are_code() {
        check("let r#type = bar; \"f64\"", "let r#type = bar;");
    }
}
