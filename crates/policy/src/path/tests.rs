use std::fmt::Write;

use super::normal_path;

fn folded(target: &str) -> String {
    normal_path(target, false, false)
}

#[test]
fn every_spelling_of_a_path_is_one() {
    let spellings = [
        "/api/search",
        "/api/search/",
        "//api///search",
        "/API/Search",
        "/api/search?q=1",
        "/api/search#top",
        "/api/search?q=/../x",
        "/./api/./search/.",
        "/x/../api/search",
        "/x/%2e%2e/api/search",
        "/x/%2E./api/search",
        "/../../api/search",
        "/api;v=1/search;jsessionid=5",
        "/x/..;a/api/search",
        "/%61pi/se%61rch",
        "/api/;x/search",
        "http://example.com/api/search",
        "HTTPS://user@example.com:8443/api/search?x",
        "api/search",
    ];
    for spelling in spellings {
        assert_eq!(folded(spelling), "/api/search", "{spelling}");
    }
}

#[test]
fn different_paths_stay_different() {
    assert_eq!(folded("/a%2fb"), "/a%2fb", "an encoded slash is no slash");
    assert_eq!(folded("/a%3bb"), "/a%3bb", "an encoded semicolon begins no parameter");
    assert_eq!(folded("/%252e%252e/a"), "/%252e%252e/a", "nothing is decoded twice");
    assert_ne!(folded("/a/b"), folded("/ab"));
    assert_ne!(folded("/..a"), folded("/a"));
    assert_ne!(folded("/..."), folded("/"));
}

#[test]
fn case_and_the_final_slash_are_kept_when_asked_for() {
    assert_eq!(normal_path("/A//b/%c3%a9/", true, true), "/A/b/%C3%A9/");
    assert_eq!(normal_path("/A/b/", true, false), "/A/b");
    assert_eq!(normal_path("/A/b/.", false, true), "/a/b/");
    assert_eq!(normal_path("/A/b/..", false, true), "/a/");
    assert_eq!(normal_path("/A/", true, true), "/A/");
}

#[test]
fn what_is_not_allowed_in_a_path_is_encoded() {
    assert_eq!(folded("/caf\u{e9}"), folded("/caf%C3%A9"));
    assert_eq!(folded("/a b"), folded("/a%20b"));
    assert_eq!(folded("/a\\b"), folded("/a%5cb"));
    assert_eq!(folded("/100%"), "/100%25");
    assert_eq!(folded("/%zz%4"), "/%25zz%254");
}

#[test]
fn targets_without_a_path_have_the_root() {
    for target in
        ["", "/", "//", "/.", "/..", "?q", "#f", "http://example.com", "http://example.com?q=/a", "/;x"]
    {
        assert_eq!(folded(target), "/", "{target}");
    }
    assert_eq!(folded("*"), "*");
    assert_eq!(folded("/*"), "/*");
}

#[test]
fn a_long_path_is_normalised_like_a_short_one() {
    let long = "a".repeat(70_000);
    assert_eq!(folded(&format!("/{long}/../api//search")), "/api/search");
    assert_eq!(folded(&format!("/API/{long}//")), format!("/api/{long}"));
    assert_eq!(folded(&format!("/{}", " ".repeat(5_000))), format!("/{}", "%20".repeat(5_000)));
}

fn scrawl(random: &mut fastrand::Rng) -> String {
    let pieces = [
        "/", "/", ".", "..", "%2e", "%2F", "%", "%4", ";", "?", "#", "a", "B", "\u{e9}", " ", "*", "://",
        "%c3", "+",
    ];
    (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect()
}

#[test]
fn normalising_twice_changes_nothing() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20_000 {
        let target = scrawl(&mut random);
        for (cased, slash) in [(false, false), (true, false), (false, true), (true, true)] {
            let once = normal_path(&target, cased, slash);
            assert!(once.starts_with('/') || once == "*", "{target}");
            assert!(
                !once.contains("//") && !once.contains("/./") && !once.contains("/../"),
                "{target}: {once}"
            );
            assert_eq!(normal_path(&once, cased, slash), once, "{target}");
        }
    }
}

/// Spells a normal path in another way.
fn respell(path: &str, random: &mut fastrand::Rng) -> String {
    let mut spelling = String::new();
    for character in path.chars() {
        match character {
            '/' => {
                let detours = ["/", "//", "/./", "/x/../", "/%2e/", "/y;z/..;q/", "/;p/"];
                spelling.push_str(detours[random.usize(..detours.len())]);
            }
            letter if random.u8(..4) == 0 => write!(spelling, "%{:02x}", u32::from(letter)).unwrap(),
            letter if random.bool() => spelling.push(letter.to_ascii_uppercase()),
            letter => spelling.push(letter),
        }
    }
    let ends = ["", "/", "//", ";v=1", "?q=1", "#f", "/.", "/x/.."];
    spelling.push_str(ends[random.usize(..ends.len())]);
    spelling
}

#[test]
fn no_detour_leads_past_a_path() {
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..20_000 {
        let segments: Vec<&str> =
            (0..random.usize(1..5)).map(|_| random.choice(["/a", "/bc", "/d.e", "/f-1"]).unwrap()).collect();
        let path = segments.concat();
        let spelling = respell(&path, &mut random);
        assert_eq!(folded(&spelling), path, "{spelling}");
    }
}
