package import NIOCore

/// The header of the PROXY protocol. A proxy sends it before the bytes of a client, to say who the client is. The
/// specification is `doc/proxy-protocol.txt` of HAProxy.
package enum ProxyHeader: Hashable, Sendable {
    /// The connection of the client at this address.
    case client(SocketAddress)
    /// A connection whose client the proxy does not name.
    case unnamed
    /// A connection of the proxy itself, such as a health check.
    case own

    /// Reads a header of either version, and leaves the bytes after it.
    ///
    /// - Parameter bytes: everything that the proxy has sent so far. If the result is nil, call again with more bytes.
    /// - Throws: ``ProxyHeaderFault`` as soon as the bytes cannot become a header. Then do not use `bytes` again.
    package static func read(_ bytes: inout ByteBuffer) throws(ProxyHeaderFault) -> ProxyHeader? {
        guard let first = bytes.readableBytesView.first else { return nil }
        return switch first {
        case ProxyHeaderV1.start[0]: try ProxyHeaderV1.read(&bytes)
        case ProxyHeaderV2.signature[0]: try ProxyHeaderV2.read(&bytes)
        default: throw .missing(isTLS: first == ProxyHeaderFault.tlsHandshake)
        }
    }
}

/// The reason why a proxy's connection does not begin with a whole header.
package enum ProxyHeaderFault: Error, Hashable, CustomStringConvertible {
    /// The first bytes are something else.
    case missing(isTLS: Bool)
    case malformed(String)
    /// The header is longer than this number of bytes.
    case tooLong(Int)
    /// The connection ended in the middle of the header.
    case cutShort
    /// The rest of the header did not come within this time.
    case late(Duration)

    /// The first byte of a TLS connection: the content type `handshake` (RFC 8446, 5.1).
    static let tlsHandshake: UInt8 = 22

    package var description: String {
        switch self {
        case .missing(let isTLS):
            "This address is one of 'listen.proxies', and sent \(isTLS ? "TLS" : "bytes") without a PROXY protocol header: "
                + "let the proxy send one (in HAProxy: send-proxy-v2), or take the address off the list."
        case .malformed(let fault): "The proxy's PROXY protocol header is malformed: \(fault)."
        case .tooLong(let limit): "The proxy's PROXY protocol header has more than \(limit) bytes."
        case .cutShort: "The proxy ended the connection in the middle of its PROXY protocol header."
        case .late(let limit): "The proxy did not send its whole PROXY protocol header within \(limit)."
        }
    }
}
