//! Whether a text is well-formed XML, as far as our pictures go: elements, attributes, text and the five entities.
//!
//! Stricter than XML where it is easier: no comments, no CDATA, no processing instructions, all attributes in double quotes.

/// The first fault, if there is one.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let (mut open, mut rest) = (Vec::new(), text.trim_end());
    let mut roots = 0;
    while !rest.is_empty() {
        let Some(content) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            if open.is_empty() {
                return Err(format!("text outside of the root: {:?}", &rest[..end]));
            }
            check_text(&rest[..end])?;
            rest = &rest[end..];
            continue;
        };
        let end = content.find('>').ok_or("a tag without an end")?;
        let (tag, after) = (&content[..end], &content[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let opened: Option<&str> = open.pop();
            if opened != Some(name) {
                return Err(format!("</{name}> closes {opened:?}"));
            }
            continue;
        }
        roots += usize::from(open.is_empty());
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(char::is_alphanumeric) {
            return Err(format!("no name of an element: {name:?}"));
        }
        check_attributes(attributes)?;
        if !is_empty {
            open.push(name);
        }
    }
    if open.is_empty() && roots == 1 { Ok(()) } else { Err(format!("{roots} roots, left open: {open:?}")) }
}

/// `name="value"`, any number of them, none twice.
fn check_attributes(mut rest: &str) -> Result<(), String> {
    let mut names = Vec::new();
    while !rest.trim_start().is_empty() {
        let fault = || format!("no attribute: {rest:?}");
        let (name, value) = rest.trim_start().split_once("=\"").ok_or_else(fault)?;
        let (value, after) = value.split_once('"').ok_or_else(fault)?;
        if names.contains(&name) || name.contains([' ', '"', '<']) || value.contains('<') {
            return Err(fault());
        }
        check_text(value)?;
        names.push(name);
        rest = after;
    }
    Ok(())
}

/// Every `&` begins one of the five entities.
fn check_text(text: &str) -> Result<(), String> {
    let entities = ["amp;", "lt;", "gt;", "quot;", "apos;"];
    for (at, _) in text.match_indices('&') {
        if !entities.iter().any(|entity| text[at + 1..].starts_with(entity)) {
            return Err(format!("a bare & in {text:?}"));
        }
    }
    Ok(())
}

#[test]
fn faults_are_found() {
    assert_eq!(check("<a b=\"1\"><c/>x &amp; y</a>\n"), Ok(()));
    for faulty in [
        "",
        "<a>",
        "<a></b>",
        "<a b=1/>",
        "<a b=\"1\" b=\"2\"/>",
        "<a>&</a>",
        "<a/><b/>",
        "x<a/>",
        "<a",
        "<a b=\"<\"/>",
    ] {
        assert!(check(faulty).is_err(), "{faulty}");
    }
}
