internal import FerryCore
internal import FerryOpenSSL
internal import FerryPlatform
internal import NIOCore

/// The reason why an attempt to connect to one address failed.
enum DialFault {
    /// The stage that an attempt has reached.
    enum Stage {
        case connecting
        /// Waits for the answer of the proxy.
        case asking
        case shaking
    }

    /// The time ran out at this stage.
    case silent(Stage)
    /// The peer closed the connection before the handshake was complete, without an error.
    case closed
    case failed(any Error)

    fileprivate var code: ProviderError.Code {
        switch self {
        case .silent: .connectTimeout
        case .closed: .connectFailed
        case .failed(let error):
            if let error = error as? ProviderError {
                error.code
            } else if let tls = error as? TLSError {
                switch tls.code {
                case .untrustedPeer, .peerNameMismatch, .peerCertificateMissing: .peerNotTrusted
                case .handshakeTimeout: .connectTimeout
                default: .connectFailed
                }
            } else if case .connectTimeout = error as? ChannelError {
                .connectTimeout
            } else {
                .connectFailed
            }
        }
    }

    /// Whether no retry can cure the fault.
    fileprivate var isLasting: Bool {
        guard case .failed(let error) = self else { return false }
        if let error = error as? ProviderError { return error.isLasting }
        guard let tls = error as? TLSError else { return false }
        if tls.code == .noCommonApplicationProtocol { return true }
        // A clock may be set right, and a balancer without a server behind it sends the alert of last resort.
        if tls.dependsOnTime || tls.alert == TLSError.handshakeFailure { return false }
        if self.code == .peerNotTrusted { return true }
        return switch tls.code {
        case .notTLS, .incompatiblePeer: true
        default: false
        }
    }

    /// The advice as a sentence. It is empty if the words of the fault have the advice, or if no advice helps.
    fileprivate var advice: String {
        switch self {
        case .silent(.connecting): " Check host and port, and that no firewall drops the connection."
        case .failed(let error as IOError) where error.errnoCode == ECONNREFUSED:
            " Nothing listens there: check host and port, and that the server runs."
        case .silent, .closed, .failed: ""
        }
    }

    fileprivate var cause: (any Error)? {
        if case .failed(let error) = self { (error as? ProviderError)?.cause ?? error } else { nil }
    }

    /// The weight of the fault. The error reports the fault with the highest weight: a certificate problem before
    /// silence, and silence before a refused port.
    fileprivate var weight: Int {
        switch self {
        case .failed(let error) where error is TLSError: self.code == .peerNotTrusted ? 3 : 2
        case .closed, .silent: 1
        case .failed: 0
        }
    }
}

extension SocketAddress {
    /// The address without the port.
    var inWords: String { self.ipAddress ?? "an address" }
}

extension TLSConnector {
    /// The error for a host name that could not be resolved.
    func unresolved(_ error: any Error) -> ProviderError {
        let reason = if case .refused(let words) = error as? Resolver.Fault { " (\(words))" } else { "" }
        let target = self.proxy.map { "the proxy \($0)" } ?? self.peer
        return ProviderError(
            .connectFailed,
            "No connection to \(target): the host name cannot be resolved\(reason). Check its spelling, and this "
                + "machine's DNS.",
            cause: error
        )
    }

    /// The error for an established connection that could not be used.
    func error(_ error: any Error) -> ProviderError {
        ProviderError(.connectFailed, "No connection to \(self.peer): \(Self.reason(error)).", cause: error)
    }

    /// The error for a dial that failed at all addresses.
    ///
    /// - Parameter faults: the fault of each address that was tried. Empty if the resolver did not answer in time.
    func error(_ faults: [(address: SocketAddress, fault: DialFault)]) -> ProviderError {
        guard let telling = faults.max(by: { $0.fault.weight < $1.fault.weight })?.fault else {
            return ProviderError(.connectTimeout, "\(self.peer) did not answer in time: it was not resolved.")
        }
        // One address that may still work is reason enough to try again.
        let isLasting = faults.allSatisfy(\.fault.isLasting)
        guard faults.count > 1 else {
            let message = self.sentence(telling) + telling.advice
            return ProviderError(telling.code, message, cause: telling.cause, isLasting: isLasting)
        }
        // Addresses with the same fault share one sentence.
        var sentences: [(addresses: [String], predicate: String)] = []
        for (address, fault) in faults {
            let predicate = self.predicate(fault)
            if let place = sentences.firstIndex(where: { $0.predicate == predicate }) {
                sentences[place].addresses.append(address.inWords)
            } else {
                sentences.append(([address.inWords], predicate))
            }
        }
        let details = sentences.map { $0.addresses.joined(separator: ", ") + $0.predicate }.joined(separator: " ")
        let message = "No connection to \(self.peer). \(details)\(telling.advice)"
        return ProviderError(telling.code, message, cause: telling.cause, isLasting: isLasting)
    }

    /// The whole message when only one address was tried.
    private func sentence(_ fault: DialFault) -> String {
        switch fault {
        case .silent(.connecting):
            return self.proxy.map { "The proxy \($0) did not answer in time." }
                ?? "\(self.peer) did not answer in time."
        case .silent(.asking):
            let target = self.proxy.map { "The proxy \($0)" } ?? self.peer
            return "\(target) took the connection, and did not answer in time."
        case .silent(.shaking), .closed:
            return (self.proxy.map { "The proxy \($0)" } ?? self.peer) + self.predicate(fault)
        case .failed(let error as TLSError) where error.code == .endOfStreamInHandshake && self.proxy != nil:
            return self.sentence(.closed)
        case .failed(let error as ProviderError):
            return error.message
        case .failed(let error as TLSError):
            return error.code == .noCommonApplicationProtocol
                ? self.peer + self.predicate(fault) : "No TLS connection to \(self.peer): \(error.description)"
        case .failed(let error):
            let target = self.proxy.map { "the proxy \($0)" } ?? self.peer
            return "No connection to \(target): \(Self.reason(error))."
        }
    }

    /// The part of a sentence that follows the address.
    private func predicate(_ fault: DialFault) -> String {
        switch fault {
        case .silent(.connecting): " did not answer in time."
        case .silent(.asking): " took the connection, and did not answer as a proxy in time."
        case .silent(.shaking):
            self.proxy == nil
                ? " took the connection, and did not answer in time."
                : " opened a tunnel to \(self.host):\(self.port), and nothing came through it in time."
        case .closed:
            self.proxy == nil
                ? " closed the connection before it was established."
                : " opened a tunnel to \(self.host):\(self.port), and it ended before TLS was established: the proxy or "
                    + "the server behind it closed it."
        case .failed(let error as ProviderError): ": \(error.message)"
        case .failed(let error as TLSError) where error.code == .noCommonApplicationProtocol:
            // Only a server that refused the client certificate sent an alert.
            " speaks TLS, but not HTTP/2 (\"h2\" by ALPN)"
                + (error.alert == nil ? "" : ", and wants a client certificate, as gateways of the binary protocol do")
                + ". Check host and port, and that nothing in between opens TLS."
        case .failed(let error as TLSError): ": \(error.description)"
        case .failed(let error): ": \(Self.reason(error))."
        }
    }
}
