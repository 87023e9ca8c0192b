//! Whether whoever asks takes gzip.

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// Whether `Accept-Encoding` names gzip, or everything, and does not rule it out with `q=0`.
pub(super) fn takes_gzip(asked: &HeaderMap) -> bool {
    let lists = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let (mut by_name, mut by_star) = (None, None);
    for member in lists.flat_map(|list| list.split(',')) {
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_wanted = !parts.filter_map(|part| part.split_once('=')).any(|(name, weight)| {
            name.trim().eq_ignore_ascii_case("q")
                && weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
        });
        match name {
            "*" => by_star = Some(is_wanted),
            _ if name.eq_ignore_ascii_case("gzip") => by_name = Some(is_wanted),
            _ => {}
        }
    }
    by_name.or(by_star).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_taken_by_who_names_it_and_does_not_rule_it_out() {
        let takes = |lists: &[&'static str]| {
            let mut asked = HeaderMap::new();
            for list in lists {
                asked.append(ACCEPT_ENCODING, HeaderValue::from_static(list));
            }
            takes_gzip(&asked)
        };
        for lists in [
            &["gzip"][..],
            &["br, GZip;q=0.5"],
            &["*"],
            &["identity", "gzip; Q=1"],
            &["*;q=0, gzip"],
            &["gzip;q="],
        ] {
            assert!(takes(lists), "{lists:?}");
        }
        for lists in
            [&[][..], &[""], &["br"], &["gzip;q=0"], &["gzip ; q=0.000"], &["*, gzip;q=0"], &["gzipped"]]
        {
            assert!(!takes(lists), "{lists:?}");
        }
    }
}
