//! What a door makes of a request where that may surprise whoever described it.

use tollgate::policy::{Claims, JwtSettings, Ruling, Trust};

use super::account::Account;

impl Account<'_> {
    /// What is not as it was typed, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut said = spelling(self);
        said.extend(self.client());
        said.extend(unread_header(self));
        said.extend(token(self).into_iter().map(str::to_owned));
        said
    }
}

fn spelling(account: &Account<'_>) -> Vec<String> {
    let (request, explanation) = (account.request, &account.explanation);
    let mut said = Vec::new();
    let typed = request.target.split('?').next().unwrap_or_default();
    if explanation.path != typed {
        said.push(format!("rules see the path as {}", explanation.path));
    }
    let (both, these) = if explanation.ruling == Ruling::PathRefused {
        ("`path_encoded: refuse` refuses the request", "`path_encoded: refuse` refuses the request")
    } else {
        ("rules check both forms; keys use the decoded one", "rules check these forms as well")
    };
    if let Some(decoded) = &explanation.decoded_path {
        said.push(format!("its decoded form is {decoded}: {both}"));
    }
    if !explanation.other_paths.is_empty() {
        let paths = explanation.other_paths.join(" or ");
        said.push(format!("some servers read the path as {paths}: {these}"));
    }
    if let Some(host) = explanation.host.as_deref().filter(|host| *host != request.host) {
        said.push(format!("rules see the host as {host}"));
    }
    said
}

/// A forwarding header that nobody was said to have sent.
fn unread_header(account: &Account<'_>) -> Option<String> {
    let (request, settings) = (account.request, &account.policy.client_address);
    let field = settings.header.field_name();
    let is_sent = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field));
    let is_unread = request.peer.is_none() && is_sent && settings.trust != Trust::Nobody;
    is_unread.then(|| format!("`{field}` is not looked at: say with --peer who sent it"))
}

/// What becomes of its token, where that may surprise.
fn token(account: &Account<'_>) -> Vec<&'static str> {
    let (request, policy) = (account.request, account.policy);
    let Some(claims) = &request.claims else { return Vec::new() };
    let usual = JwtSettings::default();
    let settings = policy.jwt.as_ref().unwrap_or(&usual);
    let mut said = Vec::new();
    match account.seen.facts().claims {
        Claims::Verified(_) if policy.jwt.is_none() => said.push(
            "the policy has no `jwt` settings: the token counts as verified only where the program verifies it by keys of \
             its own; elsewhere it is as with --unverified",
        ),
        Claims::Verified(_) => {}
        Claims::Unverified(_) => {
            said.push("nobody has verified its token: only rules with `jwt_trust: upstream_verified` read it");
        }
        Claims::None => {
            said.push("its token does not verify by the policy's `jwt` keys, so it counts as none");
        }
    }
    let names_somebody = settings.user_in(claims).is_some() || settings.plan_in(claims).is_some();
    if request.claims_are_verified && names_somebody && (request.user.is_some() || request.plan.is_some()) {
        said.push(
            "user and plan are those that the program knows; what the token says of them does not count",
        );
    }
    said
}
