package import FerryOpenSSL
package import NIOCore

/// A connection that a ``Listener`` has accepted and not yet read. Use it only on its event loop.
package struct AcceptedConnection {
    /// The connection's number, from 1, in the order of acceptance.
    package let number: Int
    /// The connection's channel. Its remote address is the client's, or that of the client's proxy; see
    /// ``ProxiedConnection``.
    package let channel: any Channel
    /// The handler between the channel's socket and TLS.
    package let socket: SocketHandler
    /// The connection's TLS; nil if the connection is not encrypted.
    package let tls: TLSHandler?
    private let open: OpenChannels

    /// Keeps a second channel that belongs to this connection, such as a channel to an upstream server. When the
    /// listener stops, the listener also closes the second channel.
    ///
    /// - Throws: `ChannelError.alreadyClosed` when the listener has stopped.
    package func attach(_ channel: any Channel) throws {
        try self.open.add(channel, as: .attached)
    }

    /// Builds the pipeline of an accepted connection. Call it on the channel's event loop.
    static func accept(
        _ channel: any Channel,
        _ configuration: Listener.Configuration,
        _ next: Listener.NextConnections,
        _ open: OpenChannels,
        _ makeHandler: (AcceptedConnection) throws -> (any ChannelHandler)?
    ) throws {
        let number = try open.add(channel, as: .accepted)
        let proxy = try next.proxies.proxy(at: channel)
        let chunk = configuration.bytesPerSecond.map(ReadingPace.chunk) ?? configuration.receiveBuffer
        if let chunk { try channel.read(atMost: chunk) }
        let socket = SocketHandler(pace: configuration.bytesPerSecond.map(ReadingPace.init))
        let tls = try next.tls.map { try TLSHandler(server: $0, limits: configuration.limits.tls) }
        let connection = AcceptedConnection(number: number, channel: channel, socket: socket, tls: tls, open: open)
        guard let handler = try makeHandler(connection) else {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            return
        }
        var handlers: [any ChannelHandler] = [socket]
        if let proxy {
            let limit = configuration.limits.proxyHeader
            handlers.append(ProxyHeaderHandler(of: proxy, roundTrip: next.proxies.roundTrip, within: limit))
        }
        if let tls { handlers += [tls, HandshakeCounter(open)] }
        try channel.pipeline.syncOperations.addHandlers(handlers + [handler])
    }
}

extension TrustedProxies {
    /// Returns the address of the proxy that opened this connection; nil if no trusted proxy opened it.
    ///
    /// - Throws: `ChannelError.alreadyClosed` if the peer has already reset the connection, as some health checks do.
    ///   The system then no longer knows the peer's address.
    fileprivate func proxy(at channel: any Channel) throws -> SocketAddress? {
        guard !self.networks.isEmpty, channel.localAddress?.port != nil else { return nil }
        guard let address = channel.remoteAddress else { throw ChannelError.alreadyClosed }
        return self.contains(address) ? address : nil
    }
}

extension Channel {
    /// Limits each read to `count` bytes. Call it on the channel's event loop.
    fileprivate func read(atMost count: Int) throws {
        try self.syncOptions?.setOption(
            .recvAllocator,
            value: FixedSizeRecvByteBufferAllocator(capacity: count)
        )
        try self.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    }
}
