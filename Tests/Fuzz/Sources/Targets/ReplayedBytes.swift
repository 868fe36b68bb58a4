@testable import FerryTesting

/// The property: with any transcript and any bytes of a peer, a machine ends or names the missing event, and never
/// traps. The peer's bytes from the transcript itself always match.
func fuzzReplayedBytes(_ input: inout FuzzInput) {
    let service: Transcript.Service = input.byte() % 2 == 0 ? .gateway : .feedback
    let side: Transcript.Side = input.byte() % 2 == 0 ? .client : .server
    let sent = Array(input.rest.prefix(input.rest.count / 2)), answered = Array(input.rest.dropFirst(sent.count))
    let transcript = Transcript(
        service: service,
        events: [
            Transcript.Event(.zero, .client, .open),
            Transcript.Event(.seconds(1), side, .bytes(sent)),
            Transcript.Event(.seconds(2), side.peer, .bytes(answered)),
            Transcript.Event(.seconds(3), side.peer, .end),
        ]
    )
    guard let part = transcript.parts(playing: side.peer)[1] else { return }
    for mode in [ReplayMode.exact, .semantic] {
        var machine = ReplayMachine(part, mode: mode)
        _ = machine.opened(at: .zero)
        do {
            _ = try machine.received(sent, at: .zero)
        } catch {
            fatalError("\(error)")
        }
        if side == .client { require(machine.isFinished) }
        var other = ReplayMachine(part, mode: mode)
        _ = other.opened(at: .zero)
        _ = try? other.received(answered, at: .zero)
        _ = try? other.receivedEnd(at: .zero)
        _ = other.missing?.description
    }
}
