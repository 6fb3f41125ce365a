use super::*;
use annals_core::CallId;
use tempfile::TempDir;

fn question(text: &str) -> UserQuestion {
    UserQuestion {
        session: SessionId::from_parts(1, 1),
        call: CallId::from("c1"),
        question: text.into(),
        options: vec!["tabs".into(), "spaces".into()],
        multiple: false,
    }
}

/// The tool's side, the terminal's side, and what other processes see.
struct Asking {
    tool: PromptSender,
    terminal: mpsc::UnboundedReceiver<WaitingPrompt>,
    others: AskedPrompts,
    _folder: TempDir,
}

impl Asking {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let store = StorePath::from(folder.path());
        let (tool, prompts) = PromptSender::channel();
        let others = AskedPrompts::of(&store);
        Self { tool, terminal: shared(prompts, &store), others, _folder: folder }
    }

    fn ask(&self, text: &str) -> tokio::task::JoinHandle<Option<String>> {
        let (tool, asked) = (self.tool.clone(), question(text));
        tokio::spawn(async move { tool.ask(asked).await })
    }

    /// Waits until so many questions are seen elsewhere.
    async fn listed(&self, count: usize) -> Vec<AskedPrompt> {
        loop {
            let found = self.others.list().await;
            if found.len() == count {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn another_process_answers_and_the_terminal_takes_its_question_back() {
    let mut asking = Asking::new();
    let answer = asking.ask("Tabs or spaces?");
    let mut shown = asking.terminal.recv().await.expect("the terminal asks, too");
    let [listed] = asking.listed(1).await.try_into().expect("one");
    assert_eq!(listed.asked, question("Tabs or spaces?"));
    let (session, name) = (listed.asked.session, listed.name);
    assert!(!asking.others.answer(SessionId::from_parts(2, 2), &name, None).await, "another session asks");
    assert!(asking.others.answer(session, &name, Some("tabs".into())).await);
    assert_eq!(answer.await.expect("it ends"), Some("tabs".into()));
    shown.withdrawn().await;
    asking.listed(0).await;
    assert!(!asking.others.answer(session, &name, Some("spaces".into())).await, "it is answered");
}

#[tokio::test]
async fn an_answer_in_the_terminal_or_an_interruption_ends_the_question_elsewhere() {
    let mut asking = Asking::new();
    let answered = asking.ask("One?");
    let shown = asking.terminal.recv().await.expect("asked");
    asking.listed(1).await;
    shown.answer(Some("spaces".into()));
    assert_eq!(answered.await.expect("it ends"), Some("spaces".into()));
    asking.listed(0).await;
    let interrupted = asking.ask("Two?");
    let mut shown = asking.terminal.recv().await.expect("asked");
    asking.listed(1).await;
    interrupted.abort();
    shown.withdrawn().await;
    asking.listed(0).await;
}

#[tokio::test]
async fn names_are_not_paths_and_who_only_connects_delays_nobody() {
    let mut asking = Asking::new();
    let answer = asking.ask("Which?");
    let _shown = asking.terminal.recv().await.expect("asked");
    let [listed] = asking.listed(1).await.try_into().expect("one");
    for name in ["", "../asked", "a", "..", "1/2"] {
        assert!(!asking.others.answer(listed.asked.session, name, None).await, "{name}");
    }
    let silent = asking.others.connect(&listed.name).await.expect("connected");
    assert!(asking.others.answer(listed.asked.session, &listed.name, None).await);
    assert_eq!(answer.await.expect("it ends"), None);
    drop(silent);
}
