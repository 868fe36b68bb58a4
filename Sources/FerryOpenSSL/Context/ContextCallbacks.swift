internal import CFerryOpenSSL

/// The values by which OpenSSL's callbacks of a context decide. Immutable.
///
/// The callbacks get this object as an unretained pointer. They run only inside calls of an engine. An engine holds its
/// context, and the context holds this object.
final class ContextCallbacks: Sendable {
    /// A decision about a peer that replaces OpenSSL's.
    enum Acceptance: Sendable {
        /// By the certificate alone: OpenSSL does not check the chain.
        case ofCertificate(@Sendable (CertificateSummary) -> Bool)
        /// The client is judged by its certificate, and by OpenSSL's verdict on the chain.
        case ofCertificateAndChain(@Sendable (CertificateSummary, ChainFinding?) -> TLSContext.ClientVerdict)
    }

    private let acceptsPeer: Acceptance?
    /// Length-prefixed names, at an address that stays the same for the life of the object.
    private let applicationProtocols: [UInt8]
    /// The contexts that clients choose by a server name in small letters.
    private let named: [String: TLSContext]

    init(acceptsPeer: Acceptance?, applicationProtocols: [UInt8], named: [String: TLSContext] = [:]) {
        self.acceptsPeer = acceptsPeer
        self.applicationProtocols = applicationProtocols
        self.named = named
    }

    /// Encodes a list of application protocols as they are sent (RFC 7301 section 3.1).
    static func encode(_ names: [String]) throws(TLSError) -> [UInt8] {
        var bytes: [UInt8] = []
        for name in names {
            guard let length = UInt8(exactly: name.utf8.count), length > 0 else {
                throw TLSError(.invalidConfiguration, "An application protocol's name has 1 to 255 bytes.")
            }
            bytes.append(length)
            bytes.append(contentsOf: name.utf8)
        }
        return bytes
    }

    func install(in context: borrowing OwnedContext) {
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        if self.acceptsPeer != nil { SSL_CTX_set_cert_verify_callback(context.pointer, verifyPeer, pointer) }
        if !self.applicationProtocols.isEmpty { SSL_CTX_set_alpn_select_cb(context.pointer, selectProtocol, pointer) }
        if !self.named.isEmpty {
            CFerryOpenSSL_SSL_CTX_set_server_name_callback(context.pointer, selectContext, pointer)
        }
    }

    /// Returns the context for a server name; nil for the context of the listener.
    fileprivate func context(for name: String) -> TLSContext? { self.named[name.lowercased()] }

    /// Returns whether the peer is accepted, and the `X509_V_` result to keep. The result decides the alert, too.
    fileprivate func judge(_ certificate: OpaquePointer, _ store: OpaquePointer) -> (isAccepted: Bool, result: Int32) {
        let refused = (false, X509_V_ERR_APPLICATION_VERIFICATION)
        guard let acceptsPeer, let summary = try? CertificateSummary(certificate) else { return refused }
        switch acceptsPeer {
        case .ofCertificate(let accepts):
            return accepts(summary) ? (true, X509_V_OK) : refused
        case .ofCertificateAndChain(let accepts):
            let isVerified = X509_verify_cert(store) == 1
            // Its findings are not errors of the handshake around it.
            ErrorQueue.clear()
            let result = X509_STORE_CTX_get_error(store)
            let finding = isVerified ? nil : ChainFinding(result: result, place: X509_STORE_CTX_get_error_depth(store))
            return switch accepts(summary, finding) {
            case .accepted: (true, result)
            case .refused: refused
            case .notNow: (false, X509_V_ERR_UNSPECIFIED)
            }
        }
    }

    /// Returns the first of our protocols that the client offers, as a range of the client's list.
    fileprivate func select(from offered: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var ours = self.applicationProtocols[...]
        while let length = ours.first {
            let name = ours.dropFirst().prefix(Int(length))
            var cursor = 0
            while cursor < offered.count {
                let range = (cursor + 1)..<(cursor + 1 + Int(offered[cursor]))
                guard range.upperBound <= offered.count else { break }
                if offered[range].elementsEqual(name) { return range }
                cursor = range.upperBound
            }
            ours = ours.dropFirst(1 + Int(length))
        }
        return nil
    }
}

private func callbacks(_ pointer: UnsafeMutableRawPointer?) -> ContextCallbacks? {
    pointer.map { Unmanaged<ContextCallbacks>.fromOpaque($0).takeUnretainedValue() }
}

private func verifyPeer(store: OpaquePointer?, context: UnsafeMutableRawPointer?) -> Int32 {
    guard let store, let certificate = X509_STORE_CTX_get0_cert(store),
        let verdict = callbacks(context)?.judge(certificate, store)
    else {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
        return 0
    }
    X509_STORE_CTX_set_error(store, verdict.result)
    return verdict.isAccepted ? 1 : 0
}

private func selectProtocol(
    ssl: OpaquePointer?,
    selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    selectedLength: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?,
    length: UInt32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    let list = UnsafeBufferPointer(start: offered, count: Int(length))
    guard let base = list.baseAddress, let range = callbacks(context)?.select(from: list) else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    selected?.pointee = base + range.lowerBound
    selectedLength?.pointee = UInt8(range.count)
    return SSL_TLSEXT_ERR_OK
}

/// Gives a connection the context that belongs to the server name which the client asks for. A connection takes only the
/// certificate and the cipher suites from its new context, so the demand for a certificate is set, too.
private func selectContext(
    ssl: OpaquePointer?,
    alert: UnsafeMutablePointer<Int32>?,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
        let chosen = callbacks(context)?.context(for: String(cString: name))
    else { return SSL_TLSEXT_ERR_NOACK }
    guard SSL_set_SSL_CTX(ssl, chosen.handle.pointer) != nil else {
        alert?.pointee = SSL_AD_INTERNAL_ERROR
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    SSL_set_verify(ssl, SSL_CTX_get_verify_mode(chosen.handle.pointer), nil)
    return SSL_TLSEXT_ERR_OK
}

/// The index at which a client's connection notes that it was asked for a certificate. OpenSSL keeps this index for
/// applications.
let certificateRequestMark: Int32 = 0

/// Notes that the server asks for a certificate. OpenSSL calls it for a client only in this case. It chooses no
/// certificate.
func noteCertificateRequest(ssl: OpaquePointer?, context: UnsafeMutableRawPointer?) -> Int32 {
    SSL_set_ex_data(ssl, certificateRequestMark, UnsafeMutableRawPointer(bitPattern: 1))
}
