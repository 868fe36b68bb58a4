internal import FerryCore
internal import NIOCore

/// Questions about a connection.
///
/// `@inline(never)`: Swift 6.3.1 aborts ("Found ownership error") when it inlines a switch over a noncopyable enum that
/// is borrowed from a class. The cost is one call for each write and each sample, not for each notification.
extension BinaryConnection {
    @inline(never)
    var id: ConnectionID? {
        switch self.state {
        case .dialling(let id, _): id
        default: self.establishedID
        }
    }

    /// The number of the connection; nil unless TLS is established.
    @inline(never)
    var establishedID: ConnectionID? {
        switch self.state {
        case .open(let open): open.id
        case .probing(let probing): probing.id
        case .finishing(let finishing): finishing.id
        default: nil
        }
    }

    /// The probe that waits for its answer.
    @inline(never)
    var probe: Probe? {
        switch self.state {
        case .probing(let probing): probing.probe
        default: nil
        }
    }

    /// The state of an open connection; nil unless notifications may be written.
    @inline(never)
    var open: Open? {
        switch self.state {
        case .open(let open): open
        default: nil
        }
    }

    /// When the wait for the peer's end of stream ends; nil unless we have half-closed the connection.
    @inline(never)
    var finishingUntil: NIODeadline? {
        switch self.state {
        case .finishing(let finishing): finishing.until
        default: nil
        }
    }

    /// Whether the next connection may not be made yet.
    @inline(never)
    var isWaiting: Bool {
        switch self.state {
        case .waiting: true
        default: false
        }
    }

    var isFinishing: Bool { self.finishingUntil != nil }

    /// Whether there is no connection, and no reason to wait before the next one.
    @inline(never)
    func mayBeDialled(now: NIODeadline) -> Bool {
        switch self.state {
        case .idle: true
        case .waiting(let until): until <= now
        default: false
        }
    }

    /// The number of notifications whose outcome rests on silence.
    var presumedCount: Int {
        let settledTo = min(self.cache.settledTo, self.probeSequence ?? .max)
        return Int(settledTo - min(self.cache.provedTo, settledTo))
    }

    /// How well the connection has served while notifications could be written.
    @inline(never)
    var progress: Progress {
        switch self.state {
        case .open(let open): open.progress
        case .probing(let probing): probing.progress
        default: .none
        }
    }

    /// The sequence number of the probe, answered or not; nil when no probe was written.
    @inline(never)
    var probeSequence: UInt64? {
        switch self.state {
        case .probing(let probing): probing.probe.sequence
        case .finishing(let finishing): finishing.probe
        default: nil
        }
    }
}
