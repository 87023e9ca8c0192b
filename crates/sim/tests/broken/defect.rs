//! What can be wrong with a store.

macro_rules! defects {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What is wrong with a store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Defect {
            $($(#[$doc])* $name,)*
        }

        impl Defect {
            /// All of them.
            pub(crate) const ALL: &[Defect] = &[$(Defect::$name,)*];
        }
    };
}

defects! {
    /// Several buckets are charged one after the other, also those before the one that denies.
    ChargesBeforeADenial,
    /// A denial is charged with a micro-token.
    ChargesDenials,
    /// The check is made a second late.
    RunsLate,
    /// Changes of a limit are ignored.
    IgnoresChanges,
    /// Every peek spends.
    PeeksSpend,
    /// A refund beyond full is kept for later.
    RefundsOverfill,
    /// A cancelled reservation gives back all that was charged.
    CancelGivesAllBack,
    /// A reservation can be cancelled as often as one likes.
    SettlesTwice,
    /// A reservation that has timed out is cancelled all the same.
    SettlesTooLate,
    /// An overrun is not charged.
    ForgivesOverruns,
    /// Places are never given back.
    NeverFreesPlaces,
    /// Places are given back whoever holds them by now.
    FreesOthersPlaces,
    /// Logs are charged though another bucket denied.
    ChargesLogsOfDenials,
    /// Priorities are ignored.
    IgnoresPriorities,
    /// Retries are charged.
    IgnoresIdempotencyKeys,
    /// Denials are remembered.
    RemembersDenials,
    /// Leaky buckets let everybody out at once.
    NeverDelays,
}
