//! One figure as a card: title, takeaway, plot with its axes, and a legend beside it.
//!
//! Widths of words are estimated, since no font is at hand; margins are generous enough for every usual one.

use std::fmt::Write;

use tollgate::Moment;

use super::super::figure::{Figure, Line, Point};
use super::super::prose::broken;
use super::super::{amounts, ticks};
use super::markup::{Tenths, escaped};
use super::{MARGIN, WIDTH, style};

/// Pixels, from the left edge of the picture.
const PLOT_LEFT: u64 = 104;
const PLOT_RIGHT: u64 = 630;
const LEGEND_LEFT: u64 = 654;
/// Pixels, downwards from the top of the card.
const HEADING_BASE: u64 = 32;
const WORDS_BASE: u64 = 56;
const WORDS_LINE: u64 = 18;
const WORDS_COLUMNS: usize = 128;
/// Above the plot, room for notes.
const NOTES: u64 = 34;
const PLOT_HEIGHT: u64 = 250;
/// Below the plot, labels and the name of the axis.
const BELOW: u64 = 56;
const LEGEND_LINE: u64 = 37;
const TICKS_ACROSS_MAX: u64 = 9;
const TICKS_UP_MAX: u64 = 6;

/// Of the whole card, in pixels.
pub(super) fn height(figure: &Figure) -> u64 {
    plot_top(figure) + PLOT_HEIGHT + BELOW
}

fn plot_top(figure: &Figure) -> u64 {
    WORDS_BASE + words(figure).lines().count() as u64 * WORDS_LINE + NOTES - WORDS_LINE
}

fn words(figure: &Figure) -> String {
    broken(&figure.takeaway, WORDS_COLUMNS)
}

/// The card whose upper edge is at `top`.
pub(super) fn write(svg: &mut String, figure: &Figure, top: Tenths) {
    let (wide, high) = (WIDTH - 2 * MARGIN, height(figure));
    let _ = writeln!(
        svg,
        "<rect class=\"card\" x=\"{MARGIN}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" rx=\"10\"/>"
    );
    let left = MARGIN + 20;
    text(svg, "heading", "start", (Tenths::pixels(left), top + Tenths::pixels(HEADING_BASE)), figure.title);
    for (number, line) in (0..).zip(words(figure).lines()) {
        let base = top + Tenths::pixels(WORDS_BASE + number * WORDS_LINE);
        text(svg, "words", "start", (Tenths::pixels(left), base), line);
    }
    let plot = Plot::of(figure, top + Tenths::pixels(plot_top(figure)));
    plot.write_axes(svg);
    plot.write_notes(svg);
    for line in &figure.lines {
        plot.write_line(svg, line);
    }
    for (number, line) in (0..).zip(&figure.lines) {
        write_legend(svg, line, plot.top + Tenths::pixels(number * LEGEND_LINE));
    }
}

/// Where amounts and moments are on the picture.
struct Plot<'f> {
    figure: &'f Figure,
    top: Tenths,
    bottom: Tenths,
    /// What the upper edge stands for: a round number, at least the highest point.
    ceiling: u64,
}

