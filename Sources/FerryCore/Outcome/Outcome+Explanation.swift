extension Outcome {
    /// The cause and the remedy, in one or two sentences. Nil for an acceptance, and for a reason that Ferry does not
    /// know.
    public var explanation: String? {
        switch self {
        case .accepted: nil
        case .rejected(let rejection): rejection.explanation
        case .expired:
            "The expiration passed before the notification was written. An expiration is a point in time, not a length."
        case .undelivered(let cause): cause.explanation
        case .uncertain(let cause): cause.explanation
        }
    }
}

extension PushProvider {
    /// Returns an outcome with its cause and remedy, for a log or a person: "undelivered: noConnection. No connection to …".
    ///
    /// Call it right after the outcome. For `undelivered` and `uncertain` it shows ``lastError``, the present trouble.
    public func inWords(_ outcome: Outcome) -> String { outcome.inWords(trouble: self.lastError) }
}

extension Outcome {
    /// Returns the outcome with its cause and remedy.
    ///
    /// - Parameter trouble: the present trouble of the provider, which is the cause of an `undelivered` or `uncertain`
    ///   outcome.
    package func inWords(trouble: ProviderError?) -> String {
        let cause: String? =
            switch self {
            case .undelivered, .uncertain: trouble?.message
            case .accepted, .rejected, .expired: nil
            }
        return (cause ?? self.explanation).map { "\(self). \($0)" } ?? "\(self)"
    }
}

extension Rejection {
    /// The cause and the remedy, in one or two sentences: ``details``, or else the meaning of the reason on the
    /// protocol of the side that refused. Nil for a reason that Ferry does not know.
    public var explanation: String? {
        if let details { return details }
        if self.reason == .payloadTooLarge, self.origin == .gateway {
            return "The payload is larger than the gateway takes. Apple's took \(PayloadLimit.binary) bytes, and "
                + "\(PayloadLimit.oldBinary) before iOS 8. Do not repeat it as it is."
        }
        return self.reason.explanation
    }
}

extension Outcome.UndeliveredCause {
    /// The place where a program finds the reason for a missing connection.
    package static let whereToLook = "The provider's lastError and its log name the cause."

    fileprivate var explanation: String {
        switch self {
        case .shutDown: "The provider was shut down before it was written. Send it again."
        case .cancelled: "The caller withdrew it before it was written."
        case .evicted: "The gateway discarded it, and the cache no longer held it. Send it again, with a larger cache."
        case .discarded: "The gateway discarded it, and buffersNotifications is off. Send it again."
        case .credentials:
            "The peer refused the provider's credentials, or no provider token could be made. Correct that and send it "
                + "again."
        case .noConnection:
            "There was no connection to write it to. \(Self.whereToLook) Send it again when the cause is mended."
        case .released: "The last reference to the provider was dropped before it was written."
        case .deadline:
            "Its deadline passed before it could be written, or while the peer refused it without processing it. Send it "
                + "again."
        }
    }
}

extension Outcome.UncertainCause {
    private static let advice = "It may have arrived: send it again only if twice is better than never."

    fileprivate var explanation: String {
        switch self {
        case .positionUnknown: "The connection ended, and nothing says how far the peer had read. \(Self.advice)"
        case .peerCloses: "The peer closed every connection that carried it alone. Do not send it again as it is."
        case .shutDown:
            "The provider was shut down before the peer had answered, or been silent for long enough. \(Self.advice)"
        case .notRepeated: "An earlier copy may have arrived; the next one was not written any more."
        case .released: "The last reference to the provider was dropped before it was settled."
        case .noAnswer: "The peer did not answer in time. \(Self.advice)"
        case .reset: "The peer reset the request without an answer. \(Self.advice)"
        }
    }
}
