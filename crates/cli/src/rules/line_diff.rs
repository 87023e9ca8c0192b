//! What differs between two texts, line by line.

/// Most lines of a text that are compared one by one; of longer ones, what differs is shown whole.
const LINES_MAX: usize = 1_000;

/// A line of either text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
}

/// Every line, in order: of a longest common subsequence once, of the rest as removed or added.
pub(super) fn between<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if before.len() > LINES_MAX || after.len() > LINES_MAX {
        let removed = before.into_iter().map(Line::Removed);
        return removed.chain(after.into_iter().map(Line::Added)).collect();
    }
    let lengths = common_lengths(&before, &after);
    let length = |i: usize, j: usize| lengths.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                lines.push(Line::Same(old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || length(i + 1, j) >= length(i, j + 1) => {
                lines.push(Line::Removed(old));
                i += 1;
            }
            (_, Some(new)) => {
                lines.push(Line::Added(new));
                j += 1;
            }
            _ => return lines,
        }
    }
}

/// How many lines the rests of both texts from there on have in common.
fn common_lengths(before: &[&str], after: &[&str]) -> Vec<Vec<u32>> {
    let mut rows = vec![vec![0; after.len() + 1]];
    for old in before.iter().rev() {
        let mut row = vec![0; after.len() + 1];
        if let Some(below) = rows.last() {
            for (j, new) in after.iter().enumerate().rev() {
                let skipped = row[j + 1].max(below[j]);
                row[j] = if old == new { below[j + 1] + 1 } else { skipped };
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_have_is_told_once() {
        use Line::{Added, Removed, Same};
        assert_eq!(
            between("name: a\nrate: 5/s\nburst: 10\n", "name: a\nrate: 1/s\nburst: 10\nmode: shadow\n"),
            [
                Same("name: a"),
                Removed("rate: 5/s"),
                Added("rate: 1/s"),
                Same("burst: 10"),
                Added("mode: shadow")
            ]
        );
        assert_eq!(between("", "a"), [Added("a")]);
        assert_eq!(between("a\nb", "b"), [Removed("a"), Same("b")]);
        assert_eq!(between("a", "a"), [Same("a")]);
    }

    #[test]
    fn both_texts_can_be_told_from_the_lines() {
        let (before, after) = ("a\nb\nc\nd\nb", "b\nd\ne\nb\nb");
        let lines = between(before, after);
        let of = |keep: fn(&Line<'_>) -> bool| {
            let kept = lines.iter().copied().filter(keep).map(|line| match line {
                Line::Same(text) | Line::Removed(text) | Line::Added(text) => text,
            });
            kept.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(of(|line| !matches!(line, Line::Added(_))), before);
        assert_eq!(of(|line| !matches!(line, Line::Removed(_))), after);
    }
}
