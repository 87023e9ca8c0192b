//! What was typed after `tollgate keys`.

use clap::{Args, Subcommand};

use super::talkers::By;
use crate::admin::{self, Asking};
use crate::order_flags::WhyAndHowLong;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tollgate keys top --by denied
  tollgate keys get api user:42
  tollgate keys grant api user:42 100 --reason 'our fault'
  tollgate keys block ip:192.0.2.7 --reason scraper --for 2h
  tollgate keys block 192.0.2.0/24 --reason scraper --until 2026-11-20T10:00Z
  tollgate keys override api user:42 --rate 100 --burst 200 --reason launch
  tollgate keys orders

A client of a rule is written as `keys top` prints it: user:42, ip:192.0.2.7, or name=value,name=value where a rule has several keys. {}",
    admin::HELP))]
pub(crate) struct KeysFlags {
    #[command(subcommand)]
    pub(super) verb: KeysVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum KeysVerb {
    /// List who asked, was denied, or came near a limit most in the last minute
    Top(TopFlags),
    /// Show what a client has left under a rule, and when it is admitted next
    Get(GetFlags),
    /// Fill a client's bucket
    Reset(ResetFlags),
    /// Give a client tokens
    Grant(GrantFlags),
    /// Deny every request of a client, also those that no rule governs
    Block(WhoFlags),
    /// Admit every request of a client, whatever rules say and buckets hold
    Allow(WhoFlags),
    /// End the blocks of a client
    Unblock(UnblockFlags),
    /// Give a client another limit under a rule
    Override(OverrideFlags),
    /// List the orders that stand
    Orders(OrdersFlags),
    /// End an order by its number
    Release(ReleaseFlags),
}

/// A client of a rule.
#[derive(Debug, Args)]
pub(super) struct ClientOfRule {
    /// The rule
    #[arg(value_name = "RULE")]
    pub(super) rule: String,
    /// Its client
    #[arg(value_name = "KEY")]
    pub(super) key: String,
}

#[derive(Debug, Args)]
pub(super) struct TopFlags {
    /// Of this rule [default: of all]
    #[arg(long, value_name = "RULE")]
    pub(super) rule: Option<String>,
    /// By what they are ranked
    #[arg(
        long,
        value_enum,
        default_value = "denied",
        hide_possible_values = true,
        value_name = "admitted|denied|near"
    )]
    pub(super) by: By,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) limit: u32,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct GetFlags {
    #[command(flatten)]
    pub(super) client: ClientOfRule,
    /// What the next request costs
    #[arg(long, value_name = "TOKENS")]
    pub(super) cost: Option<String>,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct ResetFlags {
    #[command(flatten)]
    pub(super) client: ClientOfRule,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", required = true)]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct GrantFlags {
    #[command(flatten)]
    pub(super) client: ClientOfRule,
    /// How many; what the bucket cannot hold is lost
    #[arg(value_name = "TOKENS", value_parser = tokens)]
    pub(super) tokens: serde_json::Number,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", required = true)]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
#[command(after_help = "\
WHO is user:NAME, an address or a network. With --rule it is a key of that rule, and the order is about those whom the rule would charge \
there.")]
pub(super) struct WhoFlags {
    /// user:42, ip:192.0.2.7, network:192.0.2.0/24; or a key of --rule
    #[arg(value_name = "WHO")]
    pub(super) who: String,
    /// The rule whose key WHO is
    #[arg(long, value_name = "RULE")]
    pub(super) rule: Option<String>,
    #[command(flatten)]
    pub(super) why: WhyAndHowLong,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct UnblockFlags {
    /// Who was blocked; addresses and networks in any spelling
    #[arg(value_name = "WHO")]
    pub(super) who: String,
    /// The rule whose key WHO is
    #[arg(long, value_name = "RULE")]
    pub(super) rule: Option<String>,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", required = true)]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct OverrideFlags {
    #[command(flatten)]
    pub(super) client: ClientOfRule,
    /// Tokens per second
    #[arg(long, value_name = "TOKENS")]
    pub(super) rate: String,
    /// Tokens that a full bucket holds
    #[arg(long, value_name = "TOKENS")]
    pub(super) burst: String,
    #[command(flatten)]
    pub(super) why: WhyAndHowLong,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct OrdersFlags {
    /// Those that ended, too
    #[arg(long)]
    pub(super) past: bool,
    #[command(flatten)]
    pub(super) asking: Asking,
}

#[derive(Debug, Args)]
pub(super) struct ReleaseFlags {
    /// Its number, as `keys orders` lists it
    #[arg(value_name = "ORDER")]
    pub(super) order: i64,
    /// Why, for the audit trail
    #[arg(long, value_name = "TEXT", required = true)]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) asking: Asking,
}

/// A number above 0.
fn tokens(text: &str) -> Result<serde_json::Number, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let has_value = text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let number = serde_json::from_str(text).ok().filter(|_| is_plain && has_value);
    number.ok_or_else(|| "write a number above 0, as in 10 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn tokens_are_a_plain_number_above_0() {
        assert!(tokens("10").is_ok() && tokens("0.5").is_ok());
        for text in ["", "0", "0.0", "-1", "1e9", "ten", ".", "1.2.3", "NaN"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
