//! A limit as a plain row of a table: what `INSERT INTO rate_limit_rules` can say.

/// A row of `rate_limit_rules`. Its rule is called `{scope}-{rule_id}`: `user-1`, `endpoint-3`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlainRow {
    /// Its number. Rows are put in force in this order.
    pub rule_id: i64,
    /// Whose bucket it is: `user:{user_id}`, `ip:{ip}`, `org:{org_id}`, `endpoint:/api/search`, `endpoint:{path}` or `global`. Braces may
    /// also hold where a key comes from, as in `user:{header:x-api-key}`.
    pub key_pattern: String,
    /// `user`, `ip`, `organisation`, `endpoint` or `global`, as the pattern says.
    pub scope: String,
    /// Tokens per second, a decimal.
    pub rate_per_second: String,
    /// Tokens that a full bucket holds, a decimal.
    pub burst_capacity: String,
    /// For clients of this plan alone. `None`: for all that no other row of the same pattern is for.
    pub plan: Option<String>,
    /// Whether it is enforced. It has to make sense either way.
    pub is_active: bool,
    /// For people.
    pub description: Option<String>,
}
