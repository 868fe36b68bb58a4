internal import FerryCore
internal import FerryGateway
internal import FerryPlatform
internal import FerryTerminal

/// The messages of a start and of an end.
extension GatewayMessages {
    /// - Parameter copiedAt: when the store was copied from another one, in UNIX seconds; nil if the store is no
    ///   copy, or was started before.
    func sayStart(_ counts: FateCounts, copiedAt: UInt32? = nil) {
        if let copiedAt {
            let time = Date(timeIntervalSince1970: Double(copiedAt)).formatted(.iso8601)
            let again =
                counts.recovered > 0
                ? "\(counts.recovered) that had no answer then go out again, and those that were answered since arrive twice"
                : "all notifications had their answers then, and none goes out again"
            return self.tell(
                .restored,
                .notice,
                "the store is a copy of \(time): \(again)",
                [.count: .number(counts.recovered), .copiedAt: .text(time)]
            )
        }
        guard counts.recovered > 0 else { return }
        self.tell(
            .recovered,
            .info,
            "\(counts.recovered) without an answer from before go out again",
            [.count: .number(counts.recovered)]
        )
    }

    /// Says that the shutdown has begun, and what it waits for.
    ///
    /// - Parameter limit: how long the shutdown may take without a store.
    func sayStop(_ counts: FateCounts, within limit: Duration) {
        let waiting = counts.unanswered > 0 ? "; \(counts.unanswered) wait for an answer of APNs" : ""
        let alarms =
            self.outages.withLock { $0.sorted() }.map { self.upstream($0) }
            + self.alarms.withLock { $0.sorted() }.map { "\($0.name) at \(self.upstream($0.upstream))" }
        let alarm = alarms.isEmpty ? "" : "; the alarm for \(alarms.joined(separator: ", ")) goes on"
        guard !self.isStored else {
            return self.tell(
                .stopping,
                .notice,
                "stops as soon as each client pauses, after some 5 s at most\(waiting)\(alarm)",
                [.waiting: .number(counts.unanswered)]
            )
        }
        self.tell(
            .stopping,
            .notice,
            "stops in \(limit.components.seconds) s at most, as soon as each client pauses and nothing waits"
                + "\(waiting)\(alarm)",
            [.seconds: .number(Int(limit.components.seconds)), .waiting: .number(counts.unanswered)]
        )
    }

    /// Says how many lines the list of rejections does not have; nothing if it has all.
    func sayLost(lines: Int) {
        guard lines > 0 else { return }
        self.tell(
            .listLost,
            .warning,
            "\(lines) lines of the list of rejections are lost",
            self.listMembers([.count: .number(lines)])
        )
    }

    /// - Parameter kept: the notifications that the store has without an answer.
    func sayEnd(_ counts: FateCounts, kept: Int) {
        if self.isStored, counts.unwritten > 0 {
            self.tell(
                .listKept,
                .info,
                "\(counts.unwritten) lines of the list of rejections wait in the store for the next start",
                self.listMembers([.count: .number(counts.unwritten)])
            )
        }
        self.sayLost(lines: counts.unlisted)
        if kept > 0 {
            self.tell(.kept, .info, "\(kept) wait in the store for the next start", [.count: .number(kept)])
        }
        for (loss, count) in self.losses.withLock({ $0.sorted { $0.key < $1.key } }) {
            let place = self.list.map { ", each in \($0)" } ?? ""
            let end = (self.isStored ? "given up" : "lost") + place
            self.tell(
                .lostInAll,
                .warning,
                "\(count) of \(self.client(loss.client)) \(end): \(ReasonWords.sentence(loss.reason))",
                self.listMembers([
                    .client: .text(self.client(loss.client)), .reason: .text(ReasonWords.name(loss.reason)),
                    .count: .number(count),
                ])
            )
        }
        let rejected = counts.refused + counts.refusedHere + counts.knownBad
        let store = counts.recovered > 0 ? "; \(counts.recovered) from the store" : ""
        let expired = counts.expired > 0 ? ", \(counts.expired) expired" : ""
        let unknown =
            (counts.unknown > 0 ? ", \(counts.unknown) without an answer, which may have arrived" : "")
            + (counts.copies > 0 ? ", \(counts.copies) sent once more, which may have arrived twice" : "")
        self.tell(
            .stopped,
            .notice,
            "read \(counts.read), of which \(counts.swallowed) were copies\(store); \(counts.accepted) accepted, "
                + "\(rejected) rejected, \(counts.gone) gone"
                + "\(expired)\(unknown); \(counts.told) error responses",
            [
                .read: .number(counts.read), .recovered: .number(counts.recovered),
                .copies: .number(counts.swallowed), .accepted: .number(counts.accepted),
                .rejected: .number(rejected), .gone: .number(counts.gone), .expired: .number(counts.expired),
                .uncertain: .number(counts.unknown), .repeated: .number(counts.copies), .told: .number(counts.told),
            ]
        )
    }
}
