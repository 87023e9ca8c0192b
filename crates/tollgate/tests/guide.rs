//! docs/algorithms.md shows code that compiles and runs: every snippet is a function of the example.

/// The snippets of a page in Markdown.
fn snippets(page: &str) -> impl Iterator<Item = &str> {
    page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[test]
fn every_snippet_of_the_guide_stands_in_the_example() {
    let (guide, example) =
        (include_str!("../../../docs/algorithms.md"), include_str!("../examples/algorithms.rs"));
    assert!(snippets(guide).count() >= 7, "one for each algorithm, and one for burst credit");
    for snippet in snippets(guide) {
        assert!(example.contains(snippet), "not in crates/tollgate/examples/algorithms.rs:\n{snippet}");
    }
}
