/// What one handshake with a server brought to light, whether it succeeded or not.
package struct HandshakeReport: Sendable {
    package enum Ending: Sendable {
        /// The handshake was completed, and the server said nothing against it in the time it was given.
        case established
        /// The server ended the connection without an alert: before the handshake's end, or right after it.
        case closed
        case failed(TLSError)
        /// The handshake's deadline passed.
        case timedOut
    }

    /// How many of the first bytes are kept.
    package static let keptBytes = 64

    package var ending: Ending
    /// The handshake was completed, whatever came after it.
    package var isCompleted = false
    /// The first bytes that came, before any decryption; at most ``keptBytes``.
    package var firstBytes: [UInt8] = []
    /// As OpenSSL names it.
    package var cipherSuite: String?
    /// What the server selected by ALPN.
    package var applicationProtocol: String?
    /// The server's certificates; nil when none has come.
    package var chain: CertificateChain?
    package var asksForCertificate = false

    package init(ending: Ending) {
        self.ending = ending
    }

    /// Whether the server took part in a handshake, be it that it refused the client in the end.
    package var speaksTLS: Bool { isCompleted || chain != nil }

    /// Whether the server's first words can be a TLS record: an alert or part of a handshake (RFC 8446 section 5.1).
    package var beginsLikeTLS: Bool {
        guard let type = firstBytes.first else { return false }
        return [21, 22].contains(type) && (firstBytes.count < 2 || firstBytes[1] == 3)
    }

    /// Whether the server refused the client's certificate, or its lack of one.
    package var refusal: TLSError? {
        guard case .failed(let error) = ending, error.code == .certificateRejected else { return nil }
        return error
    }
}
