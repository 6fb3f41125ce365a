//! The option `--fold`: a program that folds events, as a line for the shell or after `--`.

use annals_inspect::FoldCommand;

/// The program, and the positional argument that the option took for a line when the program follows `--`:
/// `diff --fold SESSION 3 5 -- CMD`.
pub fn fold_command(fold: Option<&str>, command: &[String]) -> Option<(FoldCommand, Option<String>)> {
    let line = fold?;
    Some(match (line.is_empty(), command.is_empty()) {
        (false, true) => (FoldCommand::shell(line), None),
        (true, _) => (FoldCommand::new(command.to_vec()), None),
        (false, false) => (FoldCommand::new(command.to_vec()), Some(line.to_owned())),
    })
}
