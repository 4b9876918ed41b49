//! How far and how fast an autoscaler goes.

use drawbridge_sim::{Span, Time};
use serde_json::Value;

use super::super::object::{count, items, text};

/// What an autoscaler remembers: what it wanted, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    wanted: Vec<(Time, u64)>,
    ups: Vec<(Time, u64)>,
    downs: Vec<(Time, u64)>,
}

impl Past {
    /// Between two looks nothing changed, so what was wanted last was wanted until `until`.
    pub(super) fn begin(&mut self, until: Time, replicas: u64) {
        match self.wanted.last_mut() {
            None => self.wanted.push((until, replicas)),
            Some(last) => last.0 = last.0.max(until),
        }
    }

    pub(super) fn scaled(&mut self, at: Time, from: u64, to: u64) {
        match from < to {
            true => self.ups.push((at, to - from)),
            false => self.downs.push((at, from - to)),
        }
    }

    fn forget(&mut self, before: Time) {
        for list in [&mut self.wanted, &mut self.ups, &mut self.downs] {
            list.retain(|(at, _)| before <= *at);
        }
    }
}

/// The bounds that an autoscaler has.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) least: u64,
    pub(super) most: u64,
    /// Upwards, downwards; none where it says nothing about that.
    rules: Option<[Rules; 2]>,
}

/// How fast it may go in one direction.
#[derive(Clone, Debug)]
struct Rules {
    window: Span,
    disabled: bool,
    /// Of several policies the one that changes least counts.
    careful: bool,
    /// In percent rather than pods, how much, and within which time.
    policies: Vec<(bool, u64, Span)>,
}

type Said = (&'static str, &'static str);

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) replicas: u64,
    pub(super) able: Said,
    pub(super) limited: (bool, &'static str, &'static str),
}

const READY: Said = ("ReadyForNewScale", "recommended size matches current size");
const HELD: Said = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const HELD_UP: Said = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const FREE: Said = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FEW: Said =
    ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const TOO_MANY: Said =
    ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FAST: Said =
    ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const TOO_FAST_DOWN: Said = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
/// Without rules, what was wanted within this time is kept.
const WINDOW: Span = Span::mins(5);
/// Nothing older matters: the longest time that a rule may name.
const MEMORY: u64 = 3_600_000;

impl Bounds {
    pub(super) fn read(it: &Value) -> Self {
        let spec = &it["spec"];
        let rules = |it: &Value, up: bool| Rules::read(it, up);
        let behaviour = &spec["behavior"];
        Self {
            least: spec["minReplicas"].as_u64().unwrap_or(1),
            most: count(&spec["maxReplicas"]),
            rules: behaviour.is_object().then(|| {
                [rules(&behaviour["scaleUp"], true), rules(&behaviour["scaleDown"], false)]
            }),
        }
    }

    /// How many there will be of the `now` that there are, if so many are `wanted`.
    pub(super) fn choose(&self, at: Time, now: u64, wanted: u64, past: &mut Past) -> Choice {
        past.forget(Time::from_ms(at.as_ms().saturating_sub(MEMORY)));
        let within = |window: Span| {
            let from = at.as_ms().saturating_sub(window.as_ms());
            let recent = past.wanted.iter().filter(move |(then, _)| from < then.as_ms());
            recent.map(|(_, replicas)| *replicas)
        };
        let settled = match &self.rules {
            None => within(WINDOW).fold(wanted, u64::max),
            Some([up, down]) => {
                let low = within(up.window).fold(wanted, u64::min);
                let high = within(down.window).fold(wanted, u64::max);
                now.max(low).min(high)
            }
        };
        past.wanted.push((at, wanted));
        let able = match settled == wanted {
            true => READY,
            false if self.rules.is_some() && now <= wanted => HELD_UP,
            false => HELD,
        };
        let (replicas, why) = self.limit(at, now, settled, past);
        Choice { replicas, able, limited: (replicas != settled, why.0, why.1) }
    }

    fn limit(&self, at: Time, now: u64, wanted: u64, past: &Past) -> (u64, Said) {
        let (slowest, fastest) = match &self.rules {
            None => (0, now.saturating_mul(2).max(4)),
            Some([up, down]) => {
                (down.limit(at, now, past, false).min(now), up.limit(at, now, past, true).max(now))
            }
        };
        let (most, above) =
            if self.most > fastest { (fastest, TOO_FAST) } else { (self.most, TOO_MANY) };
        let (least, below) =
            if self.least < slowest { (slowest, TOO_FAST_DOWN) } else { (self.least, TOO_FEW) };
        if wanted < least {
            (least, below)
        } else if most < wanted {
            (most, above)
        } else {
            (wanted, FREE)
        }
    }
}

