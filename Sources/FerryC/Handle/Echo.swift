internal import FerryCore

/// A backend that gives each notification its outcome immediately. It tests a binding without a server.
///
/// | the device token begins with | outcome |
/// |---|---|
/// | `ba d0` | rejected, BadDeviceToken, status 400 |
/// | `90 9e` | rejected, Unregistered, status 410 |
/// | `de ad` | undelivered, no connection |
/// | `00 bd` | uncertain, position unknown |
/// | anything else | accepted, confirmed |
final class Echo: Sendable {
    private let sink: any OutcomeSink
    private let goneDevices: FeedbackFile?
    private let closed = Flag()

    init(_ sink: any OutcomeSink, goneDevices: FeedbackFile?) {
        self.sink = sink
        self.goneDevices = goneDevices
    }

    var isClosed: Bool { self.closed.isRaised }

    func close() { self.closed.raise() }

    func take(_ batch: inout PushBatch) {
        guard !self.isClosed else { return }
        let run = batch.takeFirst(batch.count)
        var records: [OutcomeRecord] = []
        records.reserveCapacity(run.count)
        for index in 0..<run.count {
            let entry = run.entries[index]
            let token = run.storage.arena + Int(entry.offset)
            let prefix = entry.tokenLength >= 2 ? (token[0], token[1]) : (0, 0)
            let outcome = Self.outcome(prefix)
            if case .rejected(let rejection) = outcome, rejection.reason == .unregistered {
                self.goneDevices?.append(FeedbackFile.line(run.device(at: index), goneSince: nil))
            }
            records.append(OutcomeRecord(tag: PushTag(entry.tag), outcome: outcome))
        }
        run.storage.releaseBytes(of: run.count)
        self.sink.settled(records.span)
    }

    private static func outcome(_ prefix: (UInt8, UInt8)) -> Outcome {
        switch prefix {
        case (0xba, 0xd0): .rejected(Rejection(reason: .badDeviceToken, origin: .apns, status: 400))
        case (0x90, 0x9e): .rejected(Rejection(reason: .unregistered, origin: .apns, status: 410))
        case (0xde, 0xad): .undelivered(.noConnection)
        case (0x00, 0xbd): .uncertain(.positionUnknown)
        default: .accepted(.confirmed)
        }
    }
}
