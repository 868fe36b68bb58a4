#if PostgreSQL
internal import CFerryPostgreSQL
internal import FerryPlatform

/// The owner of a connection of libpq in pipeline mode. No call waits for the server.
///
/// Use it on one thread.
struct PostgresConnection: ~Copyable {
    /// The event of the socket that a step waits for.
    enum Interest {
        case read
        case write
    }

    /// The next part of the server's answers.
    enum Answer {
        case rows(PostgresRows)
        case refused(PostgresError)
        /// The end of the answer to one statement.
        case end
    }

    private let server: PostgresOptions
    private let handle: OpaquePointer
    /// The last message of the server that answers no statement. It may be the reason of the end.
    private let notice = Notice()

    private final class Notice {
        var error: PostgresError?
    }

    /// Begins to connect. The options of a server with a host name must have its address (`hostaddr`), because
    /// libpq's own look-up blocks.
    init(_ server: PostgresOptions) throws(PostgresError) {
        self.server = server
        guard let handle = server.withStrings({ PQconnectStartParams($0, $1, 0) }) else {
            throw PostgresError(.ended, "PostgreSQL's client has no memory.")
        }
        self.handle = handle
        // Without a receiver, notices go to standard error. This value holds `notice` until `PQfinish` has returned.
        let receiver = Unmanaged.passUnretained(self.notice).toOpaque()
        PQsetNoticeReceiver(
            handle,
            { notice, result in
                guard let notice, let result else { return }
                Unmanaged<Notice>.fromOpaque(notice).takeUnretainedValue().error = PostgresConnection.refusal(result)
            },
            receiver
        )
    }

    deinit { PQfinish(self.handle) }

    var isEncrypted: Bool { PQsslInUse(self.handle) == 1 }

    var descriptor: Int32 { PQsocket(self.handle) }

    /// The event that the first step of the connection's start waits for.
    func begin() throws(PostgresError) -> Interest {
        guard PQstatus(self.handle) != CONNECTION_BAD else { throw self.lost() }
        return .write
    }

    /// Makes the next step of the connection's start. Returns nil when the connection is ready.
    ///
    /// The socket must be ready: libpq otherwise waits for it without a limit.
    func connect() throws(PostgresError) -> Interest? {
        switch PQconnectPoll(self.handle) {
        case PGRES_POLLING_READING: return .read
        case PGRES_POLLING_WRITING: return .write
        case PGRES_POLLING_OK:
            guard PQsetnonblocking(self.handle, 1) == 0, PQenterPipelineMode(self.handle) == 1 else {
                throw self.lost()
            }
            return nil
        default: throw self.lost()
        }
    }

    /// Queues a statement and a sync, which ends the statement's own transaction. A transaction of `begin` goes on.
    func send(_ statement: PostgresStatement, as name: String, prepares: Bool) throws(PostgresError) {
        if prepares {
            let types = statement.values.map { Oid($0.type) }
            let sent = statement.text.withUTF8Buffer { text in
                PQsendPrepare(self.handle, name, String(decoding: text, as: UTF8.self), Int32(types.count), types)
            }
            guard sent == 1 else { throw self.lost() }
        }
        let values = statement.values.map(\.encoded)
        let lengths = values.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: values.count)
        let sent = Self.withPointers(to: values[...]) { pointers in
            PQsendQueryPrepared(self.handle, name, Int32(values.count), pointers, lengths, formats, 1)
        }
        guard sent == 1, PQpipelineSync(self.handle) == 1 else { throw self.lost() }
    }

    /// Calls `body` with `pointers`, followed by a pointer to the bytes of each value, or nil for NULL. No value is
    /// copied.
    private static func withPointers<Value>(
        to values: ArraySlice<[UInt8]?>,
        after pointers: [UnsafePointer<CChar>?] = [],
        _ body: ([UnsafePointer<CChar>?]) -> Value
    ) -> Value {
        guard let value = values.first else { return body(pointers) }
        let others = values.dropFirst()
        guard let value else { return Self.withPointers(to: others, after: pointers + [nil], body) }
        // An empty array may have no address, and a nil pointer is NULL.
        guard !value.isEmpty else {
            return "".withCString { Self.withPointers(to: others, after: pointers + [$0], body) }
        }
        return value.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                Self.withPointers(to: others, after: pointers + [$0.baseAddress], body)
            }
        }
    }

    /// Writes queued bytes. Returns whether some are left.
    func flush() throws(PostgresError) -> Bool {
        switch PQflush(self.handle) {
        case 0: false
        case 1: true
        default: throw self.lost()
        }
    }

    /// Reads the bytes that have come.
    func read() throws(PostgresError) {
        let isOpen = PQconsumeInput(self.handle) == 1
        // This call makes libpq read messages between two answers. Without it, ``lost()`` misses the server's reason.
        _ = PQisBusy(self.handle)
        guard isOpen else { throw self.lost() }
    }

    /// Returns the next part of the answers; nil if it has not come yet. Call it only while a statement is unanswered.
    func next() throws(PostgresError) -> Answer? {
        // libpq returns nil once after each statement, so a second call follows.
        for _ in 0..<2 where PQisBusy(self.handle) == 0 {
            guard let result = PQgetResult(self.handle) else {
                guard PQstatus(self.handle) == CONNECTION_OK else { throw self.lost() }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                return .end
            case PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED:
                defer { PQclear(result) }
                return .refused(Self.refusal(result, of: PQuser(self.handle).map { String(cString: $0) }))
            default: return .rows(PostgresRows(result))
            }
        }
        return nil
    }

    private static func refusal(_ result: OpaquePointer, of user: String? = nil) -> PostgresError {
        let field = { (code: Int32) in PQresultErrorField(result, code).map { String(cString: $0) } }
        // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY. The detail may quote values, so it is left out.
        let state = field(67) ?? ""
        var message = field(77) ?? "it gave no reason"
        // 42501: insufficient_privilege. The server's message does not say who lacks the right.
        if state == "42501", let user { message += ", as the user \"\(user)\"" }
        return PostgresError(
            PostgresError.endsSession(state) ? .ended : .refused,
            state: state,
            "PostgreSQL: \(message)\(state.isEmpty ? "" : " (\(state))")."
        )
    }

    /// The reason for which the connection is lost.
    private func lost() -> PostgresError {
        if let error = self.notice.error, error.kind == .ended { return error }
        let message = PQerrorMessage(self.handle).map { String(cString: $0) } ?? ""
        // The other lines of libpq's message are advice.
        var line = self.server.naming(message.split(separator: "\n").first.map(String.init) ?? "")
        if line.hasSuffix(".") { line.removeLast() }
        if line.hasSuffix("does not exist"), line.contains("root certificate file") {
            line += ": name the certificate of the server's authority with sslrootcert"
        }
        if message.contains("unsupported startup parameter") { return .pooled("it refuses the settings of a session") }
        return PostgresError(.ended, line.isEmpty ? "The connection to PostgreSQL is lost." : "PostgreSQL: \(line).")
    }
}
#endif

extension PostgresError {
    static func pooled(_ sign: String) -> PostgresError {
        PostgresError(
            .unusable,
            "A pooler stands before PostgreSQL (\(sign)): connect to the server itself, because a lock belongs to a session."
        )
    }
}
