//! `path_encoded`, `answers`, `client_address` and `jwt`: what a policy says besides its rules.

use crate::{
    AnswerSettings, BodyProfile, ClientAddressSettings, ForwardingHeader, HeaderProfiles, PathEncoded, Trust,
};

use super::fields::Fields;
use super::found::Found;
use super::rule::header;
use super::tree::{Kind, Node};
use super::{choice, decimal, network, reason_header};

/// Reads the treatment of paths with encoded slashes and the like.
pub(super) fn path_encoded(node: &Node<'_>, found: &mut Found) -> Option<PathEncoded> {
    choice::one_of(
        node,
        "path_encoded",
        &[("fold", PathEncoded::Fold), ("refuse", PathEncoded::Refuse)],
        found,
    )
}

/// How answers look (H2–H4).
pub(super) fn answers(node: &Node<'_>, found: &mut Found) -> Option<AnswerSettings> {
    const FIELDS: [&str; 4] = ["headers", "body", "jitter_percent", "reason_header"];
    let usual = AnswerSettings::default();
    let mut fields =
        Fields::of(node, "`answers`", "write `answers: {headers: draft, body: problem}`", found)?;
    let headers = fields.take("headers").map_or(Some(usual.headers), |node| profiles(node, found));
    let bodies = [("problem", BodyProfile::Problem), ("simple", BodyProfile::Simple)];
    let body =
        fields.take("body").map_or(Some(usual.body), |node| choice::one_of(node, "body", &bodies, found));
    let jitter = fields
        .take("jitter_percent")
        .map_or(Some(usual.jitter_percent), |node| decimal::percent(node, "jitter_percent", found));
    let reason_header = fields
        .take("reason_header")
        .map_or(Some(usual.reason_header), |node| reason_header::read(node, found));
    fields.refuse_rest("`answers`", &FIELDS, found);
    Some(AnswerSettings {
        headers: headers?,
        body: body?,
        jitter_percent: jitter?,
        reason_header: reason_header?,
    })
}

fn profiles(node: &Node<'_>, found: &mut Found) -> Option<HeaderProfiles> {
    let nothing = HeaderProfiles { draft: false, legacy: false, x: false };
    let names = [("draft", 'd'), ("legacy", 'l'), ("x", 'x'), ("none", 'n')];
    let items = choice::items(node, "headers", found);
    let chosen: Vec<Option<char>> =
        items.iter().map(|item| choice::one_of(item, "headers", &names, found)).collect();
    let chosen = chosen.into_iter().collect::<Option<Vec<_>>>().filter(|chosen| !chosen.is_empty())?;
    if chosen.len() > 1 && chosen.contains(&'n') {
        found.add(node.head(), "`headers` has `none` and others", "write `none` alone, or delete it");
        return None;
    }
    Some(chosen.into_iter().fold(nothing, |set, name| HeaderProfiles {
        draft: set.draft || name == 'd',
        legacy: set.legacy || name == 'l',
        x: set.x || name == 'x',
    }))
}

/// Whose word is taken for the client's address (K3).
pub(super) fn client_address(node: &Node<'_>, found: &mut Found) -> Option<ClientAddressSettings> {
    const FIELDS: [&str; 3] = ["trusted_proxies", "hops", "header"];
    let cure = "write `client_address: {trusted_proxies: [10.0.0.0/8], header: x-forwarded-for}`";
    let mut fields = Fields::of(node, "`client_address`", cure, found)?;
    let proxies = fields.take("trusted_proxies").map(|node| network::read(node, "trusted_proxies", found));
    let hops = fields.take("hops").map(|node| (node.place, decimal::whole(node, "hops", 1, 32, found)));
    let header_node = fields.take("header");
    let name = header_node.map(|node| header(node, "header", found));
    fields.refuse_rest("`client_address`", &FIELDS, found);
    let trust = match (proxies, hops) {
        (Some(_), Some((place, _))) => {
            found.add(place, "`hops` and `trusted_proxies` both say whom to trust", "keep one of them");
            None
        }
        (Some(networks), None) => networks.map(Trust::Networks),
        (None, Some((_, hops))) => hops.and_then(|hops| u8::try_from(hops).ok()).map(Trust::Hops),
        (None, None) => {
            let cure =
                "add `trusted_proxies: [10.0.0.0/8]` or `hops: 1`; without proxies, delete `client_address`";
            found.add(
                fields_head(node),
                "`client_address` trusts nobody, so its header would never be read",
                cure,
            );
            None
        }
    };
    let header = match name {
        Some(name) => match &*name? {
            "x-forwarded-for" => ForwardingHeader::XForwardedFor,
            "forwarded" => ForwardingHeader::Forwarded,
            other => ForwardingHeader::Single(other.into()),
        },
        None => ForwardingHeader::XForwardedFor,
    };
    Some(ClientAddressSettings { trust: trust?, header })
}

fn fields_head(node: &Node<'_>) -> super::tree::Place {
    match &node.kind {
        Kind::Map(entries) if entries.is_empty() => node.place,
        _ => node.head(),
    }
}
