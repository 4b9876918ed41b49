//! What is true whatever is pressed and however large the terminal is.

use drawbridge_scenarios::recording::{Chunk, Ending};
use drawbridge_sim::{Span, Time};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection::vec, prop_assert};

use super::{Cluster, model_of, picture};
use crate::model::{
    Model,
    msg::{Erase, MenuKind, Msg, Stride, Tab},
    prompt::Question,
};

fn plain() -> Vec<Msg> {
    vec![
        Msg::Help,
        Msg::LastTab,
        Msg::Related,
        Msg::First,
        Msg::Last,
        Msg::Start,
        Msg::End,
        Msg::Play,
        Msg::Why,
        Msg::Focus,
        Msg::All,
        Msg::Faults,
        Msg::Wide,
        Msg::Mark,
        Msg::Unmark,
        Msg::Back,
        Msg::Accept,
        Msg::Complete,
        Msg::Quit,
        Msg::Divergence,
        Msg::Theme(None),
        Msg::Copy(false),
        Msg::Copy(true),
        Msg::Undo,
        Msg::Try,
        Msg::Work,
        Msg::Bookmark("here".to_owned()),
    ]
}

fn any_msg() -> impl Strategy<Value = Msg> {
    let stride = prop_oneof![-9_i64..=9, any::<i64>()];
    prop_oneof![
        proptest::sample::select(plain()),
        proptest::sample::select(vec![
            Msg::Ask(Question::Filter),
            Msg::Ask(Question::Time),
            Msg::Ask(Question::Command),
            Msg::Ask(Question::Bookmark),
            Msg::Menu(MenuKind::Deeds),
            Msg::Menu(MenuKind::Columns),
            Msg::Menu(MenuKind::Bookmarks),
            Msg::Erase(Erase::Letter),
            Msg::Erase(Erase::Word),
            Msg::Erase(Erase::All),
        ]),
        any::<bool>().prop_flat_map(|on| {
            proptest::sample::select(vec![
                Msg::Moment(on),
                Msg::Selection(on),
                Msg::Speed(on),
                Msg::Sort(on),
                Msg::Zoom(on),
                Msg::Recall(on),
            ])
        }),
        proptest::sample::select(Tab::ALL.to_vec()).prop_map(Msg::Tab),
        any::<isize>().prop_map(|by| Msg::NextTab(by % 100)),
        prop_oneof![-3_isize..=3, any::<isize>()].prop_map(Msg::Move),
        prop_oneof![-3_isize..=3, any::<isize>()].prop_map(Msg::Page),
        any::<usize>().prop_map(Msg::Select),
        prop_oneof![-3_isize..=3, any::<isize>()].prop_map(Msg::Cursor),
        stride.prop_flat_map(|n| {
            let strides = [Stride::Events(n), Stride::Cycles(n), Stride::Seconds(n)];
            proptest::sample::select(strides.to_vec()).prop_map(Msg::Step)
        }),
        prop_oneof![0_u64..5000, any::<u64>()].prop_map(|ms| Msg::Tick(Span::ms(ms))),
        any::<u64>().prop_map(|ms| Msg::GoTo(Time::from_ms(ms))),
        (0_u64..=1000).prop_map(Msg::Scrub),
        any::<u64>().prop_map(Msg::SetSpeed),
        any::<i16>().prop_map(Msg::Scroll),
        proptest::sample::select("0159:.-+hmsring模\u{301}(!l=".chars().collect::<Vec<_>>())
            .prop_map(Msg::Type),
        "[a-z /=]{0,12}".prop_map(Msg::Paste),
        (0_u16..200, 0_u16..70).prop_map(|(width, height)| Msg::Resize(width, height)),
    ]
}

fn in_range(model: &Model) -> bool {
    let head = &model.playhead;
    let film = &model.reel.film;
    let chain = model.explanation.iter().flat_map(|it| &it.chain);
    head.event <= film.len()
        && head.now <= head.end
        && film.time_of(head.event) <= head.now
        && model.scene().still.event() == head.event
        && model.list().at < model.rows.len().max(1)
        && chain.clone().all(|seq| u64::from(*seq) < head.event)
}

proptest! {
    #[test]
    fn no_message_leads_out_of_range(msgs in vec(any_msg(), 0..60)) {
        let mut model = model_of(Cluster::chunk());
        for msg in msgs {
            model.update(msg.clone());
            prop_assert!(in_range(&model), "after {msg:?}: {:?}", model.playhead);
        }
    }

    #[test]
    fn every_state_can_be_drawn_at_every_size(
        msgs in vec(any_msg(), 0..20),
        size in prop_oneof![(0_u16..200, 0_u16..70), (Just(80), Just(24))],
    ) {
        let mut model = model_of(Cluster::chunk());
        for msg in msgs {
            model.update(msg);
        }
        picture(&model, size);
    }

    #[test]
    fn a_run_without_events_is_shown_as_well(msgs in vec(any_msg(), 0..30)) {
        let mut model = model_of(Chunk { ending: Some(Ending::default()), ..Chunk::default() });
        for msg in msgs {
            model.update(msg);
        }
        picture(&model, (80, 24));
    }
}
