//! Fair shares.

use super::{Number, Real, wire};

wire! {
    /// All shares.
    Shares {
        shares: Vec<Share>,
        total_shares: i64,
    }

    /// The share of one association.
    Share {
        id: i64,
        cluster: String,
        name: String,
        parent: String,
        partition: String,
        shares_normalized: Real,
        shares: Number,
        tres: ShareTres,
        effective_usage: Real,
        usage_normalized: Real,
        usage: i64,
        fairshare: Fairshare,
        /// `USER` or `ASSOCIATION`.
        #[serde(rename = "type")]
        kind: Vec<String>,
    }

    /// What the share was used for.
    ShareTres {
        run_seconds: Vec<TresValue>,
        group_minutes: Vec<TresValue>,
        usage: Vec<TresReal>,
    }

    /// So much of a resource.
    TresValue {
        name: String,
        value: Number,
    }

    /// So much of a resource, with a fraction.
    TresReal {
        name: String,
        value: Real,
    }

    /// The factor that counts in priorities.
    Fairshare {
        factor: Real,
        level: Real,
    }
}
