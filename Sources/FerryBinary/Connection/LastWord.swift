internal import FerryCore

/// What a peer said last on a connection that came to nothing: what a person is told.
enum LastWord {
    /// It closed.
    case none
    /// An error response from which nothing follows for any one notification.
    case response(ErrorResponse)
    /// An error response that was cut off.
    case truncated
    /// The connection failed, or what came on it is not the binary protocol.
    case failure(ProviderError)
    /// It did not answer a probe.
    case silence

    /// "The peer closed the last one without a word."
    var sentence: String {
        switch self {
        case .none: "The peer closed the last one without a word."
        case .response(let response):
            "The peer ended the last one with status \(response.status.rawValue) and identifier \(response.identifier), "
                + "which names no notification."
        case .truncated: "The peer ended the last one in the middle of an error response."
        case .failure(let error): error.message
        case .silence: "The peer did not answer the probe on the last one."
        }
    }

    /// The failure of the connection, if it was one.
    var cause: ProviderError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
