internal import NIOCore
public import NIOEmbedded

extension Replay {
    /// Replays one connection into a test channel, in place of the socket below its handlers.
    ///
    /// The replay compares the bytes that the handlers write with the transcript. The handlers read the bytes that the
    /// transcript has from the played side. The end of the stream arrives as `ChannelEvent.inputClosed` (half-close) or
    /// as the channel's end. The channel's simulated clock advances as in the transcript, so hours of recording take no
    /// real time.
    ///
    /// - Parameters:
    ///   - channel: the channel with the handlers under test. This method connects it unless it is active.
    ///   - connection: the number of the connection in the transcript.
    ///   - patience: how long to wait, in the channel's time, for missing bytes of the handlers after the transcript's
    ///     time.
    /// - Throws: ``ReplayMismatch``, or an error that a handler fired.
    public func run(on channel: EmbeddedChannel, connection: Int = 1, patience: Duration = .seconds(60)) throws {
        let part = ReplayPart(
            connection,
            self.transcript.events(of: connection),
            service: self.transcript.service,
            playing: self.side
        )
        var machine = ReplayMachine(part, mode: self.mode, pace: self.pace, chaos: self.chaos)
        let loop = channel.embeddedEventLoop
        let start = loop.now
        var now: Duration { Duration(loop.now - start) }
        if !channel.isActive {
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 2195), promise: nil)
        }
        var actions = machine.opened(at: now)
        var sawEnd = false
        var progressed: Duration = .zero
        while true {
            var wake: Duration?
            for action in actions {
                if case .wake(let time) = action { wake = time } else { try Self.perform(action, on: channel) }
            }
            let position = machine.position
            actions = []
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
                actions += try machine.received(bytes.readableBytesView, at: now)
            }
            if !channel.isActive, !sawEnd {
                sawEnd = true
                actions += try machine.receivedEnd(at: now)
            }
            if machine.isFinished && actions.isEmpty { return }
            guard actions.isEmpty, machine.position == position else {
                progressed = now
                continue
            }
            let due = progressed + machine.timeToNextEvent
            guard wake != nil || !sawEnd && now <= due + patience else {
                if let missing = machine.missing { throw missing }
                return
            }
            let step = (wake ?? due) - now
            loop.advanceTime(by: TimeAmount(max(step, .milliseconds(10))))
            actions = machine.timePassed(at: now)
        }
    }

    private static func perform(_ action: ReplayAction, on channel: EmbeddedChannel) throws {
        switch action {
        case .send(let bytes):
            guard channel.isActive else { return }
            try channel.writeInbound(ByteBuffer(bytes: bytes))
        case .halfClose:
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .end:
            channel.close(promise: nil)
        case .reset:
            channel.pipeline.fireErrorCaught(ChannelError.eof)
            channel.close(promise: nil)
        case .wake:
            break
        }
    }
}