impl Rules {
    fn read(it: &Value, up: bool) -> Self {
        let policies = items(&it["policies"]).iter().map(|policy| {
            let period = Span::secs(count(&policy["periodSeconds"]));
            (policy["type"] == "Percent", count(&policy["value"]), period)
        });
        let mut policies: Vec<(bool, u64, Span)> = policies.collect();
        if policies.is_empty() {
            policies.push((true, 100, Span::secs(15)));
            if up {
                policies.push((false, 4, Span::secs(15)));
            }
        }
        let usual = if up { Span::ZERO } else { WINDOW };
        Self {
            window: it["stabilizationWindowSeconds"].as_u64().map_or(usual, Span::secs),
            disabled: text(&it["selectPolicy"]) == "Disabled",
            careful: text(&it["selectPolicy"]) == "Min",
            policies,
        }
    }

    /// How far it may go from `now` in this direction.
    fn limit(&self, at: Time, now: u64, past: &Past, up: bool) -> u64 {
        if self.disabled {
            return now;
        }
        let changed = |list: &[(Time, u64)], period: Span| -> u64 {
            let from = at.as_ms().saturating_sub(period.as_ms());
            list.iter().filter(|(then, _)| from < then.as_ms()).map(|it| it.1).sum()
        };
        let far = self.policies.iter().map(|(percent, value, period)| {
            let start =
                (now + changed(&past.downs, *period)).saturating_sub(changed(&past.ups, *period));
            match (up, percent) {
                (true, false) => start.saturating_add(*value),
                (true, true) => start.saturating_mul(100 + value).div_ceil(100),
                (false, false) => start.saturating_sub(*value),
                (false, true) => start.saturating_mul(100_u64.saturating_sub(*value)) / 100,
            }
        });
        // Upwards the greater number is the greater change, downwards the smaller.
        if up == self.careful { far.min() } else { far.max() }.unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounds(behaviour: &Value) -> Bounds {
        Bounds::read(&json!({"spec": {"minReplicas": 2, "maxReplicas": 20, "behavior": behaviour}}))
    }

    #[test]
    fn it_goes_no_farther_and_no_faster_than_it_may() {
        let down = json!({"scaleDown": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}],
        }});
        let up = json!({"scaleUp": {
            "selectPolicy": "Min",
            "policies": [
                {"type": "Pods", "value": 3, "periodSeconds": 60},
                {"type": "Percent", "value": 10, "periodSeconds": 60},
            ],
        }});
        let never = json!({"scaleUp": {"selectPolicy": "Disabled"}});
        #[rustfmt::skip]
        let rows = [
            // behaviour     now wanted  is  because
            (&Value::Null,   2,  3,      3,  "DesiredWithinRange"),
            (&Value::Null,   1,  9,      4,  "ScaleUpLimit"),
            (&Value::Null,   5,  18,     10, "ScaleUpLimit"),
            (&Value::Null,   15, 40,     20, "TooManyReplicas"),
            (&Value::Null,   2,  1,      2,  "TooFewReplicas"),
            (&down,          10, 3,      8,  "ScaleDownLimit"),
            (&down,          3,  1,      2,  "TooFewReplicas"),
            (&up,            10, 20,     11, "ScaleUpLimit"),
            (&never,         5,  9,      5,  "ScaleUpLimit"),
        ];
        for (behaviour, now, wanted, is, because) in rows {
            let mut past = Past::default();
            let choice = bounds(behaviour).choose(Time::from_ms(9_000_000), now, wanted, &mut past);
            assert_eq!((choice.replicas, choice.limited.1), (is, because), "{behaviour} {now}");
        }
    }

    #[test]
    fn what_was_wanted_a_while_ago_keeps_it_up() {
        let mut past = Past::default();
        let at = |secs: u64| Time::from_ms(secs * 1000);
        past.begin(at(1000), 10);
        assert_eq!(bounds(&Value::Null).choose(at(1200), 10, 3, &mut past).replicas, 10);
        assert_eq!(bounds(&Value::Null).choose(at(1301), 10, 3, &mut past).replicas, 3);
    }
}
