internal import FerryTesting
internal import NIOCore

/// The peer of a transcript. Without a machine, it is silent until the client ends.
struct ReplayPeer: Peer {
    var machine: ReplayMachine?

    mutating func opened(at now: Duration) -> [ReplayAction] { self.machine?.opened(at: now) ?? [] }

    mutating func received(_ bytes: [UInt8], at now: Duration) throws -> [ReplayAction] {
        try self.machine?.received(bytes, at: now) ?? []
    }

    mutating func receivedEnd(at now: Duration) throws -> [ReplayAction] {
        try self.machine?.receivedEnd(at: now) ?? [.end]
    }

    mutating func timePassed(at now: Duration) -> [ReplayAction] { self.machine?.timePassed(at: now) ?? [] }
}

/// The simulated gateway as a peer. Its events are recorded.
struct GatewayPeer: Peer {
    private var machine: SimulatedGatewayMachine
    private let connection: Int
    private let recording: Recording

    init(_ rules: GatewayRules, connection: Int, recording: Recording) {
        self.machine = SimulatedGatewayMachine(rules: rules, connection: connection)
        self.connection = connection
        self.recording = recording
    }

    mutating func opened(at now: Duration) -> [ReplayAction] { self.noted(self.machine.opened(at: now), now) }

    mutating func received(_ bytes: [UInt8], at now: Duration) -> [ReplayAction] {
        self.noted(self.machine.received(ByteBuffer(bytes: bytes), at: now), now)
    }

    mutating func receivedEnd(at now: Duration) -> [ReplayAction] { self.noted(self.machine.inputClosed(), now) }

    mutating func timePassed(at now: Duration) -> [ReplayAction] { self.noted(self.machine.timePassed(at: now), now) }

    private func noted(_ actions: [GatewayAction], _ now: Duration) -> [ReplayAction] {
        actions.compactMap { action in
            if let kind = action.kind {
                self.recording.add(Transcript.Event(now, .server, kind, connection: self.connection))
            }
            return ReplayAction(action)
        }
    }
}

/// The events of a recording. Used by one test at a time.
final class Recording {
    private(set) var events: [Transcript.Event] = []

    func add(_ event: Transcript.Event) {
        // A side has no events after its end.
        let hasEnded = self.events.contains {
            $0.connection == event.connection && $0.sender == event.sender && ($0.kind == .end || $0.kind == .reset)
        }
        if !hasEnded { self.events.append(event) }
    }
}

extension GatewayAction {
    fileprivate var kind: Transcript.Kind? {
        switch self {
        case .write(let bytes): .bytes(bytes)
        case .closeOutput: .halfClose
        case .close: .end
        case .reset: .reset
        case .stopReading, .gone, .wake: nil
        }
    }
}

extension ReplayAction {
    fileprivate init?(_ action: GatewayAction) {
        switch action {
        case .write(let bytes): self = .send(bytes)
        case .closeOutput: self = .halfClose
        case .close: self = .end
        case .reset: self = .reset
        case .wake(let time): self = .wake(at: time)
        case .stopReading, .gone: return nil
        }
    }
}
