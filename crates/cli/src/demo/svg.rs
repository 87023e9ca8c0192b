//! Figures as one picture: an SVG that needs nothing else.
//!
//! Promises: no script, no font, no image from elsewhere; light or dark as the reader's screen is; the same bytes for the
//! same figures, since all geometry is in whole tenths of a pixel. Does not know files.

mod markup;
mod panel;
mod style;

use std::fmt::Write;

use self::markup::{Tenths, escaped};
use super::figure::Figure;

/// Pixels.
const WIDTH: u64 = 960;
const MARGIN: u64 = 24;
const HEADER: u64 = 76;
const FOOTER: u64 = 40;

/// The figures one below the other; with a header if there are several.
pub(crate) fn document(figures: &[Figure]) -> String {
    let header = if figures.len() > 1 { HEADER } else { MARGIN };
    let heights: Vec<u64> = figures.iter().map(panel::height).collect();
    let height = header + heights.iter().map(|height| height + MARGIN).sum::<u64>() + FOOTER - MARGIN;
    let title = match figures {
        [figure] => figure.title,
        _ => "Rate limits side by side",
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-labelledby=\"title description\">\n"
    );
    let description = figures.iter().map(|figure| format!("{}. {}", figure.title, figure.takeaway));
    let description = description.collect::<Vec<_>>().join(" ");
    let _ = writeln!(svg, "<title id=\"title\">{}</title>", escaped(title));
    let _ = writeln!(svg, "<desc id=\"description\">{}</desc>", escaped(&description));
    let _ = writeln!(svg, "<style>{}</style>", style::SHEET);
    let _ = writeln!(svg, "<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>");
    if figures.len() > 1 {
        let _ = writeln!(svg, "<text class=\"headline\" x=\"{MARGIN}\" y=\"42\">{}</text>", escaped(title));
        let _ = writeln!(svg, "<text class=\"small\" x=\"{MARGIN}\" y=\"62\">{SUBTITLE}</text>");
    }
    let mut top = header;
    for (figure, height) in figures.iter().zip(heights) {
        panel::write(&mut svg, figure, Tenths::pixels(top));
        top += height + MARGIN;
    }
    let _ = writeln!(svg, "<text class=\"small\" x=\"{MARGIN}\" y=\"{}\">{SOURCE}</text>", height - 16);
    svg.push_str("</svg>\n");
    svg
}

const SUBTITLE: &str =
    "The same requests on every algorithm, in virtual time. Colours mean the same in all pictures.";
const SOURCE: &str = "Drawn from the verdicts of the real engine by: tollgate demo --svg FILE";
