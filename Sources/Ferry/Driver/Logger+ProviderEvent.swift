internal import FerryCore
internal import Logging

extension Logger {
    /// Logs an event of a provider, without device tokens or payloads.
    ///
    /// - Parameters:
    ///   - side: the protocol, if the provider has two.
    ///   - level: the level of the trouble that the event reports.
    ///   - patience: how long notifications wait for a connection.
    func log(_ event: ProviderEvent, of side: ProviderSide?, trouble level: Level, patience: String?) {
        var logger = self
        if let side { logger[metadataKey: "apns.side"] = "\(side.rawValue)" }
        // A repeated event is logged at debug, and does not name the wait again.
        if level > .debug, event.isWaitedFor, let patience { logger[metadataKey: "apns.wait"] = "\(patience)" }
        logger.log(event, trouble: level)
    }

    private func log(_ event: ProviderEvent, trouble level: Level) {
        switch event {
        case .connected(let id, let open):
            self.debug("connected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .disconnected(let id, let open):
            self.debug("disconnected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .socketError(let id, let error):
            self.log(
                level: level,
                "connection failed",
                metadata: ["apns.connection": "\(id.rawValue)", "apns.error": "\(error)"]
            )
        case .error(let error):
            self.log(level: level, "provider failed", metadata: ["apns.error": "\(error)"])
        case .resent(let count, _):
            self.debug("sending again", metadata: ["apns.count": "\(count)"])
        case .transmissionError(let rejection, _, _, _):
            self.debug("rejected", metadata: ["apns.reason": "\(rejection.reason)"])
        case .requestReset(let id, let errorCode, _):
            self.debug(
                "request reset",
                metadata: ["apns.connection": "\(id.rawValue)", "apns.error": "\(errorCode)"]
            )
        case .contradicted(let contradiction):
            self.warning("outcomes contradicted", metadata: ["apns.count": "\(contradiction.count)"])
        case .migration(let event):
            self.log(migration: event)
        default:
            break
        }
    }

    private func log(migration event: MigrationEvent) {
        switch event {
        case .down, .waiting: self.warning("\(event)")
        case .up: self.notice("\(event)")
        default: self.debug("\(event)")
        }
    }

    /// Logs a second reader of a sequence for one, whose loop ends at once.
    func logSecondReader(of name: String) {
        self.error(
            "two tasks read the same sequence: the second ends at once",
            metadata: ["apns.sequence": "\(name)"]
        )
    }

    /// Logs the end of a provider. The level is warning if notifications are undelivered or uncertain and no reader got
    /// that outcome. Otherwise a dropped provider would lose them without a word.
    ///
    /// - Parameters:
    ///   - wasDropped: whether the last reference to the provider was dropped.
    ///   - hasUnheardLosses: whether such an outcome reached no sink, stream or caller.
    func log(end report: DrainReport, wasDropped: Bool, hasUnheardLosses: Bool) {
        self.log(
            level: hasUnheardLosses ? .warning : .debug,
            wasDropped ? "ended, because the last reference to the provider was dropped" : "ended",
            metadata: ["apns.report": "\(report)"]
        )
    }
}

extension ProviderEvent {
    /// Whether notifications wait for the end of the trouble that the event reports.
    fileprivate var isWaitedFor: Bool {
        switch self {
        case .socketError: true
        case .error(let error): error.code == .noProviderToken
        default: false
        }
    }
}
