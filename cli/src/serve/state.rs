//! What a server has when it starts: nothing yet, or what `--state-dir` kept.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use drawbridge_server::{Clock, Keys, KubeHost, Player, SharedTape, SlurmHost, random_number};
use drawbridge_sim::{Epoch, Seed, Time};

use super::{
    recording::{End, Header, Recorder, Recording},
    setting::Setting,
};
use crate::{args::ServeArgs, failure::Failure};

/// Where a server begins.
pub(super) struct State {
    pub(super) setting: Setting,
    pub(super) seed: Seed,
    pub(super) clock: Clock,
    /// What came before, in order.
    came: Option<Recording>,
    /// Where what comes is kept.
    recorder: Option<Arc<Mutex<Recorder>>>,
    folder: Option<PathBuf>,
}

impl State {
    /// What the command line says, or what was kept.
    pub(super) fn of(args: &ServeArgs) -> Result<Self, Failure> {
        let setting = Setting::of(args)?;
        match &args.state_dir {
            Some(folder) => Self::kept(args, setting, folder),
            None => Self::fresh(args, setting),
        }
    }

    fn fresh(args: &ServeArgs, setting: Setting) -> Result<Self, Failure> {
        let clock = Clock::start(args.speed);
        let seed = seed(args)?;
        let header = Header::new(setting.clone(), seed.0, clock.began_unix());
        let record = |path: &PathBuf| Recorder::begin(path, &header, "--record");
        let recorder = args.record.as_ref().map(record).transpose()?;
        let recorder = recorder.map(|recorder| Arc::new(Mutex::new(recorder)));
        Ok(Self { setting, seed, clock, came: None, recorder, folder: None })
    }

    fn kept(args: &ServeArgs, setting: Setting, folder: &Path) -> Result<Self, Failure> {
        let unusable = |error| Failure::path(folder, error, "give a folder that can be written");
        fs::create_dir_all(folder).map_err(unusable)?;
        let path = folder.join("recording.jsonl");
        let begin = |clock: Clock, seed: Seed| {
            let header = Header::new(setting.clone(), seed.0, clock.began_unix());
            Recorder::begin(&path, &header, "--state-dir")
        };
        let (clock, seed, came, recorder) = if path.exists() {
            let came = Recording::read(&path)?;
            check(args, &setting, &came.header, folder)?;
            let clock = Clock::resume(args.speed, came.header.began_unix, came.last());
            let recorder = Recorder::go_on(&path, &came)?;
            (clock, Seed(came.header.seed), Some(came), recorder)
        } else {
            let (clock, seed) = (Clock::start(args.speed), seed(args)?);
            (clock, seed, None, begin(clock, seed)?)
        };
        let recorder = Some(Arc::new(Mutex::new(recorder)));
        Ok(Self { setting, seed, clock, came, recorder, folder: Some(folder.to_owned()) })
    }

    pub(super) fn epoch(&self) -> Epoch {
        Epoch::from_unix(self.clock.began_unix())
    }

    /// Lets what came before come again, for the Kubernetes side.
    pub(super) fn repeat_kube(&self, host: &mut impl KubeHost) {
        let mut player = Player::default();
        for (at, what) in self.came.iter().flat_map(|came| &came.came) {
            player.kube(host, *at, what);
        }
    }

    /// The same for both sides.
    pub(super) fn repeat(&self, host: &mut (impl KubeHost + SlurmHost)) {
        if let Some(came) = &self.came {
            repeat(host, came);
        }
    }

    pub(super) fn tape(&self) -> Option<SharedTape> {
        self.recorder.clone().map(|recorder| recorder as SharedTape)
    }

    /// Writes the last words.
    pub(super) fn end(&self, at: Time, end: End) {
        if let Some(recorder) = &self.recorder {
            recorder.lock().unwrap_or_else(std::sync::PoisonError::into_inner).end(at, end);
        }
    }

    /// The keys that were kept, or new ones.
    pub(super) fn keys(&self, address: IpAddr) -> Result<Keys, Failure> {
        let made = || Keys::make(address).map_err(|error| super::no_server(&error));
        let Some(folder) = &self.folder else { return made() };
        let path = folder.join("keys.json");
        let kept =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Keys>(&bytes).ok());
        if let Some(keys) = kept.filter(|keys| keys.are_for(address)) {
            return Ok(keys);
        }
        let keys = made()?;
        let text =
            serde_json::to_vec(&keys).map_err(|error| Failure::Process(error.to_string()))?;
        super::write_private(&path, &text, "--state-dir")?;
        Ok(keys)
    }
}

/// Lets a whole recording come again.
pub(crate) fn repeat(host: &mut (impl KubeHost + SlurmHost), came: &Recording) {
    let mut player = Player::default();
    for (at, what) in &came.came {
        player.kube(host, *at, what);
        player.slurm(host, *at, what);
    }
}

fn seed(args: &ServeArgs) -> Result<Seed, Failure> {
    match args.seed {
        Some(seed) => Ok(seed),
        None => {
            let drawn = random_number().map_err(|error| Failure::Process(error.to_string()))?;
            Ok(Seed(drawn))
        }
    }
}

/// What was kept goes on only as what it was.
fn check(
    args: &ServeArgs,
    setting: &Setting,
    header: &Header,
    folder: &Path,
) -> Result<(), Failure> {
    let same_seed = args.seed.is_none_or(|seed| seed.0 == header.seed);
    if *setting == header.setting && same_seed {
        return Ok(());
    }
    Err(Failure::path(
        folder,
        "what is kept there began with another scenario, or other options",
        "serve it with those, or give another folder with --state-dir",
    ))
}
