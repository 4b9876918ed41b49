//! The way to Slurm, as dialogues.

use drawbridge_core::{
    link::EndpointState,
    slurm::ApiVersion::{V40, V42, V43, V45},
};

use crate::servers::{Asker, Outside, Server};

const GOOD: Outside = Outside { servers: [Server::Serves(V43), Server::Serves(V45)], token: true };

#[test]
fn the_newest_version_that_is_served_is_found_by_pings() {
    let mut asker = Asker::new(None);
    asker.pass(&GOOD, 2);
    insta::assert_snapshot!(asker.dialogue(), @"
    00:00:00.000 > Version a v0.0.45: not served: Unable find requested URL.
    00:00:00.000 > Version a v0.0.44: not served: Unable find requested URL.
    00:00:00.000 > Version a v0.0.43: ok
    00:00:00.000     = a speaks v0.0.43
    00:00:00.000 > request a v0.0.43: ok
    00:00:01.000 > request a v0.0.43: ok
    ");
}

#[test]
fn a_pinned_version_is_the_only_one() {
    let mut asker = Asker::new(Some(V42));
    asker.pass(&GOOD, 1);
    let alien = Outside { servers: [Server::Serves(V45), Server::Serves(V45)], ..GOOD };
    let mut other = Asker::new(Some(V42));
    other.pass(&alien, 4);
    insta::assert_snapshot!(asker.dialogue() + "\n\n" + &other.dialogue(), @"
    00:00:00.000 > Version a v0.0.42: ok
    00:00:00.000     = a speaks v0.0.42
    00:00:00.000 > request a v0.0.42: ok

    00:00:00.000 > Version a v0.0.42: not served: Unable find requested URL.
    00:00:00.000     = a: not served: it doesn't serve v0.0.42, which the configuration asks for (Unable find requested URL)
    00:00:00.000 > Version b v0.0.42: not served: Unable find requested URL.
    00:00:00.000     = b: not served: it doesn't serve v0.0.42, which the configuration asks for (Unable find requested URL)
    00:00:01.000 > Version b v0.0.42: not served: Unable find requested URL.
    00:00:01.000 > Version a v0.0.42: not served: Unable find requested URL.
    00:00:03.000 > Version a v0.0.42: not served: Unable find requested URL.
    00:00:03.000 > Version b v0.0.42: not served: Unable find requested URL.
    ");
}

#[test]
fn the_next_server_is_asked_and_kept() {
    let mut asker = Asker::new(None);
    asker.pass(&GOOD, 1);
    asker.dialogue();
    asker.pass(&Outside { servers: [Server::Down, Server::Serves(V45)], ..GOOD }, 3);
    asker.pass(&GOOD, 30);
    assert_eq!(asker.link.status().current, 1, "the first is well again, and isn't needed");
    let log = asker.dialogue();
    let beginning: Vec<&str> = log.lines().take(8).collect();
    insta::assert_snapshot!(beginning.join("\n"), @"
    00:00:01.000 > request a v0.0.43: out of reach: refused
    00:00:01.000     = a: out of reach: refused
    00:00:02.000 > Version a v0.0.45: out of reach: refused
    00:00:02.000 > Version b v0.0.45: ok
    00:00:02.000     = b speaks v0.0.45
    00:00:02.000     = asking b from now on
    00:00:02.000 > request b v0.0.45: ok
    00:00:03.000 > request b v0.0.45: ok
    ");
}

#[test]
fn servers_that_are_all_out_of_reach_are_tried_less_and_less_often() {
    let mut asker = Asker::new(None);
    let dead = Outside { servers: [Server::Down, Server::Down], ..GOOD };
    asker.pass(&dead, 40);
    asker.pass(&GOOD, 16);
    insta::assert_snapshot!(asker.dialogue(), @"
    00:00:00.000 > Version a v0.0.45: out of reach: refused
    00:00:00.000     = a: out of reach: refused
    00:00:00.000 > Version b v0.0.45: out of reach: refused
    00:00:00.000     = b: out of reach: refused
    00:00:01.000 > Version b v0.0.45: out of reach: refused
    00:00:01.000 > Version a v0.0.45: out of reach: refused
    00:00:03.000 > Version a v0.0.45: out of reach: refused
    00:00:03.000 > Version b v0.0.45: out of reach: refused
    00:00:07.000 > Version b v0.0.45: out of reach: refused
    00:00:07.000 > Version a v0.0.45: out of reach: refused
    00:00:15.000 > Version a v0.0.45: out of reach: refused
    00:00:15.000 > Version b v0.0.45: out of reach: refused
    00:00:30.000 > Version b v0.0.45: out of reach: refused
    00:00:30.000 > Version a v0.0.45: out of reach: refused
    00:00:45.000 > Version a v0.0.45: not served: Unable find requested URL.
    00:00:45.000 > Version a v0.0.44: not served: Unable find requested URL.
    00:00:45.000 > Version a v0.0.43: ok
    00:00:45.000     = a speaks v0.0.43
    00:00:45.000 > request a v0.0.43: ok
    00:00:46.000 > request a v0.0.43: ok
    00:00:47.000 > request a v0.0.43: ok
    00:00:48.000 > request a v0.0.43: ok
    00:00:49.000 > request a v0.0.43: ok
    00:00:50.000 > request a v0.0.43: ok
    00:00:51.000 > request a v0.0.43: ok
    00:00:52.000 > request a v0.0.43: ok
    00:00:53.000 > request a v0.0.43: ok
    00:00:54.000 > request a v0.0.43: ok
    00:00:55.000 > request a v0.0.43: ok
    ");
}

#[test]
fn one_lost_reply_is_no_death() {
    let mut asker = Asker::new(None);
    asker.pass(&GOOD, 1);
    let mute = Outside { servers: [Server::Mute, Server::Serves(V45)], ..GOOD };
    asker.pass(&mute, 1);
    asker.pass(&GOOD, 1);
    assert_eq!(asker.link.status().current, 0);
    asker.dialogue();
    asker.pass(&mute, 3);
    insta::assert_snapshot!(asker.dialogue(), @"
    00:00:03.000 > request a v0.0.43: no reply: timed out
    00:00:04.000 > request a v0.0.43: no reply: timed out
    00:00:04.000     = a: no reply: timed out
    00:00:05.000 > Version a v0.0.45: no reply: timed out
    00:00:05.000 > Version b v0.0.45: ok
    00:00:05.000     = b speaks v0.0.45
    00:00:05.000     = asking b from now on
    00:00:05.000 > request b v0.0.45: ok
    ");
}

#[test]
fn a_server_that_was_upgraded_is_spoken_to_in_its_new_version() {
    let mut asker = Asker::new(None);
    asker.pass(&Outside { servers: [Server::Serves(V40), Server::Down], ..GOOD }, 1);
    asker.dialogue();
    asker.pass(&Outside { servers: [Server::Serves(V43), Server::Down], ..GOOD }, 2);
    insta::assert_snapshot!(asker.dialogue(), @"
    00:00:01.000 > request a v0.0.40: not served: Unable find requested URL.
    00:00:01.000     = a no longer knows what it served
    00:00:02.000 > Version a v0.0.45: not served: Unable find requested URL.
    00:00:02.000 > Version a v0.0.44: not served: Unable find requested URL.
    00:00:02.000 > Version a v0.0.43: ok
    00:00:02.000     = a speaks v0.0.43
    00:00:02.000 > request a v0.0.43: ok
    ");
}

#[test]
fn a_server_that_contradicts_itself_is_not_asked_in_a_storm() {
    let mut asker = Asker::new(None);
    asker.pass(&Outside { servers: [Server::Hollow(V45), Server::Alien], ..GOOD }, 60);
    assert!(asker.sent < 120, "{}", asker.sent);
}

#[test]
fn an_expired_token_shuts_the_way_until_a_small_question_goes_through() {
    let mut asker = Asker::new(None);
    asker.pass(&GOOD, 1);
    asker.dialogue();
    let expired = Outside { token: false, ..GOOD };
    asker.pass(&expired, 9);
    assert_eq!(asker.link.status().token_refused.as_deref(), Some("expired"));
    assert!(!asker.link.status().is_ready());
    asker.pass(&GOOD, 7);
    assert!(asker.link.status().is_ready());
    insta::assert_snapshot!(asker.dialogue(), @"
    00:00:01.000 > request a v0.0.43: the token is not accepted: expired
    00:00:01.000     = the token was refused: expired
    00:00:02.000 > Token a v0.0.43: the token is not accepted: expired
    00:00:04.000 > Token a v0.0.43: the token is not accepted: expired
    00:00:08.000 > Token a v0.0.43: the token is not accepted: expired
    00:00:16.000 > Token a v0.0.43: ok
    00:00:16.000     = the token is accepted again
    00:00:16.000 > request a v0.0.43: ok
    ");
}

#[test]
fn the_status_says_how_each_server_is() {
    let mut asker = Asker::new(None);
    asker.pass(&Outside { servers: [Server::Down, Server::Serves(V42)], ..GOOD }, 1);
    let status = asker.link.status();
    assert_eq!(status.current, 1);
    assert_eq!(status.endpoints[1].state, EndpointState::Ready(V42));
    let EndpointState::Resting { why, .. } = &status.endpoints[0].state else { panic!() };
    assert_eq!(why, "out of reach: refused");
}
