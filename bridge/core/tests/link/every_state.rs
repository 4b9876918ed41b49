//! Every state of two servers and a token, followed by every other: nobody is asked in a storm, and
//! as soon as one server is well for half a minute it is in use.

use drawbridge_core::slurm::ApiVersion::{V40, V43, V45};

use crate::servers::{Asker, Attempt, Outside, Server};

const STATES: [Server; 6] = [
    Server::Down,
    Server::Mute,
    Server::Serves(V40),
    Server::Serves(V45),
    Server::Hollow(V43),
    Server::Alien,
];

fn everywhere() -> impl Iterator<Item = Outside> + Clone {
    let servers = STATES.into_iter().flat_map(|a| STATES.into_iter().map(move |b| [a, b]));
    servers.flat_map(|servers| [true, false].map(|token| Outside { servers, token }))
}

/// A server that isn't well may be in use only until it is found out.
fn found_out(attempt: &Attempt, outside: &Outside) -> bool {
    match attempt {
        Attempt::Answered(via) => outside.answers(via.endpoint),
        Attempt::Failed(..) | Attempt::TurnedAway(_) => true,
    }
}

#[test]
fn whatever_happened_a_server_that_is_well_is_found_within_half_a_minute() {
    let mut tried = 0;
    for first in everywhere() {
        let mut after_first = Asker::new(None);
        after_first.pass(&first, 7);
        for second in everywhere() {
            let mut asker = after_first.clone();
            asker.pass(&second, 5);
            let is_well = second.answers(0) || second.answers(1);
            let before = asker.sent;
            let mut answered = 0;
            for _ in 0..60 {
                let attempt = asker.ask(&second);
                assert!(found_out(&attempt, &second), "{first:?} {second:?}: {attempt:?}");
                answered += usize::from(matches!(attempt, Attempt::Answered(_)));
                asker.now = asker.now + drawbridge_sim::Span::secs(1);
            }
            let sent = asker.sent - before;
            assert!(sent <= 60 + 2 * 6 * 10, "{first:?} {second:?}: {sent} requests in a minute");
            assert_eq!(answered >= 30, is_well, "{first:?} {second:?}: {answered} answers");
            tried += 1;
        }
    }
    assert_eq!(tried, 72 * 72);
}
