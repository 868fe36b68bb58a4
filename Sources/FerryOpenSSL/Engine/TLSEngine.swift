internal import CFerryOpenSSL
package import NIOCore

/// One TLS connection without I/O. Bytes go in and come out. No call waits, and no call reaches outside.
///
/// ```
///                  ingest ┌───────────┐ step → plaintext, events
///     ciphertext  ───────▶│           │────────▶
///                         │ TLSEngine │
///     ciphertext  ◀───────│           │◀────────
///        takeCiphertext   └───────────┘ encrypt, closeNotify
/// ```
///
/// After any call, ``takeCiphertext()`` returns the bytes that must go to the peer. After a failure, these bytes carry
/// the alert. The first failure is final; later calls do nothing. Do not use an engine from two threads at once.
///
/// OpenSSL reads and writes through two memory BIOs, which are filled and emptied in pieces of about one record. A
/// server replaces its BIOs when a burst ends, so an idle connection of a gateway holds no buffers.
package struct TLSEngine: ~Copyable {
    /// The result of a step.
    package enum Event: Sendable {
        /// Encryption is possible from now on. For a client under TLS 1.3, the server may not have accepted the
        /// client's certificate yet.
        case handshakeCompleted(applicationProtocol: String?)
        /// All application data in the ingested bytes, in one buffer.
        case plaintext(ByteBuffer)
        /// The peer sent close_notify and will send nothing more.
        case peerClosed
        /// The connection is over. All plaintext that came before was returned.
        case failed(TLSError)
    }

    private enum Phase {
        case handshaking
        case open
        case peerClosed
        case failed
    }

    /// The longest TLS plaintext record: 2^14 bytes (RFC 8446 section 5.1).
    static let recordLength = 1 << 14
    /// An upper bound of the header, nonce, padding and tag that a cipher adds to a record.
    static let recordOverhead = 96
    /// The largest BIO that a server keeps. A larger one is replaced as soon as it is empty, because a gateway has many
    /// idle connections. A client has few, and keeps the memory for a record.
    static let keptBIOLength = 4096
    /// The largest buffer that a client keeps. The client uses it again when no other code holds it.
    static let keptBufferLength = 2 * recordLength

    private let context: TLSContext
    private let handle: OwnedConnection
    // Borrowed: the connection owns both.
    private var input: OpaquePointer
    private var output: OpaquePointer

    private var phase = Phase.handshaking
    /// The event that ended the stream. It waits until the plaintext before it was returned.
    private var lastEvent: Event?
    private var receivedApplicationData = false
    private var sentCloseNotify = false
    private var waitingCiphertext = ByteBuffer()
    private var producedCiphertext = ByteBuffer()
    /// The buffers that a client returned last.
    private var lastCiphertext = ByteBuffer()
    private var lastPlaintext = ByteBuffer()
    private var largestInput = 0
    private var largestOutput = 0

    /// The number of bytes of ciphertext produced so far, taken or not.
    package private(set) var ciphertextBytesProduced: UInt64 = 0

    /// - Parameters:
    ///   - context: decides which role the engine plays.
    ///   - peer: for a client, the name that the server must prove.
    /// - Throws: ``TLSError`` with `invalidConfiguration` or `internalFailure`.
    package init(context: TLSContext, peer: PeerName? = nil) throws(TLSError) {
        ErrorQueue.clear()
        guard let handle = OwnedConnection(SSL_new(context.handle.pointer)) else {
            throw .openSSL(.internalFailure, "OpenSSL cannot make a connection.")
        }
        guard let input = BIO_new(BIO_s_mem()) else { throw .openSSL(.internalFailure, "OpenSSL has no memory.") }
        guard let output = BIO_new(BIO_s_mem()) else {
            BIO_free_all(input)
            throw .openSSL(.internalFailure, "OpenSSL has no memory.")
        }
        SSL_set_bio(handle.pointer, input, output)
        switch context.role {
        case .server:
            SSL_set_accept_state(handle.pointer)
        case .client:
            guard peer != nil || !context.verifiesPeer else {
                throw TLSError(.invalidConfiguration, "A verifying client needs the server's name.")
            }
            try peer?.install(in: handle.pointer, verify: context.verifiesPeer)
            SSL_set_connect_state(handle.pointer)
        }
        self.context = context
        self.handle = handle
        self.input = input
        self.output = output
    }

    /// The side of the connection.
    package var role: TLSContext.Role { self.context.role }

    /// The version that the handshake agreed on; nil before its end.
    package var version: TLSVersion? {
        self.phase == .handshaking ? nil : TLSVersion(code: SSL_version(self.handle.pointer))
    }

    /// The cipher suite that the handshake agreed on, as OpenSSL names it; nil before its end.
    package var cipherSuite: String? {
        guard self.phase != .handshaking, let cipher = SSL_get_current_cipher(self.handle.pointer) else { return nil }
        return SSL_CIPHER_get_name(cipher).map { String(cString: $0) }
    }

    /// The protocol that the server selected by ALPN. It is known before the server's certificates, and also after a
    /// failure.
    package var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(self.handle.pointer, &name, &length)
        return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
    }

    /// The certificates that the server sent, its own first. For a client only.
    package var serverCertificates: [CertificateSummary] { self.serverChain?.certificates ?? [] }

    /// The same certificates for verification; nil if they did not come. Only a client has them, even after a failure.
    package var serverChain: CertificateChain? {
        guard self.role == .client, let chain = SSL_get_peer_cert_chain(self.handle.pointer) else { return nil }
        return CertificateChain(copying: chain)
    }

    /// Whether the server has asked for a certificate; for a client only.
    package var wasAskedForCertificate: Bool {
        self.role == .client && SSL_get_ex_data(self.handle.pointer, certificateRequestMark) != nil
    }

    /// Whether OpenSSL's verification of the peer's chain succeeded, as far as it was asked for.
    package var isPeerChainVerified: Bool { SSL_get_verify_result(self.handle.pointer) == Int(X509_V_OK) }

    /// Whether the client claims to be `ferry doctor`. Only a server knows it, even after a failure.
    package var isPeerDoctor: Bool { self.role == .server && DoctorMark.isOn(self.handle.pointer) }

    /// The server name that the client asks for (SNI), in small letters; nil without one. Only a server knows it, even
    /// after a failure.
    package var requestedServerName: String? {
        guard self.role == .server else { return nil }
        let name = SSL_get_servername(self.handle.pointer, TLSEXT_NAMETYPE_host_name)
        return name.map { String(cString: $0).lowercased() }
    }

    /// The contents of the peer's certificate; nil if the peer showed none.
    package var peerCertificate: CertificateSummary? {
        guard let certificate = OwnedCertificate(SSL_get1_peer_certificate(self.handle.pointer)) else { return nil }
        return try? CertificateSummary(certificate.pointer)
    }

    /// Hands over bytes from the peer. The next ``step()`` processes them.
    package mutating func ingest(_ ciphertext: ByteBuffer) {
        guard self.phase == .handshaking || self.phase == .open else { return }
        if self.waitingCiphertext.readableBytes == 0 {
            self.waitingCiphertext = ciphertext
        } else {
            self.waitingCiphertext.writeImmutableBuffer(ciphertext)
        }
    }

    /// Processes the ingested bytes and returns the next event; nil if more input is needed. Repeat it until nil.
    ///
    /// A client's first step produces its hello. The cost is that of decrypting all input.
    package mutating func step() -> Event? {
        if let event = self.lastEvent.take() { return event }
        return switch self.phase {
        case .handshaking: self.stepHandshake()
        case .open: self.stepReading()
        case .peerClosed, .failed: nil
        }
    }

    /// Takes all ciphertext that waits for the peer, in one buffer; nil if no ciphertext waits.
    package mutating func takeCiphertext() -> ByteBuffer? {
        self.collectOutput()
        self.releaseOutput()
        guard self.producedCiphertext.readableBytes > 0 else { return nil }
        defer { self.producedCiphertext = ByteBuffer() }
        self.lastCiphertext = self.kept(self.producedCiphertext)
        return self.producedCiphertext
    }

    // MARK: Sending

    /// Encrypts one buffer of any length, into as few records as possible.
    ///
    /// - Throws: ``TLSError`` with `closed` before the handshake's end, after ``closeNotify()`` and after a failure.
    package mutating func encrypt(_ plaintext: ByteBuffer) throws(TLSError) {
        guard self.phase == .open || self.phase == .peerClosed, !self.sentCloseNotify else {
            throw TLSError(.closed, "The connection is not open for sending.")
        }
        let ssl = self.handle.pointer
        var rest = plaintext.readableBytesView
        guard !rest.isEmpty else { return }
        let records = rest.count / Self.recordLength + 1
        if self.producedCiphertext.capacity == 0 { self.producedCiphertext = Self.reuse(&self.lastCiphertext) }
        self.producedCiphertext.reserveCapacity(minimumWritableBytes: rest.count + records * Self.recordOverhead)
        while !rest.isEmpty {
            let piece = rest.prefix(Self.recordLength)
            var written = 0
            ErrorQueue.clear()
            let result = piece.withUnsafeBytes { SSL_write_ex(ssl, $0.baseAddress, $0.count, &written) }
            // A memory BIO takes everything, so the write never has to wait.
            guard result == 1, written == piece.count else { throw self.fail() }
            rest = rest.dropFirst(written)
            self.collectOutput()
        }
    }

    /// Tells the peer that this side will send nothing more. Does nothing unless the connection is open for sending.
    package mutating func closeNotify() {
        // During the handshake, and after a failure, OpenSSL does not allow the call below.
        guard self.phase == .open || self.phase == .peerClosed, !self.sentCloseNotify else { return }
        self.sentCloseNotify = true
        ErrorQueue.clear()
        _ = SSL_shutdown(self.handle.pointer)
        ErrorQueue.clear()
        self.collectOutput()
    }

    // MARK: Receiving

    private mutating func stepHandshake() -> Event? {
        while true {
            ErrorQueue.clear()
            let result = SSL_do_handshake(self.handle.pointer)
            let status = SSL_get_error(self.handle.pointer, result)
            if result == 1 { return self.completeHandshake() }
            switch status {
            case SSL_ERROR_WANT_READ:
                guard self.feed() else { return nil }
            case SSL_ERROR_ZERO_RETURN:
                self.phase = .failed
                return .failed(
                    TLSError(.endOfStreamInHandshake, "The peer closed the connection in the middle of the handshake.")
                )
            default:
                return .failed(self.fail())
            }
        }
    }

    private mutating func completeHandshake() -> Event {
        let selected = self.applicationProtocol
        guard selected != nil || !self.context.requiresApplicationProtocol else {
            self.phase = .failed
            return .failed(TLSError(.noCommonApplicationProtocol, TLSError.noneSelected))
        }
        self.phase = .open
        return .handshakeCompleted(applicationProtocol: selected)
    }

    /// Decrypts as much as possible into one buffer. An event that ends the connection waits until the buffer was
    /// returned.
    private mutating func stepReading() -> Event? {
        let ssl = self.handle.pointer
        var plaintext = Self.reuse(&self.lastPlaintext)
        reading: while true {
            // Plaintext is shorter than its ciphertext, so one allocation is usually enough.
            if plaintext.writableBytes == 0 {
                plaintext.reserveCapacity(minimumWritableBytes: max(self.waitingCiphertext.readableBytes, 256))
            }
            var status = SSL_ERROR_NONE
            ErrorQueue.clear()
            plaintext.writeWithUnsafeMutableBytes(minimumWritableBytes: 0) { storage in
                var count = 0
                let result = SSL_read_ex(ssl, storage.baseAddress, storage.count, &count)
                if result != 1 { status = SSL_get_error(ssl, result) }
                return count
            }
            switch status {
            case SSL_ERROR_NONE:
                self.receivedApplicationData = true
            case SSL_ERROR_WANT_READ:
                guard self.feed() else { break reading }
            case SSL_ERROR_ZERO_RETURN:
                self.phase = .peerClosed
                self.lastEvent = .peerClosed
                break reading
            default:
                self.lastEvent = .failed(self.fail())
                break reading
            }
        }
        self.releaseInput()
        self.lastPlaintext = self.kept(plaintext)
        return plaintext.readableBytes > 0 ? .plaintext(plaintext) : self.lastEvent.take()
    }

    /// Latches the failure. Call it right after the failed call: another call would change the error queue.
    private mutating func fail() -> TLSError {
        let failure = ConnectionFailure(
            isClient: self.context.role == .client,
            agreedOnCipher: SSL_get_pending_cipher(self.handle.pointer) != nil
                || SSL_get_current_cipher(self.handle.pointer) != nil,
            handshakeCompleted: self.phase != .handshaking,
            receivedApplicationData: self.receivedApplicationData,
            verifyResult: SSL_get_verify_result(self.handle.pointer),
            entries: ErrorQueue.drain()
        )
        var error = failure.error()
        // Up to TLS 1.2 the server has selected a protocol before it refuses the certificate, and the end of the handshake,
        // where a missing protocol is found, does not come.
        error.lacksApplicationProtocol =
            error.code == .certificateRejected && self.phase == .handshaking && self.context.requiresApplicationProtocol
            && self.applicationProtocol == nil && SSL_version(self.handle.pointer) < TLS1_3_VERSION
        self.phase = .failed
        self.waitingCiphertext = ByteBuffer()
        return error
    }

    // MARK: Buffers

    private func kept(_ buffer: ByteBuffer) -> ByteBuffer {
        self.role == .client && buffer.capacity <= Self.keptBufferLength ? buffer : ByteBuffer()
    }

    /// Returns an empty buffer, with the memory of `last` if no other code holds that.
    private static func reuse(_ last: inout ByteBuffer) -> ByteBuffer {
        var buffer = ByteBuffer()
        swap(&buffer, &last)
        if buffer.capacity > 0 { buffer.clear() }
        return buffer
    }

    /// Gives OpenSSL the next piece of input; false if no input is left.
    private mutating func feed() -> Bool {
        let bio = self.input
        let length = min(self.waitingCiphertext.readableBytes, Self.recordLength)
        guard length > 0 else { return false }
        self.waitingCiphertext.readWithUnsafeReadableBytes { bytes in
            var written = 0
            BIO_write_ex(bio, bytes.baseAddress, length, &written)
            return written
        }
        self.largestInput = max(self.largestInput, length)
        if self.waitingCiphertext.readableBytes == 0 { self.waitingCiphertext = ByteBuffer() }
        return true
    }

    /// Moves OpenSSL's output into ``producedCiphertext``.
    private mutating func collectOutput() {
        let bio = self.output
        let length = BIO_ctrl_pending(bio)
        guard length > 0 else { return }
        self.largestOutput = max(self.largestOutput, length)
        let moved = self.producedCiphertext.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { storage in
            var count = 0
            BIO_read_ex(bio, storage.baseAddress, length, &count)
            return count
        }
        self.ciphertextBytesProduced += UInt64(moved)
    }

    private mutating func releaseInput() {
        guard self.role == .server, self.largestInput > Self.keptBIOLength, self.phase != .failed,
            BIO_ctrl_pending(self.input) == 0,
            let fresh = BIO_new(BIO_s_mem())
        else { return }
        SSL_set0_rbio(self.handle.pointer, fresh)
        self.input = fresh
        self.largestInput = 0
    }

    private mutating func releaseOutput() {
        // During the handshake, OpenSSL keeps another buffer in front of the BIO.
        guard self.role == .server, self.largestOutput > Self.keptBIOLength,
            self.phase == .open || self.phase == .peerClosed,
            let fresh = BIO_new(BIO_s_mem())
        else { return }
        SSL_set0_wbio(self.handle.pointer, fresh)
        self.output = fresh
        self.largestOutput = 0
    }
}