impl<'f> Plot<'f> {
    fn of(figure: &'f Figure, top: Tenths) -> Plot<'f> {
        let highest = u128::from(figure.top());
        let step = ticks::round_step(highest.div_ceil(u128::from(TICKS_UP_MAX - 1)));
        let ceiling = u64::try_from(highest.div_ceil(step) * step).unwrap_or(u64::MAX);
        Plot { figure, top, bottom: top + Tenths::pixels(PLOT_HEIGHT), ceiling }
    }

    fn x(&self, at: Moment) -> Tenths {
        let after = u128::from(at.since(self.figure.from).as_nanos());
        Tenths::pixels(PLOT_LEFT)
            + Tenths::pixels(PLOT_RIGHT - PLOT_LEFT).share(after, u128::from(self.figure.length()))
    }

    fn y(&self, amount: u64) -> Tenths {
        self.bottom - Tenths::pixels(PLOT_HEIGHT).share(u128::from(amount), u128::from(self.ceiling))
    }

    fn write_axes(&self, svg: &mut String) {
        let Plot { figure, bottom, .. } = self;
        let (left, right) = (Tenths::pixels(PLOT_LEFT), Tenths::pixels(PLOT_RIGHT));
        for tick in ticks::between(0, self.ceiling, TICKS_UP_MAX) {
            let y = self.y(tick);
            stroke(svg, if tick == 0 { "axis" } else { "grid" }, (left, y), (right, y));
            let label = amounts::short_tokens(u128::from(tick), 1);
            text(svg, "small", "end", (left - Tenths::pixels(8), y + Tenths::pixels(4)), &label);
        }
        for nanos in ticks::between(figure.from.as_nanos(), figure.to.as_nanos(), TICKS_ACROSS_MAX) {
            let x = self.x(Moment::from_nanos(nanos));
            stroke(svg, "axis", (x, *bottom), (x, *bottom + Tenths::pixels(5)));
            let label = amounts::rounded(u128::from(nanos), 1_000_000_000, 9);
            text(svg, "small", "middle", (x, *bottom + Tenths::pixels(20)), &label);
        }
        let middle = left + (right - left).share(1, 2);
        text(
            svg,
            "small",
            "middle",
            (middle, *bottom + Tenths::pixels(42)),
            &format!("{}, in seconds", figure.across),
        );
        let (x, y) = (Tenths::pixels(MARGIN + 28), self.top + Tenths::pixels(PLOT_HEIGHT).share(1, 2));
        let _ = writeln!(
            svg,
            "<text class=\"small\" text-anchor=\"middle\" transform=\"translate({x} {y}) rotate(-90)\">{}</text>",
            escaped(figure.up)
        );
    }

    fn write_notes(&self, svg: &mut String) {
        for note in &self.figure.notes {
            let x = self.x(note.at);
            stroke(svg, "note", (x, self.top - Tenths::pixels(4)), (x, self.bottom));
            text(svg, "small", "middle", (x, self.top - Tenths::pixels(10)), &note.text);
        }
    }

    /// Points between two of the same height say nothing, and are left out.
    fn write_line(&self, svg: &mut String, line: &Line) {
        let places: Vec<(Tenths, Tenths)> =
            line.points.iter().map(|Point { at, amount }| (self.x(*at), self.y(*amount))).collect();
        let says = |index: usize| {
            let height = |index: usize| places.get(index).map(|place| place.1);
            index == 0 || height(index - 1) != height(index) || height(index + 1) != height(index)
        };
        let kept = places.iter().enumerate().filter(|(index, _)| says(*index)).map(|(_, place)| *place);
        let mut path = String::new();
        let mut last = None::<(Tenths, Tenths)>;
        for (x, y) in kept {
            let _ = match last {
                None => write!(path, "M{x} {y}"),
                Some(last) => write!(path, "l{} {}", x - last.0, y - last.1),
            };
            last = Some((x, y));
        }
        let _ = writeln!(svg, "<path class=\"line {}\" d=\"{path}\"/>", style::class(line.hue));
    }
}

/// A piece of the line, its name, and what there is to say about it.
fn write_legend(svg: &mut String, line: &Line, top: Tenths) {
    let (left, words) = (Tenths::pixels(LEGEND_LEFT), Tenths::pixels(LEGEND_LEFT + 38));
    let y = top + Tenths::pixels(8);
    stroke(svg, &format!("line {}", style::class(line.hue)), (left, y), (left + Tenths::pixels(28), y));
    text(svg, "name", "start", (words, top + Tenths::pixels(12)), &line.name);
    text(svg, "small", "start", (words, top + Tenths::pixels(28)), &line.remark);
}

fn text(svg: &mut String, class: &str, anchor: &str, (x, y): (Tenths, Tenths), words: &str) {
    let anchor = if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    let _ = writeln!(svg, "<text class=\"{class}\"{anchor} x=\"{x}\" y=\"{y}\">{}</text>", escaped(words));
}

fn stroke(svg: &mut String, class: &str, from: (Tenths, Tenths), to: (Tenths, Tenths)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
}
