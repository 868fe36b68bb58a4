internal import FerryCore
internal import NIOCore

extension BinaryConnection {
    /// The state of a lane's connection.
    ///
    /// ```
    ///     ┌───── rest ─────┐
    ///     ▼                │
    ///   idle ── wait ──▶ waiting
    ///    │ ▲               │                    ┌───────────── finish ──────────────┐
    ///    │ │              dial                  │                                   │
    ///    │ │               ▼                    │                                   ▼
    ///    └─┼── dial ──▶ dialling ── opened ──▶ open ── probe ──▶ probing ── finish ──▶ finishing
    ///      │               │                    │                  │                  │
    ///      └──── close ────┴────────────────────┴──────────────────┴──────────────────┘
    /// ```
    enum State: ~Copyable {
        /// There is no connection, and no reason to wait before the next one.
        case idle
        /// There is no connection, and none may be made yet, after a failure or because the client may not dial now.
        case waiting(until: NIODeadline)
        /// The owner makes the connection, TLS included.
        case dialling(ConnectionID, since: NIODeadline)
        /// Notifications may be written.
        case open(Open)
        /// A probe is the last frame, and its answer is awaited.
        case probing(Probing)
        /// We have half-closed the connection. The peer reads the rest, and may still send an error response.
        case finishing(Finishing)
    }

    /// How well a connection has served so far.
    enum Progress: Comparable {
        case none
        /// A notification was presumed accepted.
        case presumed
        /// The peer's own response settled a notification.
        case proved
    }

    struct Open {
        let id: ConnectionID
        /// When the connection last carried something.
        fileprivate(set) var activeAt: NIODeadline
        fileprivate(set) var isWritable = true
        fileprivate(set) var progress = Progress.none
    }

    struct Probing {
        let id: ConnectionID
        let probe: Probe
        fileprivate(set) var progress: Progress
    }

    struct Finishing {
        let id: ConnectionID
        /// When the wait for the peer's end of stream ends.
        let until: NIODeadline
        /// The sequence number of the probe, if one was written. Its answer can come twice.
        let probe: UInt64?
    }

    /// The connection, or the attempt to make one, that ``State/close()`` ended.
    enum Closed {
        case nothing
        case attempt(ConnectionID, since: NIODeadline)
        /// - Parameter wasOfUse: whether the connection proved a notification, or we finished it. If so, the next
        ///   connection need not wait.
        case connection(ConnectionID, wasOfUse: Bool)
    }
}

extension BinaryConnection.State {
    mutating func dial(_ id: ConnectionID, now: NIODeadline) {
        switch consume self {
        case .idle: self = .dialling(id, since: now)
        case .waiting: self = .dialling(id, since: now)
        default: preconditionFailure("A lane has one connection at a time.")
        }
    }

    mutating func wait(until deadline: NIODeadline) {
        switch consume self {
        case .idle: self = .waiting(until: deadline)
        case .waiting: self = .waiting(until: deadline)
        default: preconditionFailure("A lane waits without connection.")
        }
    }

    mutating func rest() {
        switch consume self {
        case .idle: self = .idle
        case .waiting: self = .idle
        default: preconditionFailure("A lane rests without connection.")
        }
    }

    /// Returns false if nothing was being dialled.
    mutating func opened(now: NIODeadline) -> Bool {
        switch consume self {
        case .dialling(let id, _):
            self = .open(.init(id: id, activeAt: now))
            return true
        case let other:
            self = other
            return false
        }
    }

    /// Returns the connection that was being dialled, if any.
    mutating func stopDialling() -> ConnectionID? {
        switch consume self {
        case .dialling(let id, _):
            self = .idle
            return id
        case let other:
            self = other
            return nil
        }
    }

    mutating func probe(_ probe: Probe) {
        switch consume self {
        case .open(let open): self = .probing(.init(id: open.id, probe: probe, progress: open.progress))
        default: preconditionFailure("The probe is the last frame.")
        }
    }

    /// Returns the connection to half-close.
    mutating func finish(until deadline: NIODeadline) -> ConnectionID {
        switch consume self {
        case .open(let open):
            self = .finishing(.init(id: open.id, until: deadline, probe: nil))
            return open.id
        case .probing(let probing):
            self = .finishing(.init(id: probing.id, until: deadline, probe: probing.probe.sequence))
            return probing.id
        default: preconditionFailure("A connection is finished once.")
        }
    }

    mutating func close() -> BinaryConnection.Closed {
        let closed: BinaryConnection.Closed =
            switch consume self {
            case .idle: .nothing
            case .waiting: .nothing
            case .dialling(let id, let since): .attempt(id, since: since)
            case .open(let open): .connection(open.id, wasOfUse: open.progress == .proved)
            case .probing(let probing): .connection(probing.id, wasOfUse: probing.progress == .proved)
            case .finishing(let finishing): .connection(finishing.id, wasOfUse: true)
            }
        self = .idle
        return closed
    }

    /// Notes that the connection carried something. Only an open one can become idle.
    mutating func carried(now: NIODeadline) {
        switch consume self {
        case .open(var open):
            open.activeAt = now
            self = .open(open)
        case let other: self = other
        }
    }

    /// Notes whether the channel takes bytes. This matters only while notifications may be written.
    mutating func writability(_ isWritable: Bool) {
        switch consume self {
        case .open(var open):
            open.isWritable = isWritable
            self = .open(open)
        case let other: self = other
        }
    }

    /// Notes progress. In the state `finishing` it has no effect, because that connection counts as useful anyway.
    mutating func progressed(_ progress: BinaryConnection.Progress) {
        switch consume self {
        case .open(var open):
            open.progress = max(open.progress, progress)
            self = .open(open)
        case .probing(var probing):
            probing.progress = max(probing.progress, progress)
            self = .probing(probing)
        case let other: self = other
        }
    }
}
