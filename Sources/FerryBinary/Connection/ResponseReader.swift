internal import FerryCore
internal import NIOCore

/// A reader of the error responses of one connection. It says what each response means there.
struct ResponseReader {
    /// The meaning of the bytes.
    enum Heard {
        /// No whole response has come.
        case nothing
        /// The answer to the probe. The peer judges in order, so everything before it was accepted.
        case answer(Probe)
        /// All notifications before a sequence number were accepted; nil for none. The connection stays open.
        case acceptance(before: UInt64?)
        /// The last response: the status of the notification with this sequence number.
        case verdict(UInt64, BinaryStatus)
        /// The last response, with an identifier that the connection never used.
        case nameless(ErrorResponse)
        /// Bytes that are not an error response. Everything after them is ignored.
        case violation(String, ForeignProtocol?)
    }

    private var decoder = ErrorResponseDecoder()
    /// The number of responses that confirmed nothing.
    private var idleCount = 0

    /// Whether a response has begun and is not complete.
    var isTruncated: Bool { self.decoder.pendingBytes > 0 }

    /// Takes the bytes up to the end of one error response.
    ///
    /// - Parameters:
    ///   - issued: the sequence numbers that the connection has used.
    ///   - awaited: the probe that the peer has not answered.
    ///   - answered: the sequence number of the probe that the peer has answered, or did not answer in time.
    mutating func next(in bytes: inout ByteBuffer, issued: Range<UInt64>, awaited: Probe?, answered: UInt64?) -> Heard {
        switch self.decoder.next(in: &bytes) {
        case .needMore:
            return .nothing
        case .notAResponse(let firstByte):
            let foreign = ForeignProtocol(ofGateway: bytes)
            let what =
                foreign.map { "it speaks \($0)." }
                ?? "it began with byte \(firstByte) where an error response begins with 8."
            return .violation(what, foreign)
        case .response(let response):
            let sequence = Identifier.sequence(of: response.identifier, in: issued)
            if let awaited, Self.answers(awaited.sequence, response, sequence: sequence) { return .answer(awaited) }
            guard let sequence else {
                return response.status == .noErrorsEncountered ? .acceptance(before: nil) : .nameless(response)
            }
            let goesOn = response.status == .noErrorsEncountered || sequence == answered
            return goesOn ? .acceptance(before: sequence + 1) : .verdict(sequence, response.status)
        }
    }

    /// Returns whether a response answers the probe. If so, it proves everything before the probe.
    ///
    /// Without an identifier only the status shows it. Every notification has a token and a payload, so 2 and 4 can
    /// only mean the probe. Status 5 can also mean a token that APNs does not know.
    private static func answers(_ probe: UInt64, _ response: ErrorResponse, sequence: UInt64?) -> Bool {
        if sequence == probe { return true }
        return response.identifier == 0 && [.missingDeviceToken, .missingPayload].contains(response.status)
    }

    /// Notes that a response confirmed nothing. Returns the number of such responses when it exceeds `limit`.
    mutating func confirmedNothing(limit: Int) -> Int? {
        self.idleCount += 1
        return self.idleCount > limit ? self.idleCount : nil
    }
}
