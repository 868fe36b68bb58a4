/// The status of an APNs response over HTTP/2: the value of `:status`, 100 to 999.
///
/// Open: a status outside of Apple's table is kept as it arrived.
///
/// Source: "Handling notification responses from APNs" (Apple), table of status codes.
package struct HTTPStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package var rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Reads a status of three digits, the first not 0; nil for other bytes (RFC 9110, section 15).
    package init?(digits: UnsafeBufferPointer<UInt8>) {
        guard digits.count == 3 else { return nil }
        var value = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            value = value * 10 + Int(digit - UInt8(ascii: "0"))
        }
        guard value >= 100 else { return nil }
        self.rawValue = value
    }

    /// The number.
    package var description: String { "\(self.rawValue)" }

    package static let ok = HTTPStatus(rawValue: 200)
    package static let badRequest = HTTPStatus(rawValue: 400)
    package static let forbidden = HTTPStatus(rawValue: 403)
    package static let notFound = HTTPStatus(rawValue: 404)
    package static let methodNotAllowed = HTTPStatus(rawValue: 405)
    package static let gone = HTTPStatus(rawValue: 410)
    package static let payloadTooLarge = HTTPStatus(rawValue: 413)
    package static let tooManyRequests = HTTPStatus(rawValue: 429)
    package static let internalServerError = HTTPStatus(rawValue: 500)
    package static let serviceUnavailable = HTTPStatus(rawValue: 503)

    /// Apple's description; nil for a status outside of Apple's table.
    package var meaning: String? { Self.known.first { $0.status == self }?.meaning }

    /// Apple's complete table of status codes, in its order.
    package static let known: [(status: HTTPStatus, meaning: String)] = [
        (.ok, "Success."),
        (.badRequest, "Bad request."),
        (.forbidden, "There was an error with the certificate or with the provider's authentication token."),
        (.notFound, "The request contained an invalid :path value."),
        (.methodNotAllowed, "The request used an invalid :method value. Only POST requests are supported."),
        (.gone, "The device token is no longer active for the topic."),
        (.payloadTooLarge, "The notification payload was too large."),
        (.tooManyRequests, "The server received too many requests for the same device token."),
        (.internalServerError, "Internal server error."),
        (.serviceUnavailable, "The server is shutting down and unavailable."),
    ]
}
