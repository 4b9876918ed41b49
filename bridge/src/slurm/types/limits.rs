//! Limits of associations and QOS. The nesting is slurmrestd's.

use super::{Number, Real, Tres, wire};

wire! {
    /// A quality of service.
    Qos {
        description: String,
        flags: Vec<String>,
        id: i64,
        limits: QosLimits,
        name: String,
        preempt: QosPreempt,
        priority: Number,
        usage_factor: Real,
        usage_threshold: Real,
    }

    /// What it may push out.
    QosPreempt {
        list: Vec<String>,
        mode: Vec<String>,
        exempt_time: Number,
    }

    /// Its limits.
    QosLimits {
        grace_time: i64,
        max: QosMax,
        factor: Real,
        min: QosMin,
    }

    /// At least.
    QosMin {
        priority_threshold: Number,
        tres: TresPerJobLimit,
    }

    /// At most.
    QosMax {
        active_jobs: ActiveJobs,
        tres: QosTres,
        wall_clock: WallClock,
        jobs: QosJobs,
        accruing: PerHolderLimit,
    }

    /// Jobs at a time, in all.
    ActiveJobs {
        accruing: Number,
        count: Number,
    }

    /// Jobs at a time.
    QosJobs {
        active_jobs: PerHolderLimit,
        per: PerHolder,
        /// Since v0.0.42.
        count: Number,
    }

    /// A number for each account and user.
    PerHolderLimit {
        per: PerHolder,
    }

    /// For each account and user.
    PerHolder {
        account: Number,
        user: Number,
    }

    /// Minutes.
    WallClock {
        per: WallClockPer,
    }

    /// Minutes for the QOS and for each job.
    WallClockPer {
        qos: Number,
        job: Number,
    }

    /// Resources.
    QosTres {
        total: Vec<Tres>,
        minutes: QosTresMinutes,
        per: QosTresPer,
    }

    /// Resources for each holder.
    QosTresPer {
        account: Vec<Tres>,
        job: Vec<Tres>,
        node: Vec<Tres>,
        user: Vec<Tres>,
    }

    /// Resources times minutes.
    QosTresMinutes {
        per: QosTresMinutesPer,
        total: Vec<Tres>,
    }

    /// Resources times minutes for each holder.
    QosTresMinutesPer {
        qos: Vec<Tres>,
        job: Vec<Tres>,
        account: Vec<Tres>,
        user: Vec<Tres>,
    }

    /// Resources for each job.
    TresPerJobLimit {
        per: TresPerJob,
    }

    /// For each job.
    TresPerJob {
        job: Vec<Tres>,
    }

    /// An association's least.
    AssociationMin {
        priority_threshold: Number,
    }

    /// An association's most.
    AssociationMax {
        jobs: AssociationJobs,
        tres: AssociationTres,
        per: AssociationPer,
    }

    /// For each account.
    AssociationPer {
        account: AssociationWallClock,
    }

    /// Minutes.
    AssociationWallClock {
        wall_clock: Number,
    }

    /// Jobs.
    AssociationJobs {
        per: AssociationJobsPer,
        active: Number,
        accruing: Number,
        total: Number,
    }

    /// Jobs of the group.
    AssociationJobsPer {
        count: Number,
        accruing: Number,
        submitted: Number,
        wall_clock: Number,
    }

    /// Resources.
    AssociationTres {
        total: Vec<Tres>,
        group: AssociationTresGroup,
        minutes: AssociationTresMinutes,
        per: AssociationTresPer,
    }

    /// Resources of the group.
    AssociationTresGroup {
        minutes: Vec<Tres>,
        active: Vec<Tres>,
    }

    /// Resources times minutes.
    AssociationTresMinutes {
        total: Vec<Tres>,
        per: TresPerJob,
    }

    /// Resources for each job and node.
    AssociationTresPer {
        job: Vec<Tres>,
        node: Vec<Tres>,
    }
}
