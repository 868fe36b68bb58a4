internal import FerryCore
internal import FerryMachine
internal import NIOCore

/// The errors of a ``ChannelClient`` in words: what happened, where, and what to do.
struct ChannelWords {
    /// What a request without a complete answer may have done.
    enum Effect {
        /// It was not processed.
        case notProcessed
        /// Nothing says whether it was processed.
        case unknown
    }

    /// Makes the error of a request that has no complete answer.
    typealias Lapse = (ChannelWords, ChannelOperation, Effect) -> ChannelManagerError

    /// The server's name.
    let peer: String

    // MARK: Answers

    func refused(_ operation: ChannelOperation, _ reason: Reason, _ status: HTTPStatus) -> ChannelManagerError {
        // An error within APNs does not prove that nothing happened.
        let isUncertain = operation.makesChange && status.rawValue >= 500
        let explanation = ChannelReasonRule.of(reason)?.explanation ?? reason.explanation
        return ChannelManagerError(
            .refused,
            Self.join(
                "\(self.peer) refused to \(operation.verb): \(reason.description.printable) (status \(status)).",
                explanation,
                isUncertain ? operation.advice : nil
            ),
            mayHaveTakenEffect: isUncertain,
            reason: reason,
            status: status.rawValue
        )
    }

    func invalid(_ operation: ChannelOperation, _ status: HTTPStatus) -> ChannelManagerError {
        // A status of 2xx may mean that APNs has done it.
        let isUncertain = operation.makesChange && 200...299 ~= status.rawValue
        return ChannelManagerError(
            .invalidAnswer,
            Self.join(
                "\(self.peer) gave an answer to the request to \(operation.verb) that APNs does not give (status "
                    + "\(status)). Check host and port.",
                isUncertain ? operation.advice : nil
            ),
            mayHaveTakenEffect: isUncertain,
            status: status.rawValue
        )
    }

    func tooLong(_ operation: ChannelOperation, limit: Int) -> ChannelManagerError {
        ChannelManagerError(
            .answerTooLong,
            "The answer of \(self.peer) to the request to \(operation.verb) is longer than \(limit) bytes, the limit for lists."
        )
    }

    // MARK: No answer

    func refusedStream(_ operation: ChannelOperation) -> ChannelManagerError {
        self.error(
            .notProcessed,
            "\(self.peer) did not process the request to \(operation.verb)",
            operation,
            .notProcessed
        )
    }

    func reset(_ operation: ChannelOperation, _ errorCode: HTTP2ErrorCode, _ effect: Effect) -> ChannelManagerError {
        let code = errorCode.name ?? "\(errorCode)"
        return self.error(
            .connectionLost,
            "\(self.peer) reset the request to \(operation.verb) without an answer: \(code)",
            operation,
            effect
        )
    }

    func cut(_ operation: ChannelOperation, _ effect: Effect) -> ChannelManagerError {
        self.error(
            .connectionLost,
            "\(self.peer) did not complete its answer to the request to \(operation.verb)",
            operation,
            effect
        )
    }

    func ended(_ operation: ChannelOperation, _ end: ConnectionEnd, _ effect: Effect) -> ChannelManagerError {
        guard let error = end.error else {
            return self.error(
                .connectionLost,
                "\(self.peer) closed the connection without an answer to the request to \(operation.verb)",
                operation,
                effect
            )
        }
        // A peer that refuses the credentials processes nothing.
        let isRefusal = if case .credentialsRejected = end { true } else { false }
        let isConnected = if case .lost = end { true } else { false }
        var own = self.error(
            ChannelManagerError.Code(meaning: error.code),
            error.message,
            operation,
            isRefusal ? .notProcessed : effect,
            advises: isConnected
        )
        own.cause = error
        return own
    }

    func violation(_ operation: ChannelOperation, _ detail: HTTP2Error?, _ effect: Effect) -> ChannelManagerError {
        let detail = detail.map { " (\($0.description))" } ?? ""
        return self.error(
            .invalidAnswer,
            "\(self.peer) does not speak HTTP/2 correctly\(detail)",
            operation,
            effect
        )
    }

    func timeout(_ operation: ChannelOperation, _ effect: Effect, after limit: TimeAmount) -> ChannelManagerError {
        self.error(
            .timeout,
            "\(self.peer) did not answer the request to \(operation.verb) within \(limit.inSeconds)",
            operation,
            effect
        )
    }

    func cancelled(_ operation: ChannelOperation, _ effect: Effect) -> ChannelManagerError {
        self.error(.cancelled, "The request to \(operation.verb) was cancelled", operation, effect)
    }

    func shutDown(_ operation: ChannelOperation, _ effect: Effect) -> ChannelManagerError {
        self.error(
            .shutDown,
            "The channel manager has ended, and with it the request to \(operation.verb)",
            operation,
            effect,
            advises: effect == .unknown
        )
    }

    func noToken(_ operation: ChannelOperation, _ failure: (any Error)?) -> ChannelManagerError {
        let message =
            failure.map { "Nothing is sent for want of a provider token: \($0)" }
            ?? "APNs has refused the provider token, and it is too early for another. Try again after 20 minutes."
        return ChannelManagerError(.noProviderToken, message, cause: failure)
    }

    // MARK: Sentences

    private func error(
        _ code: ChannelManagerError.Code,
        _ message: String,
        _ operation: ChannelOperation,
        _ effect: Effect,
        advises: Bool = true
    ) -> ChannelManagerError {
        let advice =
            switch effect {
            case .notProcessed: operation.makesChange ? "Nothing was changed: try again." : "Try again."
            case .unknown: operation.advice
            }
        return ChannelManagerError(
            code,
            Self.join(message.hasSuffix(".") ? message : "\(message).", advises || effect == .unknown ? advice : nil),
            mayHaveTakenEffect: operation.makesChange && effect == .unknown
        )
    }

    private static func join(_ sentences: String?...) -> String {
        sentences.compactMap(\.self).joined(separator: " ")
    }
}

extension ChannelOperation {
    /// What the request asks for, after "to".
    fileprivate var verb: String {
        switch self {
        case .create: "create a channel"
        case .read: "read a channel"
        case .delete: "delete a channel"
        case .list: "list the channels"
        }
    }

    /// What to do after a request without an answer.
    fileprivate var advice: String {
        switch self {
        case .create: "A channel may have been made: list the channels before you create another."
        case .delete: "The channel may have been deleted: read it to find out."
        case .read, .list: "Try again."
        }
    }
}

extension TimeAmount {
    /// The time in words: "30 s", "0.5 s".
    fileprivate var inSeconds: String {
        let (seconds, rest) = self.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest == 0 ? "\(seconds) s" : "\(Double(self.nanoseconds) / 1_000_000_000) s"
    }
}
