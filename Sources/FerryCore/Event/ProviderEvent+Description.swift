extension ProviderEvent: CustomStringConvertible {
    /// One short line without tokens, even for many notifications: "connection 3: 200 tags written".
    public var description: String {
        switch self {
        case .connected(let id, let open): "\(id) is open, of \(open)"
        case .disconnected(let id, let open): "\(id) is closed, \(open) are open"
        case .transmitted(let id, let tags): "\(id): \(tags.count) written"
        case .completed: "everything has its outcome"
        case .cacheTooSmall(let by): "the cache was too small by \(by)"
        case .transmissionError(let rejection, let tag, _, _):
            "rejected\(tag.map { " \($0)" } ?? ""): \(rejection.reason)"
        case .requestReset(let id, let errorCode, let tag): "\(id): reset\(tag.map { " \($0)" } ?? ""): \(errorCode)"
        case .socketError(let id, let error): "\(id) failed: \(error.message)"
        case .timeout(let id): "\(id) was idle and is being closed"
        case .error(let error): "error: \(error.message)"
        case .resent(let count, afterOutcome: false): "\(count) are sent again"
        case .resent(let count, afterOutcome: true): "\(count) are sent again, after their outcome"
        case .contradicted(let contradiction): "\(contradiction)"
        case .windowAdjusted(let size): "the window is \(size)"
        case .migration(let event): "\(event)"
        case .dropped(let count): "\(count) events were lost, because they were not read in time"
        }
    }
}

extension Contradiction: CustomStringConvertible {
    /// "3 outcomes contradicted: rejected BadDeviceToken", "1 of 12 outcomes contradicted: lost".
    public var description: String {
        let number = self.upTo > self.count ? "\(self.count) of \(self.upTo) outcomes" : "\(self.count) outcomes"
        let fate =
            switch self.kind {
            case .rejected(let rejection): "rejected \(rejection.reason)"
            case .lost: "lost"
            case .uncertain: "uncertain"
            }
        return "\(number) contradicted: \(fate)"
    }
}
