internal import ArgumentParser
internal import FerryTerminal

/// The option for the progress of a long command. On a terminal the progress is shown also without it.
struct ProgressOptions: ParsableArguments {
    @Flag(help: "Without a terminal: say on standard error every 30 s how far it is.")
    var progress = false

    /// Nil: nothing is shown.
    var display: ProgressDisplay? { ProgressDisplay(wantsLines: self.progress) }
}
