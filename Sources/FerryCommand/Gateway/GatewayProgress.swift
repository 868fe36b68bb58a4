internal import FerryGateway
internal import FerryTerminal

/// The line of a gateway that was started in a terminal.
enum GatewayProgress {
    /// Shows the line, if standard error is a terminal.
    static func show(_ gateway: Gateway) -> ShownProgress? {
        guard Console.isTerminal else { return nil }
        return ProgressDisplay.terminal.show { (try? await gateway.counts).map(Self.progress) }
    }

    static func progress(_ counts: FateCounts) -> WorkProgress {
        WorkProgress(
            count: counts.read,
            words: [
                "read \(counts.read)", "accepted \(counts.accepted)",
                "rejected \(counts.refused + counts.refusedHere + counts.knownBad)",
                "waiting \(counts.unanswered)",
            ]
        )
    }
}
