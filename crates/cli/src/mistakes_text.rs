//! The mistakes in a policy or a file of cases, as the parser prints them, in colour where there is some.

use tollgate::policy::Mistakes;

use crate::screen::Ink;

/// Mistakes with the places, the carets and the labels set off. The last line is not ended.
pub(crate) fn painted(mistakes: &Mistakes, ink: Ink) -> String {
    let text = mistakes.to_string();
    let mut is_first = true;
    let lines = text.lines().map(|line| {
        let trimmed = line.trim_start();
        let painted = match trimmed.strip_prefix("| ") {
            _ if is_first && !line.is_empty() => ink.heading(line),
            Some(carets) if carets.trim_start().starts_with('^') => {
                let margin = line.len() - carets.len();
                format!("{}{}", ink.faint(&line[..margin]), ink.denied(carets))
            }
            _ if trimmed.starts_with("= ") || trimmed == "|" => match line.split_once(": ") {
                Some((label, said)) => format!("{} {said}", ink.faint(&format!("{label}:"))),
                None => ink.faint(line),
            },
            _ => line.to_owned(),
        };
        is_first = line.is_empty();
        painted
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use tollgate::policy::Policy;

    use super::*;

    fn shown(ink: Ink) -> String {
        painted(&Policy::parse("p.yaml", "{name: x, burts: 5}").unwrap_err(), ink)
    }

    #[test]
    fn without_colour_they_are_as_the_parser_prints_them() {
        let mistakes = Policy::parse("p.yaml", "{name: x, burts: 5}").unwrap_err();
        assert_eq!(shown(Ink::Plain), mistakes.to_string());
    }

    #[test]
    fn colour_adds_escapes_and_changes_no_word() {
        let mut plain = shown(Ink::Coloured);
        for escape in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m"] {
            assert!(plain.contains(escape), "{plain:?}");
            plain = plain.replace(escape, "");
        }
        assert_eq!(plain, shown(Ink::Plain));
    }
}
