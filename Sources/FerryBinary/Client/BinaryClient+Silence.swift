package import FerryCore
package import FerryMachine
internal import NIOCore

/// The operating system's reports about connections, and the notifications that silence settles.
extension BinaryClient {
    /// Takes the operating system's report about a connection.
    package mutating func sampled(_ id: ConnectionID, _ sample: TransportSample, now: Moment) {
        guard let lane = self.lane(of: id) else { return }
        self.learnDelay(now: now.monotonic)
        let looked = lane.connection.looked(
            sample,
            settleTime: self.delay.settleTime,
            quietTime: self.quietTime(lane),
            settles: self.settlesBySilence(lane),
            now: now.monotonic
        )
        switch looked {
        case .nothing: break
        case .silent(let settled, let isQuiet):
            if let settled { self.presume(before: settled, on: lane, now: now) }
            if isQuiet, !self.provesWindow(lane) { lane.cleared() }
        case .stalled: self.stalled(lane, sample, now: now)
        }
        self.advance(now: now)
    }

    /// Whether silence settles anything on the lane's connection. It does not while a shutdown proves the connection.
    /// With `finality: .proof` it does so only where no probe may be written, or in a search at the end of a run.
    private func settlesBySilence(_ lane: Lane) -> Bool {
        switch lane.connection.probe?.purpose {
        case .end, .search: return false
        case .room, nil: break
        }
        if self.provesWindow(lane) { return false }
        // During a search without probes silence must settle. Without outcomes the search would not end.
        if self.isProving { return lane.search != nil }
        return self.options.finality == .silence || !self.canProbe
    }

    /// How long a window of the lane's search must be silent; nil if no window waits for silence.
    func quietTime(_ lane: Lane) -> TimeAmount? {
        guard let search = lane.search else { return nil }
        if self.provesWindow(lane) { return self.isWindowWritten(lane) ? self.delay.probeQuietTime : nil }
        guard search.allowance <= 0, !lane.queue.isEmpty else { return nil }
        return search.quietTime(settleTime: self.delay.settleTime)
    }

    /// Settles everything before `end` as presumed accepted, after silence for the settle time.
    mutating func presume(before end: UInt64, on lane: Lane, now: Moment) {
        let settled = lane.connection.presume(before: end, now: now.monotonic)
        self.settle(settled, as: .accepted(.presumed))
        self.accepted(settled, isProved: false, on: lane, now: now)
    }

    /// Gives up a connection that had no acknowledgement for too long. How far the peer has read stays unknown.
    private mutating func stalled(_ lane: Lane, _ sample: TransportSample, now: Moment) {
        let seconds = Silence.stallLimit.nanoseconds / 1_000_000_000
        let message =
            sample.acknowledged == nil
            ? "This system does not say what the peer's TCP has acknowledged, and \(seconds) s have passed."
            : "The peer's TCP has acknowledged nothing for \(seconds) s."
        if let id = lane.connection.id {
            self.report(.socketError(id, ProviderError(.connectionLost, message + " The connection is given up.")))
        }
        // On a system that reports no acknowledgements, another copy would get none either.
        let cause: PositionUnknown = sample.acknowledged == nil ? .unseen : .noCulprit
        let ending = self.positionUnknown(lane, cause, lastWord: .none, handed: sample.handed, now: now)
        self.hangUp(lane, ending, now: now)
    }
}
