//! The pages about the recipes show them as they are.

use crate::recipe::{Recipe, docs};

pub(crate) fn shown(recipe: &Recipe) {
    let page = recipe.page();
    for file in recipe.files {
        assert!(page.contains(&recipe.text(file)), "{}.md shows another {file}", recipe.proxy);
        assert!(
            page.contains(&format!("({}/{file})", recipe.proxy)),
            "{}.md has no link to {file}",
            recipe.proxy
        );
    }
}

#[test]
fn the_overview_shows_the_policy_and_links_to_every_page() {
    let overview = std::fs::read_to_string(docs().join("README.md")).unwrap();
    let policy = std::fs::read_to_string(docs().join("policy.yaml")).unwrap();
    assert!(overview.contains(&policy), "README.md shows another policy");
    for page in ["nginx.md", "caddy.md", "traefik.md", "haproxy.md"] {
        assert!(overview.contains(&format!("({page})")), "{page}");
    }
}
