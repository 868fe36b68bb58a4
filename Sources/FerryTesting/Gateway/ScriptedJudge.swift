internal import FerryBinary
internal import FerryCore
internal import FerryPlatform

/// A judge of one connection's notifications. It accepts or refuses them by the rules of a script, and gives the
/// accepted ones to the recorder.
struct ScriptedJudge {
    /// The effects of a notification on the connection or the feedback list.
    enum Verdict {
        /// Put the device on the feedback list.
        case gone(token: [UInt8], since: Date?)
        /// Write these bytes after the delay. The connection goes on.
        case note([UInt8], delay: Duration)
        /// End the connection after the delay.
        case end(LastWord, delay: Duration)
        /// Stop reading and writing.
        case stall

        /// Says whether the notifications after this one are judged.
        fileprivate var next: NotificationReader.Next {
            switch self {
            case .gone, .note: .goOn
            case .end, .stall: .stop
            }
        }
    }

    enum LastWord {
        /// At least one byte, then an orderly end.
        case response([UInt8])
        /// An orderly end.
        case silence
        case reset

        init(_ bytes: [UInt8]) {
            self = bytes.isEmpty ? .silence : .response(bytes)
        }
    }

    /// Notifications that were accepted.
    private(set) var accepted = 0
    /// Notifications that were read completely and refused.
    private(set) var refused = 0
    private let rules: GatewayRules
    private let recorder: (any GatewayRecorder)?
    /// True if no rule is about single notifications and there is no recorder.
    private let onlyCounts: Bool
    private let connection: Int
    private var place = 0
    private var lastAccepted: UInt32?
    /// The number of accepted notifications at which the next rule holds.
    private var nextCount: Int

    init(rules: GatewayRules, connection: Int, recorder: (any GatewayRecorder)?) {
        self.rules = rules
        self.connection = connection
        self.recorder = recorder
        self.onlyCounts = recorder == nil && !rules.hasRulesAboutOne
        self.nextCount = rules.nextCount(from: 0) ?? .max
    }

    /// Judges one item of the stream.
    ///
    /// - Parameter bytes: the bytes that the item's ranges refer to.
    @inline(__always)
    mutating func judge(
        _ item: NotificationReader.Item,
        _ bytes: Span<UInt8>,
        _ verdicts: inout [Verdict]
    ) -> NotificationReader.Next {
        switch item {
        case .notification(let frame):
            self.place += 1
            if self.onlyCounts {
                // The path without rules and recorder. The other one costs reference counting, even if both are nil.
                self.accepted += 1
                self.lastAccepted = frame.identifier
                guard self.accepted == self.nextCount else { return .goOn }
            } else {
                self.judge(frame, bytes, &verdicts)
                guard verdicts.last?.next != .stop else { return .stop }
            }
            self.checkCount(&verdicts)
        case .refused(let refusal):
            self.place += 1
            self.refused += 1
            let response = ErrorResponse(to: refusal)
            verdicts.append(.end(LastWord(response?.bytes ?? []), delay: self.rules.script.errorDelay))
        case .violation:
            verdicts.append(.end(.silence, delay: .zero))
        }
        return verdicts.last?.next ?? .goOn
    }

    /// Applies the rule that holds at the current number of accepted notifications, if there is one.
    mutating func checkCount(_ verdicts: inout [Verdict]) {
        guard self.accepted == self.nextCount else { return }
        if let rule = self.rules.rule(after: self.nextCount) {
            self.apply(rule, command: nil, identifier: self.lastAccepted, &verdicts)
        }
        self.nextCount = self.rules.nextCount(from: self.nextCount + 1) ?? .max
    }

    private mutating func judge(_ frame: NotificationFrame, _ bytes: Span<UInt8>, _ verdicts: inout [Verdict]) {
        var rule: GatewayRule?
        if self.rules.hasRulesAboutOne {
            rule = self.rules.rule(token: bytes.extracting(frame.token), place: self.place)
        }
        guard rule?.accepts ?? true else {
            self.refused += 1
            if let rule { self.apply(rule, command: frame.command, identifier: frame.identifier, &verdicts) }
            return
        }
        self.accepted += 1
        self.lastAccepted = frame.identifier
        if let recorder = self.recorder {
            let notification = AcceptedNotification(
                connection: self.connection,
                place: self.place,
                command: frame.command.rawValue,
                identifier: frame.identifier,
                expiration: frame.expiration,
                priority: frame.priority
            )
            let token = bytes.extracting(frame.token)
            recorder.accepted(notification, token: token, payload: bytes.extracting(frame.payload))
        }
        guard let rule else { return }
        if rule.action == .gone {
            let token = bytes.extracting(frame.token).withUnsafeBufferPointer { Array($0) }
            verdicts.append(.gone(token: token, since: rule.since))
        } else {
            self.apply(rule, command: frame.command, identifier: frame.identifier, &verdicts)
        }
    }

    private func apply(
        _ rule: GatewayRule,
        command: Command?,
        identifier: UInt32?,
        _ verdicts: inout [Verdict]
    ) {
        let delay = rule.delay ?? self.rules.script.errorDelay
        switch rule.action {
        case .gone:
            break
        case .stopReading:
            verdicts.append(.stall)
        case .close:
            verdicts.append(.end(.silence, delay: delay))
        case .reset:
            verdicts.append(.end(.reset, delay: delay))
        case .respond:
            let status = BinaryStatus(rawValue: rule.status)
            let named = rule.identifier ?? identifier ?? 0
            let whole = rule.bytes ?? ErrorResponse(status: status, identifier: named).bytes
            let bytes = Array(whole.prefix(rule.length ?? whole.count))
            if status == .noErrorsEncountered && rule.bytes == nil && rule.length == nil {
                verdicts.append(.note(bytes, delay: delay))
            } else {
                // "Failures of command 0 are always a plain close."
                verdicts.append(.end(command == .simple ? .silence : LastWord(bytes), delay: delay))
            }
        }
    }
}
