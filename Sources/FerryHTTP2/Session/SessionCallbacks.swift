internal import CFerryNGHTTP2

/// The functions that libnghttp2 calls. Each one only notes the event in the ``Inbox``. It calls nothing that could
/// enter the library again, and it cannot fail.
enum SessionCallbacks {
    /// The return value for a stream that must not continue: libnghttp2 resets the stream.
    private static let refuseStream = Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)

    private static func inbox(_ userData: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Inbox>? {
        userData?.assumingMemoryBound(to: Inbox.self)
    }

    /// Returns the slot of the stream that a frame belongs to.
    private static func slot(
        _ session: OpaquePointer?,
        _ inbox: UnsafeMutablePointer<Inbox>,
        _ streamID: Int32
    ) -> Int? {
        guard streamID > 0 else { return nil }
        return inbox.pointee.index(userData: nghttp2_session_get_stream_user_data(session, streamID))
    }

    static func install(in callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, userData in
            // The fields of a PUSH_PROMISE are ignored: they carry the number of this stream, and describe another one.
            guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue),
                let inbox = SessionCallbacks.inbox(userData)
            else { return 0 }
            return SessionCallbacks.beginFields(session, frame, inbox)
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            session,
            frame,
            name,
            nameCount,
            value,
            valueCount,
            _,
            userData in
            guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue), let name, let value,
                let inbox = SessionCallbacks.inbox(userData),
                let slot = SessionCallbacks.slot(session, inbox, frame.pointee.hd.stream_id)
            else { return 0 }
            // Trailers are ignored: neither Ferry nor APNs uses them.
            guard !inbox.pointee.slots[slot].hasFinalFields else { return 0 }
            return inbox.pointee.slots[slot].add(name, nameCount, value, valueCount) ? 0 : SessionCallbacks.refuseStream
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            session,
            _,
            streamID,
            bytes,
            count,
            userData in
            guard let bytes, let inbox = SessionCallbacks.inbox(userData),
                let slot = SessionCallbacks.slot(session, inbox, streamID)
            else { return 0 }
            inbox.pointee.slots[slot].add(body: bytes, count, limit: inbox.pointee.maximumBodyLength)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, userData in
            guard let frame, let inbox = SessionCallbacks.inbox(userData) else { return 0 }
            SessionCallbacks.received(session, frame, inbox)
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, streamID, errorCode, userData in
            guard let inbox = SessionCallbacks.inbox(userData),
                let slot = SessionCallbacks.slot(session, inbox, streamID)
            else { return 0 }
            inbox.pointee.close(slot, errorCode: errorCode)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { session, frame, _, userData in
            guard let frame, let inbox = SessionCallbacks.inbox(userData) else { return 0 }
            // A request that was not sent has no stream yet, so no other callback reports its end.
            guard frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue), inbox.pointee.role == .client,
                let slot = inbox.pointee.index(streamID: frame.pointee.hd.stream_id)
            else { return 0 }
            inbox.pointee.close(slot, errorCode: NGHTTP2_REFUSED_STREAM.rawValue)
            return 0
        }
    }

    private static func beginFields(
        _ session: OpaquePointer?,
        _ frame: UnsafePointer<nghttp2_frame>,
        _ inbox: UnsafeMutablePointer<Inbox>
    ) -> Int32 {
        let streamID = frame.pointee.hd.stream_id
        if let slot = self.slot(session, inbox, streamID) {
            inbox.pointee.slots[slot].fieldsBegin()
        } else if inbox.pointee.role == .server {
            let slot = inbox.pointee.open(streamID: streamID)
            guard nghttp2_session_set_stream_user_data(session, streamID, Inbox.userData(slot)) == 0 else {
                inbox.pointee.free(slot)
                return self.refuseStream
            }
        }
        return 0
    }

    private static func received(
        _ session: OpaquePointer?,
        _ frame: UnsafePointer<nghttp2_frame>,
        _ inbox: UnsafeMutablePointer<Inbox>
    ) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard let slot = self.slot(session, inbox, header.stream_id) else { return }
            let isLast = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
            let isHeaders = UInt32(header.type) == NGHTTP2_HEADERS.rawValue
            if isHeaders, inbox.pointee.slots[slot].fieldsEnd(), inbox.pointee.role == .server {
                inbox.pointee.report(.headers(inbox.pointee.handle(slot), isLast: isLast))
            }
            guard isLast else { return }
            inbox.pointee.slots[slot].end()
            // A client's stream closes in the same moment if its request was sent completely, and then the close is
            // reported. Otherwise `ended` is: libnghttp2 learns of the complete request only when it writes again.
            if inbox.pointee.role == .server || nghttp2_session_get_stream_local_close(session, header.stream_id) == 0 {
                inbox.pointee.report(.ended(inbox.pointee.handle(slot)))
            }
        case NGHTTP2_SETTINGS.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            let limit = nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            inbox.pointee.report(.settings(maxConcurrentStreams: Int(min(limit, UInt32(Int32.max)))))
        case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            inbox.pointee.report(.pingAnswered)
        case NGHTTP2_GOAWAY.rawValue:
            inbox.pointee.goAway()
            let goAway = frame.pointee.goaway
            let debugData = UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
            inbox.pointee.report(
                .goAway(
                    lastStreamID: goAway.last_stream_id,
                    errorCode: goAway.error_code,
                    debugData: Array(debugData.prefix(inbox.pointee.maximumBodyLength))
                )
            )
        default:
            break
        }
    }

    /// Gives libnghttp2 the next bytes of a body: at most the number that it asks for, because the windows allow no
    /// more.
    static let readSource: nghttp2_data_source_read_callback = { session, streamID, target, count, flags, _, userData in
        guard let target, let flags, let inbox = SessionCallbacks.inbox(userData),
            let slot = SessionCallbacks.slot(session, inbox, streamID)
        else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        let window = Int(nghttp2_session_get_remote_window_size(session))
        let sent = inbox.pointee.takeBytes(of: slot, target, atMost: count, window: window)
        if sent.areLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return sent.count
    }
}
