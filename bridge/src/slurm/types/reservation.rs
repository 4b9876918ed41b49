//! Reservations, licences, and the answer to a ping.

use super::{Number, wire};

wire! {
    /// A reservation.
    Reservation {
        accounts: String,
        burst_buffer: String,
        core_count: i64,
        core_specializations: Vec<ReservedCores>,
        end_time: Number,
        features: String,
        flags: Vec<String>,
        groups: String,
        licenses: String,
        max_start_delay: i64,
        name: String,
        node_count: i64,
        node_list: String,
        partition: String,
        purge_completed: PurgeCompleted,
        start_time: Number,
        /// Up to v0.0.44.
        watts: Number,
        tres: String,
        users: String,
    }

    /// The cores of one node that are reserved.
    ReservedCores {
        node: String,
        core: String,
    }

    /// How long an empty reservation stays.
    PurgeCompleted {
        time: Number,
    }

    /// A licence.
    License {
        #[serde(rename = "LicenseName")]
        name: String,
        #[serde(rename = "Total")]
        total: i64,
        #[serde(rename = "Used")]
        used: i64,
        #[serde(rename = "Free")]
        free: i64,
        #[serde(rename = "Remote")]
        remote: bool,
        #[serde(rename = "Reserved")]
        reserved: i64,
        #[serde(rename = "LastConsumed")]
        last_consumed: i64,
        #[serde(rename = "LastDeficit")]
        last_deficit: i64,
        #[serde(rename = "LastUpdate")]
        last_update: i64,
        /// Since v0.0.44.
        #[serde(rename = "Nodes")]
        nodes: String,
    }

    /// One slurmctld as slurmrestd finds it.
    Ping {
        hostname: String,
        /// `UP` or `DOWN`; up to v0.0.44.
        pinged: String,
        /// Microseconds.
        latency: i64,
        /// `primary` or `backup1`; up to v0.0.44.
        mode: String,
        /// Since v0.0.42.
        responding: bool,
        /// Since v0.0.42.
        primary: bool,
        /// Why it doesn't respond; since v0.0.45.
        status: String,
    }
}

impl Ping {
    /// Whether it answered slurmrestd. A token that isn't accepted looks like one that doesn't.
    pub fn is_up(&self) -> bool {
        self.responding || self.pinged == "UP"
    }

    /// Whether it is the first of the controllers.
    pub fn is_primary(&self) -> bool {
        self.primary || self.mode == "primary"
    }
}
