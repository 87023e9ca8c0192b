//! `tollgate token`: who may open the admin door. Goes to the database itself: the first token cannot be asked for at a shut door.

use std::io::{self, Write as _};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use tollgate_records::{Author, NewToken, Role, Timestamp, TokenRecord};

use crate::format::{self, Format, FormatFlag};
use crate::listing::Listing;
use crate::page::Page;
use crate::problem::Problem;
use crate::records_place::{self, RecordsFlags, with_records};
use crate::screen::{Ink, Screen};
use crate::visible::visible;
use crate::when::{self, When};

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate token create --role operator --name ann --expires 30d
  export TOLLGATE_ADMIN_TOKEN=$(tollgate token create --role admin --name ci)
  tollgate token list
  tollgate token revoke 0123456789abcdef --reason lost

A viewer looks; an operator also handles incidents: buckets, orders, reloads; an admin also changes rules and tokens. {}",
    records_place::HELP))]
pub(crate) struct TokenFlags {
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Make a token, and print it this once
    Create(CreateFlags),
    /// List every token, without its secret
    List(ListFlags),
    /// End a token
    Revoke(RevokeFlags),
}

#[derive(Debug, Args)]
struct CreateFlags {
    /// What may be done with it
    #[arg(long, value_enum, value_name = "viewer|operator|admin", hide_possible_values = true)]
    role: RoleTyped,
    /// What it is called: it stands in the audit trail beside what is done with it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// When it ends by itself, as in 30d or 2026-11-20T10:00Z [default: never]
    #[arg(long, value_name = "WHEN", value_parser = When::parse)]
    expires: Option<When>,
    #[command(flatten)]
    format: FormatFlag,
    #[command(flatten)]
    records: RecordsFlags,
}

#[derive(Debug, Args)]
struct ListFlags {
    #[command(flatten)]
    format: FormatFlag,
    #[command(flatten)]
    records: RecordsFlags,
}

#[derive(Debug, Args)]
struct RevokeFlags {
    /// Its number, as `token list` shows it
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Why, for the audit trail
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
    #[command(flatten)]
    format: FormatFlag,
    #[command(flatten)]
    records: RecordsFlags,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleTyped {
    Viewer,
    Operator,
    Admin,
}

/// Does what was asked.
pub(crate) fn page(flags: &TokenFlags, screen: &Screen) -> Result<Page, Problem> {
    match &flags.verb {
        TokenVerb::Create(flags) => create(flags),
        TokenVerb::List(flags) => list(flags, screen),
        TokenVerb::Revoke(flags) => revoke(flags, screen),
    }
}

fn create(flags: &CreateFlags) -> Result<Page, Problem> {
    let role = match flags.role {
        RoleTyped::Viewer => Role::Viewer,
        RoleTyped::Operator => Role::Operator,
        RoleTyped::Admin => Role::Admin,
    };
    let expires_at = flags.expires.map(|when| when.after(Timestamp::now()));
    let new = NewToken { name: flags.name.clone(), role, expires_at };
    let url = flags.records.url()?;
    let made = with_records(&url, async |records| records.create_token(&new, &author()).await);
    let (secret, token) = made?;
    let ends = token.expires_at.map_or_else(|| "never".to_owned(), |at| when::shown(&at.to_string()));
    // The secret alone is data.
    let _ = writeln!(
        io::stderr(),
        "Token {} of the {role} {}, ends: {ends}, filed in {}. It is shown this once: put it into TOLLGATE_ADMIN_TOKEN, or into a file for \
         --token-file.",
        token.token_id,
        visible(&token.name),
        visible(&url.to_string())
    );
    Ok(Page::good(match flags.format.chosen() {
        Format::Table => format!("{}\n", secret.reveal()),
        Format::Json => format::json(&json!({ "secret": secret.reveal(), "token": token })),
    }))
}

fn list(flags: &ListFlags, screen: &Screen) -> Result<Page, Problem> {
    let tokens = with_records(&flags.records.url()?, async |records| records.tokens().await)?;
    Ok(Page::good(match flags.format.chosen() {
        Format::Table if tokens.is_empty() => {
            "No token is on record; make one with `tollgate token create --role admin --name NAME`.\n"
                .to_owned()
        }
        Format::Table => table(&tokens, screen.ink),
        Format::Json => format::json(&json!({ "tokens": tokens })),
    }))
}

fn revoke(flags: &RevokeFlags, screen: &Screen) -> Result<Page, Problem> {
    let revoked = with_records(&flags.records.url()?, async |records| {
        records.revoke_token(&flags.token, &author(), flags.reason.as_deref()).await
    });
    let token = revoked?;
    Ok(Page::good(match flags.format.chosen() {
        Format::Table => table(&[token], screen.ink),
        Format::Json => format::json(&token),
    }))
}

fn table(tokens: &[TokenRecord], ink: Ink) -> String {
    let mut listing = Listing::new(&["TOKEN", "NAME", "ROLE", "MADE", "ENDS", "LAST USED"]);
    let shown = |at: Timestamp| when::shown(&at.to_string());
    for token in tokens {
        let ends = match (token.revoked_at, token.expires_at) {
            (Some(at), _) => format!("revoked {}", shown(at)),
            (None, Some(at)) => shown(at),
            (None, None) => "never".to_owned(),
        };
        let used = token.last_used_at.map_or_else(|| "never".to_owned(), shown);
        let made = shown(token.created_at);
        listing.push([&*token.token_id, &token.name, token.role.as_str(), &made, &ends, &used]);
    }
    listing.text(ink)
}

/// Who sits at this machine, as the audit trail has it.
fn author() -> Author {
    let user =
        ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    Author::new(user.map_or_else(|| "cli".to_owned(), |user| format!("cli {user}")))
}
