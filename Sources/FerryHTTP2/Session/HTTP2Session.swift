internal import CFerryNGHTTP2
package import NIOCore

/// One connection of HTTP/2 (RFC 9113) in either role, without I/O. Input: bytes, requests, responses and other frames;
/// output: bytes and events. libnghttp2 implements the protocol.
///
/// After ``receive(_:)``, ``write(into:atMost:)`` and every other change of the session, the owner reads
/// ``nextEvent()`` until it returns nil. Belongs to one thread at a time.
package struct HTTP2Session: ~Copyable {
    package enum Role: Sendable {
        case client, server
    }

    /// The settings that a session sends first, and its limits for input. ``ConnectionLimits`` chooses a client's values:
    /// for notifications, and in `ConnectionLimits+Channels.swift` for channels.
    package struct Settings: Sendable {
        /// SETTINGS_MAX_CONCURRENT_STREAMS; nil if it is not sent.
        package var maxConcurrentStreams: UInt32?
        /// SETTINGS_INITIAL_WINDOW_SIZE: the bytes that the peer may send on each stream.
        package var initialWindowSize: UInt32 = 65_535
        /// The bytes that the peer may send on all streams together, at least 65,535.
        package var connectionWindowSize: Int32 = 65_535
        /// Whether the session opens windows again when bytes arrive. If not, only ``HTTP2Session/consume(_:)`` opens
        /// the connection's window, and nothing opens those of the streams.
        package var updatesWindows = true
        /// The number of bytes of a body that are kept. Further bytes are dropped.
        package var maximumBodyLength = 8192

        package init() {}
    }

    /// A handle of a stream. It is invalid once the event after its ``Event/closed(_:errorCode:)`` was read.
    package struct Stream: Hashable, Sendable {
        /// The slot of the stream. A later stream gets the same number again.
        package var index: UInt32
        package var generation: UInt32
    }

    package enum Event: Sendable {
        /// SETTINGS arrived. Without a limit, or before the first SETTINGS, the number is 2^31-1.
        case settings(maxConcurrentStreams: Int)
        /// To a server: the fields of a request arrived.
        case headers(Stream, isLast: Bool)
        /// A message is complete: for a server a request; for a client an answer, maybe before its request is sent.
        case ended(Stream)
        /// A stream ended. Its answer is complete if ``HTTP2Session/isEnded(_:)`` is true.
        case closed(Stream, errorCode: UInt32)
        case goAway(lastStreamID: Int32, errorCode: UInt32, debugData: [UInt8])
        case pingAnswered
    }

    private let session: OpaquePointer
    private let inbox: UnsafeMutablePointer<Inbox>
    private let memory: UnsafeMutablePointer<SessionMemory>

    /// Creates a session that has sent nothing. The first ``write(into:atMost:)`` begins with the preface and SETTINGS.
    package init(role: Role, settings: Settings = Settings()) throws(HTTP2Error) {
        let inbox = UnsafeMutablePointer<Inbox>.allocate(capacity: 1)
        inbox.initialize(to: Inbox(role: role, maximumBodyLength: settings.maximumBodyLength))
        let memory = UnsafeMutablePointer<SessionMemory>.allocate(capacity: 1)
        memory.initialize(to: SessionMemory())
        guard let session = Self.makeSession(role, settings, inbox, memory) else {
            Self.release(inbox, memory)
            throw HTTP2Error(.internalFailure, "libnghttp2 cannot make a session.")
        }
        do {
            try Self.submit(settings, role, to: session)
        } catch {
            nghttp2_session_del(session)
            Self.release(inbox, memory)
            throw error
        }
        self.session = session
        self.inbox = inbox
        self.memory = memory
    }

    deinit {
        // The session goes before the inbox, because its callbacks still write to the inbox.
        nghttp2_session_del(self.session)
        Self.release(self.inbox, self.memory)
    }

    private static func makeSession(
        _ role: Role,
        _ settings: Settings,
        _ inbox: UnsafeMutablePointer<Inbox>,
        _ memory: UnsafeMutablePointer<SessionMemory>
    ) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, nghttp2_option_new(&option) == 0 else { return nil }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(option)
        }
        SessionCallbacks.install(in: callbacks)
        // libnghttp2 assumes 100 streams until SETTINGS arrive, but APNs allows 1 at first.
        nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        nghttp2_option_set_no_closed_streams(option, 1)
        nghttp2_option_set_no_auto_window_update(option, settings.updatesWindows ? 0 : 1)
        var table = SessionMemory.table(memory)
        var session: OpaquePointer?
        let status =
            switch role {
            case .client: nghttp2_session_client_new3(&session, callbacks, inbox, option, &table)
            case .server: nghttp2_session_server_new3(&session, callbacks, inbox, option, &table)
            }
        return status == 0 ? session : nil
    }

    private static func release(
        _ inbox: UnsafeMutablePointer<Inbox>,
        _ memory: UnsafeMutablePointer<SessionMemory>
    ) {
        inbox.deinitialize(count: 1)
        inbox.deallocate()
        memory.deinitialize(count: 1)
        memory.deallocate()
    }

    private static func submit(_ settings: Settings, _ role: Role, to session: OpaquePointer) throws(HTTP2Error) {
        var entries: [nghttp2_settings_entry] = []
        if role == .client {
            entries.append(.init(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0))
        }
        if let limit = settings.maxConcurrentStreams {
            entries.append(Self.streamLimit(limit))
        }
        entries.append(
            .init(settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: settings.initialWindowSize)
        )
        try Self.check(
            nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        )
        try Self.check(
            nghttp2_session_set_local_window_size(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                0,
                settings.connectionWindowSize
            )
        )
    }

    private static func streamLimit(_ limit: UInt32) -> nghttp2_settings_entry {
        nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
            value: limit
        )
    }

    /// Throws if libnghttp2 returned an error.
    private static func check(_ status: Int32) throws(HTTP2Error) {
        guard status < 0 else { return }
        let code: HTTP2Error.Code =
            switch status {
            case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue, NGHTTP2_ERR_START_STREAM_NOT_ALLOWED.rawValue:
                .noMoreStreams
            case NGHTTP2_ERR_STREAM_CLOSED.rawValue, NGHTTP2_ERR_INVALID_STREAM_ID.rawValue: .streamClosed
            case NGHTTP2_ERR_NOMEM.rawValue, NGHTTP2_ERR_CALLBACK_FAILURE.rawValue,
                NGHTTP2_ERR_INVALID_ARGUMENT.rawValue, NGHTTP2_ERR_INVALID_STATE.rawValue:
                .internalFailure
            default: .protocolViolation
            }
        throw HTTP2Error(code, nghttp2_strerror(status).map { String(cString: $0) } ?? "error \(status)")
    }

    // MARK: Input

    /// Takes bytes from the peer.
    ///
    /// If they break the protocol, all further bytes are ignored, the next ``write(into:atMost:)`` sends GOAWAY, and
    /// ``isViolated`` is true after that. Earlier events can still be read.
    ///
    /// - Throws: ``HTTP2Error/Code/protocolViolation`` when no GOAWAY can be sent any more.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        let read = nghttp2_session_mem_recv(
            self.session,
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            bytes.count
        )
        try Self.check(Int32(truncatingIfNeeded: min(read, 0)))
    }

    /// Returns the next event in order; nil when all were read.
    package mutating func nextEvent() -> Event? { self.inbox.pointee.nextEvent() }

    // MARK: Streams

    /// Returns the stream identifier of the protocol; 0 when the stream is over.
    package func streamID(of stream: Stream) -> Int32 {
        self.inbox.pointee.index(of: stream).map { self.inbox.pointee.slots[$0].streamID } ?? 0
    }

    /// Whether the peer has sent the whole message.
    package func isEnded(_ stream: Stream) -> Bool {
        self.inbox.pointee.index(of: stream).map { self.inbox.pointee.slots[$0].isEnded } ?? false
    }

    /// Whether the fields of a request, or of a final response, have arrived.
    package func hasFinalFields(_ stream: Stream) -> Bool {
        self.inbox.pointee.index(of: stream).map { self.inbox.pointee.slots[$0].hasFinalFields } ?? false
    }

    /// Whether the whole body of our own message was written.
    package func isSent(_ stream: Stream) -> Bool {
        self.inbox.pointee.index(of: stream).map { self.inbox.pointee.slots[$0].sourceCount == 0 } ?? true
    }

    /// Whether the first frame of a request was written, or its stream is closed. Client only.
    package func hasBegun(_ stream: Stream) -> Bool {
        guard let slot = self.inbox.pointee.index(of: stream), !self.inbox.pointee.slots[slot].isClosed else {
            return true
        }
        return nghttp2_session_find_stream(self.session, self.inbox.pointee.slots[slot].streamID) != nil
    }

    /// Whether the message's body was longer than ``Settings/maximumBodyLength``.
    package func isBodyTruncated(_ stream: Stream) -> Bool {
        self.inbox.pointee.index(of: stream).map { self.inbox.pointee.slots[$0].isBodyTruncated } ?? false
    }

    /// Calls `body` with the name, in lower case, and the value of each field, valid during the call.
    package func forEachField(
        of stream: Stream,
        _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void
    ) {
        guard let index = self.inbox.pointee.index(of: stream) else { return }
        self.inbox.pointee.slots[index].forEachField(body)
    }

    /// Calls `body` with the bytes of the message's body so far, valid during the call.
    package func withBody<R>(of stream: Stream, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        guard let index = self.inbox.pointee.index(of: stream) else {
            return body(UnsafeBufferPointer(start: nil, count: 0))
        }
        return body(self.inbox.pointee.slots[index].body.bytes)
    }

    /// The number of streams that were not reported as closed.
    package var openCount: Int { self.inbox.pointee.openCount }

    /// The last stream that the peer has opened; 0 if it opened none.
    package var lastReceivedStreamID: Int32 { nghttp2_session_get_last_proc_stream_id(self.session) }

    // MARK: Output

    /// Makes a request. Client only.
    ///
    /// - Parameter body: at least one byte. The memory must stay in place until the stream is closed.
    /// - Throws: ``HTTP2Error/Code/noMoreStreams``.
    package mutating func request(
        _ fields: borrowing HeaderBlock,
        body: UnsafeBufferPointer<UInt8>
    ) throws(HTTP2Error) -> Stream {
        let slot = try self.openSlot()
        self.inbox.pointee.send(body, on: slot)
        return try self.submit(fields, slot, hasBody: true)
    }

    /// Makes a request. Client only.
    ///
    /// - Parameter body: is copied. If it is empty, the fields are the last frame.
    /// - Throws: ``HTTP2Error/Code/noMoreStreams``.
    package mutating func request(_ fields: borrowing HeaderBlock, copying body: [UInt8]) throws(HTTP2Error) -> Stream {
        let slot = try self.openSlot()
        if !body.isEmpty { self.inbox.pointee.send(copyOf: body, on: slot) }
        return try self.submit(fields, slot, hasBody: !body.isEmpty)
    }

    /// Whether the peer's flow-control window for the connection is used up in the middle of a body.
    package var hasCutBody: Bool { self.inbox.pointee.hasCutBody }

    /// Whether a body of `count` bytes would leave in one piece, behind the others, or is the only one.
    ///
    /// libnghttp2 finishes later bodies before one that it had to cut at the end of the peer's flow-control window. So
    /// requests would arrive in another order.
    package func sendsWhole(_ count: Int) -> Bool {
        guard !self.hasCutBody else { return false }
        let unsent = self.inbox.pointee.unsentCount
        return unsent == 0 || unsent + count <= Int(nghttp2_session_get_remote_window_size(self.session))
    }

    private mutating func openSlot() throws(HTTP2Error) -> Int {
        guard nghttp2_session_check_request_allowed(self.session) != 0 else {
            throw HTTP2Error(.noMoreStreams, "No more requests can be made on this connection.")
        }
        return self.inbox.pointee.open(streamID: 0)
    }

    private mutating func submit(
        _ fields: borrowing HeaderBlock,
        _ slot: Int,
        hasBody: Bool
    ) throws(HTTP2Error) -> Stream {
        var provider = nghttp2_data_provider()
        provider.read_callback = SessionCallbacks.readSource
        let streamID = fields.withFields { fields, count in
            withUnsafePointer(to: &provider) { provider in
                nghttp2_submit_request(
                    self.session,
                    nil,
                    fields,
                    count,
                    hasBody ? provider : nil,
                    Inbox.userData(slot)
                )
            }
        }
        guard streamID > 0 else {
            self.inbox.pointee.free(slot)
            try Self.check(streamID)
            throw HTTP2Error(.internalFailure, "libnghttp2 gave no stream.")
        }
        self.inbox.pointee.slots[slot].number(streamID)
        return self.inbox.pointee.handle(slot)
    }

    /// Answers a request in one piece. Server only.
    ///
    /// - Parameter body: is copied. If it is empty, the fields are the last frame.
    package mutating func respond(
        to stream: Stream,
        _ fields: borrowing HeaderBlock,
        body: [UInt8] = []
    ) throws(HTTP2Error) {
        guard let slot = self.inbox.pointee.index(of: stream) else {
            throw HTTP2Error(.streamClosed, "The stream is closed.")
        }
        let streamID = self.inbox.pointee.slots[slot].streamID
        guard !body.isEmpty else {
            return try Self.check(
                fields.withFields { nghttp2_submit_response(self.session, streamID, $0, $1, nil) }
            )
        }
        self.inbox.pointee.send(copyOf: body, on: slot)
        var provider = nghttp2_data_provider()
        provider.read_callback = SessionCallbacks.readSource
        try Self.check(
            fields.withFields { nghttp2_submit_response(self.session, streamID, $0, $1, &provider) }
        )
    }

    /// Sends the fields of a response and leaves it unfinished. Server only.
    package mutating func beginResponse(to stream: Stream, _ fields: borrowing HeaderBlock) throws(HTTP2Error) {
        let streamID = self.streamID(of: stream)
        try Self.check(
            fields.withFields { fields, count in
                nghttp2_submit_headers(
                    self.session,
                    UInt8(NGHTTP2_FLAG_NONE.rawValue),
                    streamID,
                    nil,
                    fields,
                    count,
                    nil
                )
            }
        )
    }

    /// Sends RST_STREAM. ``Event/closed(_:errorCode:)`` follows when it was written.
    package mutating func reset(_ stream: Stream, errorCode: UInt32) {
        let streamID = self.streamID(of: stream)
        guard streamID > 0 else { return }
        _ = nghttp2_submit_rst_stream(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, errorCode)
    }

    /// Sends PING. ``Event/pingAnswered`` follows.
    package mutating func ping() {
        _ = nghttp2_submit_ping(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Sends GOAWAY.
    ///
    /// - Parameter lastStreamID: the highest stream that was or may be processed; nil for the last stream that arrived.
    package mutating func goAway(lastStreamID: Int32? = nil, errorCode: UInt32 = 0, debugData: [UInt8] = []) {
        self.inbox.pointee.goAway()
        let last = lastStreamID ?? self.lastReceivedStreamID
        _ = nghttp2_submit_goaway(
            self.session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            last,
            errorCode,
            debugData,
            debugData.count
        )
    }

    /// Sends SETTINGS with a new limit of streams.
    package mutating func update(maxConcurrentStreams limit: UInt32) {
        var entry = Self.streamLimit(limit)
        _ = nghttp2_submit_settings(self.session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
    }

    /// Opens the windows of the connection and of `stream` by `count` bytes.
    package mutating func consume(_ count: Int, of stream: Stream? = nil) {
        _ = nghttp2_session_consume_connection(self.session, count)
        guard let stream else { return }
        let streamID = self.streamID(of: stream)
        if streamID > 0 { _ = nghttp2_session_consume_stream(self.session, streamID, count) }
    }

    /// The number of body bytes that arrived and for which the connection's window was not opened again, consumed or
    /// not.
    package var unopenedCount: Int { Int(nghttp2_session_get_effective_recv_data_length(self.session)) }

    /// Opens the connection's window by `count` bytes at once. ``consume(_:of:)`` waits until a frame is worthwhile. An
    /// owner that manages the windows uses only one of the two.
    package mutating func openWindow(by count: Int) {
        guard count > 0 else { return }
        _ = nghttp2_submit_window_update(
            self.session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            0,
            Int32(clamping: count)
        )
    }

    /// Writes frames to `buffer` until all are written or `limit` bytes are reached. The last frame may exceed `limit`.
    ///
    /// - Returns: whether anything was written.
    package mutating func write(into buffer: inout ByteBuffer, atMost limit: Int) -> Bool {
        let start = buffer.writerIndex
        while buffer.writerIndex - start < limit {
            var frame: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &frame)
            guard count > 0, let frame else { break }
            buffer.writeBytes(UnsafeRawBufferPointer(start: frame, count: count))
        }
        return buffer.writerIndex > start
    }

    /// Whether a client may still make requests: no GOAWAY arrived, and the protocol was not broken.
    package var takesRequests: Bool { nghttp2_session_check_request_allowed(self.session) != 0 }

    /// Whether there are frames to write.
    package var wantsToWrite: Bool { nghttp2_session_want_write(self.session) != 0 }

    /// Whether the session is over: it neither reads nor writes any more.
    package var isOver: Bool {
        nghttp2_session_want_read(self.session) == 0 && nghttp2_session_want_write(self.session) == 0
    }

    /// Whether the session is over because the peer broke the protocol.
    package var isViolated: Bool { self.isOver && !self.inbox.pointee.isEnding }
}
