//! How the picture looks: colours by name, for light screens and for dark ones.
//!
//! Every line has a contrast of at least 4.5 to 1 against its card, but for the broad band of what was promised, which lies
//! behind the others. Lines also differ by their dashes, for whoever sees no colours.

use super::super::figure::Hue;

/// The class of a line.
pub(super) fn class(hue: Hue) -> &'static str {
    match hue {
        Hue::Blue => "blue",
        Hue::Pink => "pink",
        Hue::Teal => "teal",
        Hue::Red => "red",
        Hue::Amber => "amber",
        Hue::Violet => "violet",
        Hue::Promise => "promise",
    }
}

/// Plain rules and one exception for dark screens, so that simple renderers draw it too.
pub(super) const SHEET: &str = "
text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; fill: #1f2328; }
.headline { font-size: 24px; font-weight: 700; }
.heading { font-size: 17px; font-weight: 600; }
.words { font-size: 13px; }
.name { font-size: 13px; font-weight: 600; }
.small { font-size: 12px; fill: #57606a; }
.page { fill: #ffffff; }
.card { fill: #f6f8fa; stroke: #d8dee4; }
.grid { stroke: #d8dee4; stroke-width: 1; }
.axis { stroke: #57606a; stroke-width: 1; }
.note { stroke: #57606a; stroke-width: 1; stroke-dasharray: 2 3; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
.blue { stroke: #0550ae; }
.pink { stroke: #bf3989; stroke-dasharray: 9 3; }
.teal { stroke: #0f6b5c; stroke-dasharray: 2 3; }
.red { stroke: #cf222e; stroke-width: 3; }
.amber { stroke: #9a5700; stroke-dasharray: 6 5; }
.violet { stroke: #6e40c9; stroke-dasharray: 12 3 2 3; }
.promise { stroke: #c3ccd6; stroke-width: 9; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.small { fill: #9ea7b3; }
.page { fill: #0d1117; }
.card { fill: #161b22; stroke: #30363d; }
.grid { stroke: #30363d; }
.axis, .note { stroke: #9ea7b3; }
.blue { stroke: #79c0ff; }
.pink { stroke: #ff9bce; }
.teal { stroke: #56d4bc; }
.red { stroke: #ff7b72; }
.amber { stroke: #e3b341; }
.violet { stroke: #d2a8ff; }
.promise { stroke: #484f58; }
}
";
