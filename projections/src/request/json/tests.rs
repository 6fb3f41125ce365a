use super::*;
use alloc::boxed::Box;
use annals_core::Seq;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![any::<char>(), prop::sample::select(alloc::vec!['"', '\\', '\n', '\u{1}', 'ä', '\u{7f}'])],
        0..12,
    )
    .prop_map(|letters| letters.into_iter().collect())
}

fn attachment() -> impl Strategy<Value = Attachment> {
    (text(), prop::option::of(text()), text()).prop_map(|(mime, name, uri)| Attachment {
        mime,
        name,
        uri: Text::Inline(uri),
    })
}

fn block() -> impl Strategy<Value = Block> {
    let json = || prop_oneof![text(), Just(r#"{"b": 1, "a": ["ä\n"]}"#.into()), Just("[1e3]".into())];
    let seq = Some(Seq(1));
    let result =
        (text(), prop::option::of(text()), prop::option::of(text()), prop::collection::vec(attachment(), 0..2));
    let blocks: [BoxedStrategy<Block>; 6] = [
        (text(), prop::option::of(text()))
            .prop_map(move |(text, metadata)| Block::Text { text, metadata, seq })
            .boxed(),
        (text(), prop::option::of(text()))
            .prop_map(move |(text, metadata)| Block::Reasoning { text, metadata, seq })
            .boxed(),
        attachment().prop_map(move |attachment| Block::Media { attachment, seq }).boxed(),
        (text(), text(), json(), any::<bool>())
            .prop_map(move |(id, tool, input, hosted)| Block::Call {
                id: CallId(id),
                tool,
                input,
                hosted,
                metadata: None,
                seq,
            })
            .boxed(),
        (text(), json()).prop_map(move |(id, result)| Block::HostedResult { id: CallId(id), result, seq }).boxed(),
        result
            .prop_map(move |(id, output, error, attachments)| Block::Result {
                result: ToolResult { id: CallId(id), output, error, attachments },
                seq,
            })
            .boxed(),
    ];
    prop::strategy::Union::new(Box::<[_]>::from(blocks))
}

proptest! {
    #[test]
    fn the_size_of_a_message_is_that_of_its_json(blocks in prop::collection::vec(block(), 0..5)) {
        for role in [Role::User, Role::Assistant, Role::System, Role::Tool] {
            let message = RequestMessage { role, blocks: blocks.clone() };
            prop_assert_eq!(request_message_chars(&message), chars(RequestMessageJson::of(&message)));
        }
    }
}
