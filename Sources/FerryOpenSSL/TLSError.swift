/// An error in TLS, in a certificate or in a key.
///
/// The ``code`` is enough to tell the kinds of fault apart. ``description`` is one sentence for an operator, without
/// keys, passphrases or payload. `String(reflecting:)` adds OpenSSL's own messages.
public struct TLSError: Error, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// One entry of OpenSSL's error queue.
    public struct Cause: Sendable, Hashable {
        /// The part of OpenSSL that reported the error, such as "SSL routines".
        public var library: String
        /// The reason that it reported, such as "certificate verify failed".
        public var reason: String
        /// Details, such as a verification result; often empty.
        public var data: String
    }

    /// The kind of fault. New kinds may appear in any version: keep a `default` branch.
    public let code: Code
    /// One sentence about what happened and what to do.
    public let description: String
    /// OpenSSL's error queue at the place of failure, oldest entry first. Empty for faults that Ferry found itself.
    public let causes: [Cause]
    /// The TLS alert that the peer sent, as OpenSSL names it, for example "unknown CA"; nil without an alert.
    public let alert: String?
    /// The source file that raised the error.
    public let file: String
    /// The line in ``file``.
    public let line: Int

    /// The alert that a peer sends when no other fits, as OpenSSL names it.
    package static let handshakeFailure = "handshake failure"

    /// Whether a certificate is refused only because of the present time. It may be a clock that is wrong.
    package var dependsOnTime = false
    /// Whether the server that refused the client certificate had selected none of the offered application protocols.
    var lacksApplicationProtocol = false
    /// The mistake, if credentials of another kind were given.
    package var wrongCredentials: WrongCredentials?

    package init(
        _ code: Code,
        _ description: String,
        causes: [Cause] = [],
        alert: String? = nil,
        file: String = #fileID,
        line: Int = #line
    ) {
        self.code = code
        self.description = description
        self.causes = causes
        self.alert = alert
        self.file = file
        self.line = line
    }

    /// The description with the code, OpenSSL's causes and the place in the source.
    public var debugDescription: String {
        let details = self.causes.map { cause in
            [cause.library, cause.reason, cause.data].filter { !$0.isEmpty }.joined(separator: ": ")
        }
        let suffix = details.isEmpty ? "" : " [\(details.joined(separator: "; "))]"
        return "TLSError.\(self.code): \(self.description)\(suffix) (\(self.file):\(self.line))"
    }
}

extension TLSError {
    /// The kind of a ``TLSError``.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case fileNotFound, fileUnreadable, noCertificate, noPrivateKey, malformed, passphraseRequired
            case wrongPassphrase, legacyAlgorithm, keyMismatch, severalPrivateKeys, unsupportedKey, weakCredentials
            case certificateExpired, certificateNotYetValid
            case certificateRejected, untrustedPeer, peerNameMismatch, peerCertificateMissing, incompatiblePeer
            case noCommonApplicationProtocol, notTLS, alertReceived, protocolViolation
            case endOfStreamInHandshake, handshakeTimeout, shutdownTimeout, uncleanShutdown, bufferLimitExceeded
            case invalidConfiguration, closed, internalFailure
        }

        private let kind: Kind

        /// The name of the kind, such as "wrongPassphrase".
        public var description: String { self.kind.rawValue }

        // MARK: Credentials

        /// A named file does not exist.
        public static let fileNotFound = Self(kind: .fileNotFound)
        /// A named file exists but cannot be read.
        public static let fileUnreadable = Self(kind: .fileUnreadable)
        /// The bytes hold no certificate.
        public static let noCertificate = Self(kind: .noCertificate)
        /// The bytes hold no private key.
        public static let noPrivateKey = Self(kind: .noPrivateKey)
        /// The bytes are damaged, or of another kind than asked for.
        public static let malformed = Self(kind: .malformed)
        /// The key is encrypted and no passphrase was given.
        public static let passphraseRequired = Self(kind: .passphraseRequired)
        /// The passphrase does not open the key.
        public static let wrongPassphrase = Self(kind: .wrongPassphrase)
        /// The file uses algorithms that OpenSSL does not know, or that only its legacy provider knows, which is not
        /// installed.
        public static let legacyAlgorithm = Self(kind: .legacyAlgorithm)
        /// The private key belongs to another certificate.
        public static let keyMismatch = Self(kind: .keyMismatch)
        /// There is more than one private key, and it is unclear which one is meant.
        public static let severalPrivateKeys = Self(kind: .severalPrivateKeys)
        /// The key is of a kind that cannot be used here.
        public static let unsupportedKey = Self(kind: .unsupportedKey)
        /// Certificate or key is too weak for OpenSSL's security level.
        public static let weakCredentials = Self(kind: .weakCredentials)
        /// This side's certificate has expired.
        public static let certificateExpired = Self(kind: .certificateExpired)
        /// This side's certificate is not valid yet.
        public static let certificateNotYetValid = Self(kind: .certificateNotYetValid)

        // MARK: Connections

        /// The server refused the client's certificate, with a fatal alert before its first application byte.
        ///
        /// Under TLS 1.3 the alert arrives after the handshake has completed for the client. The application behind the
        /// server has then read nothing that was written on the connection.
        public static let certificateRejected = Self(kind: .certificateRejected)
        /// The peer's certificate could not be verified.
        public static let untrustedPeer = Self(kind: .untrustedPeer)
        /// The peer's certificate is for another host.
        public static let peerNameMismatch = Self(kind: .peerNameMismatch)
        /// The client showed no certificate, but the server requires one.
        public static let peerCertificateMissing = Self(kind: .peerCertificateMissing)
        /// The two sides share no TLS version or no cipher suite.
        public static let incompatiblePeer = Self(kind: .incompatiblePeer)
        /// The two sides share no application protocol (ALPN).
        public static let noCommonApplicationProtocol = Self(kind: .noCommonApplicationProtocol)
        /// The peer does not speak TLS.
        public static let notTLS = Self(kind: .notTLS)
        /// The peer ended the connection with a fatal alert. ``TLSError/alert`` names it.
        public static let alertReceived = Self(kind: .alertReceived)
        /// The peer's bytes break the TLS protocol, or were changed on the way.
        public static let protocolViolation = Self(kind: .protocolViolation)
        /// The connection ended before the end of the handshake.
        public static let endOfStreamInHandshake = Self(kind: .endOfStreamInHandshake)
        /// The handshake did not end in time.
        public static let handshakeTimeout = Self(kind: .handshakeTimeout)
        /// The peer did not answer the closing of the connection in time.
        public static let shutdownTimeout = Self(kind: .shutdownTimeout)
        /// The connection ended without the peer's close_notify, so the last bytes that were read may be cut short.
        public static let uncleanShutdown = Self(kind: .uncleanShutdown)
        /// More bytes were written before the end of the handshake than may be held back.
        public static let bufferLimitExceeded = Self(kind: .bufferLimitExceeded)
        /// The connection was closed before the bytes could be encrypted.
        public static let closed = Self(kind: .closed)

        // MARK: Other

        /// The settings contradict each other, or OpenSSL refuses them.
        public static let invalidConfiguration = Self(kind: .invalidConfiguration)
        /// OpenSSL failed where it should not, for example because memory ran out.
        public static let internalFailure = Self(kind: .internalFailure)
    }
}
