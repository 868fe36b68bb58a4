internal import FerryCore

/// The last message of a peer on a connection that was of no use, for the text of an error.
enum LastWord {
    /// The peer closed without a response.
    case none
    /// An error response that decides about no notification.
    case response(ErrorResponse)
    /// An error response that was cut off.
    case truncated
    /// The connection failed, or its bytes are not the binary protocol.
    case failure(ProviderError)
    /// The peer did not answer a probe.
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

    /// The cause of giving up, for a program; nil if only the sentence has it.
    var cause: (any Error)? {
        switch self {
        case .none: WordlessEnd()
        case .failure(let error): error
        case .response, .truncated, .silence: nil
        }
    }
}

/// The cause of an error after connections that the peer closed without a byte, as servers of other protocols do.
package struct WordlessEnd: Error, Hashable {
    package init() {}
}
