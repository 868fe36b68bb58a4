internal import NIOCore

extension Channel {
    /// Reads at most `count` bytes each time that a read is asked for. On its event loop.
    func read(atMost count: Int) throws {
        try self.syncOptions?.setOption(
            .recvAllocator,
            value: FixedSizeRecvByteBufferAllocator(capacity: count)
        )
        try self.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
    }
}
