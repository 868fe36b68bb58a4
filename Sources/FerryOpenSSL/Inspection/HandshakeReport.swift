/// The findings of one handshake with a server, whether it succeeded or not.
package struct HandshakeReport: Sendable {
    package enum Ending: Sendable {
        /// The handshake was completed, and the server did not object in the time it was given.
        case established
        /// The server ended the connection without an alert: before the handshake's end, or right after it.
        case closed
        case failed(TLSError)
        /// The handshake's deadline passed.
        case timedOut
    }

    /// The number of first bytes that are kept.
    package static let keptBytes = 64

    package var ending: Ending
    /// Whether the handshake was completed. A failure may have followed.
    package var isCompleted = false
    /// The first bytes that came, before any decryption; at most ``keptBytes``.
    package var firstBytes: [UInt8] = []
    /// The suite's name in OpenSSL.
    package var cipherSuite: String?
    /// The protocol that the server selected by ALPN.
    package var applicationProtocol: String?
    /// The server's certificates; nil if they did not come.
    package var chain: CertificateChain?
    package var asksForCertificate = false

    package init(ending: Ending) {
        self.ending = ending
    }

    /// Whether the server took part in a TLS handshake, even if it refused the client in the end.
    package var speaksTLS: Bool { self.isCompleted || self.chain != nil }

    /// Whether the server's first bytes can be a TLS record: an alert or part of a handshake (RFC 8446 section 5.1).
    package var beginsLikeTLS: Bool {
        guard let type = self.firstBytes.first else { return false }
        return [21, 22].contains(type) && (self.firstBytes.count < 2 || self.firstBytes[1] == 3)
    }

    /// The server's refusal of the client's certificate, or of a client without a certificate; nil otherwise.
    package var refusal: TLSError? {
        guard case .failed(let error) = self.ending, error.code == .certificateRejected else { return nil }
        return error
    }
}
