//! Who makes the runs, each on a thread of its own.
//!
//! ```text
//!   scenario ─▶ twin ─┐
//!   file     ─▶ tape ─┼─▶ News ─▶ the loop ─▶ Model
//!   clusters ─▶ live ─┘   ◀─ Order: change the story, try things
//! ```

mod live;
mod tape;
mod twin;

use std::{
    fs::File,
    io::BufReader,
    path::PathBuf,
    sync::mpsc::{Sender, SyncSender, channel},
    thread,
};

use drawbridge_scenarios::{
    Scenario,
    format::{self, Files, NoFiles},
    recording::tape::Reader,
};
use drawbridge_sim::{JobId, Seed, Time};

pub use live::LiveSettings;

use crate::{
    model::{
        deed::Deed,
        explain::Remedy,
        msg::News,
        reel::{Origin, Reel},
    },
    run::Event,
};

/// A run to be opened.
pub struct Opening {
    /// What it is called.
    pub title: String,
    /// What it shows.
    pub why: String,
    /// Where it comes from.
    pub feed: Feed,
}

/// Where a run comes from.
pub enum Feed {
    /// A scenario that is played while it is looked at.
    Scenario(Box<Play>),
    /// A file that was recorded.
    Tape(Reader<BufReader<File>>),
    /// Real clusters.
    Live(LiveSettings),
}

/// A scenario to be played.
pub struct Play {
    /// Its path, as errors shall show it.
    pub name: String,
    /// Its text, to which changes are added.
    pub text: String,
    /// What it says.
    pub scenario: Scenario,
    /// The seed to play it with.
    pub seed: Seed,
    /// Files that it includes.
    pub files: Box<dyn Files + Send>,
    /// Where to record it.
    pub record: Option<PathBuf>,
}

/// A story that needs nothing: it is part of the program.
pub fn demo(seed: Option<Seed>) -> Opening {
    let text = include_str!("../demo.yaml").to_owned();
    let name = "demo.yaml".to_owned();
    let scenario =
        format::parse(&name, &text, &NoFiles).expect("the demo is played by a test of this crate");
    let seed = seed.unwrap_or(scenario.seed);
    let (title, why) = (scenario.name.clone(), scenario.why.clone());
    let play = Play { name, text, scenario, seed, files: Box::new(NoFiles), record: None };
    Opening { title, why, feed: Feed::Scenario(Box::new(play)) }
}

/// What the loop wants of whoever makes a run.
pub(crate) enum Order {
    /// Play on from a time with one more deed.
    Retell { at: Time, deed: Deed, text: String },
    /// Play this text from a time on.
    Restore { at: Time, text: String },
    /// Try things.
    Try { job: JobId, at: Time, event: u64, remedies: Vec<Remedy>, text: String },
    /// Do something to real clusters.
    Act(Deed),
}

/// A thread that makes a run.
pub(crate) struct Worker {
    orders: Sender<Order>,
}

/// Where a worker tells what it has.
#[derive(Clone)]
pub(crate) struct Outbox {
    which: usize,
    to: SyncSender<Event>,
}

impl Outbox {
    /// Tells something. `false` once nobody listens.
    pub(crate) fn tell(&self, news: News) -> bool {
        self.to.send(Event::News(Box::new(news))).is_ok()
    }
}

impl Opening {
    /// The run as nobody has seen it yet.
    pub(crate) fn reel(&self) -> Reel {
        let origin = match &self.feed {
            Feed::Scenario(play) => Origin::Twin(play.text.clone()),
            Feed::Tape(_) => Origin::Tape,
            Feed::Live(settings) => {
                Origin::Live { write: settings.write, zero_unix_ms: settings.zero_unix_ms }
            }
        };
        Reel::new(self.title.clone(), self.why.clone(), origin)
    }

    /// Starts to make it. The thread ends when nobody listens any more.
    pub(crate) fn start(self, which: usize, to: SyncSender<Event>) -> Worker {
        let (orders, taken) = channel();
        let out = Outbox { which, to };
        thread::spawn(move || match self.feed {
            Feed::Scenario(play) => twin::run(*play, &out, &taken),
            Feed::Tape(reader) => tape::run(reader, &out),
            Feed::Live(settings) => live::run(&settings, &out, &taken),
        });
        Worker { orders }
    }
}

impl Worker {
    /// Asks for something. Whoever can't do it has gone.
    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}
