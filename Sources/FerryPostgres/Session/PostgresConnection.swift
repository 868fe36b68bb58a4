#if PostgreSQL
internal import CFerryPostgreSQL
internal import FerryPlatform

/// The owner of a connection of libpq in pipeline mode. No call waits.
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

    private let handle: OpaquePointer
    /// The last message of the server that answers no statement. It may be the reason of the end.
    private let notice = Notice()

    private final class Notice {
        var error: PostgresError?
    }

    /// Begins to connect. The look-up of the host's name waits.
    init(_ settings: PostgresSettings) throws(PostgresError) {
        let options = try Self.options(settings)
        let keywords = Self.strings(options.map(\.keyword))
        let values = Self.strings(options.map(\.value))
        defer { for string in keywords + values { free(string) } }
        let handle = keywords.map { UnsafePointer($0) }.withUnsafeBufferPointer { keywords in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                PQconnectStartParams(keywords.baseAddress, values.baseAddress, 0)
            }
        }
        guard let handle else { throw PostgresError(.ended, "PostgreSQL's client has no memory.") }
        self.handle = handle
        // Without a receiver, notices go to standard error. The connection holds this one until libpq has ended.
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

    /// Returns copies, with nil at the end.
    private static func strings(_ strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
        strings.map { strdup($0) } + [nil]
    }

    /// The connection string, taken apart and completed.
    private static func options(
        _ settings: PostgresSettings
    ) throws(PostgresError) -> [(keyword: String, value: String)] {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(settings.connection, &message) else {
            // libpq's message quotes parts of the string, which may be a password.
            PQfreemem(message)
            throw Self.unreadable
        }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var next = parsed
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        if options["sslmode"] == nil, getenv("PGSSLMODE") == nil { options["sslmode"] = "verify-full" }
        try Self.check(options)
        Self.rotate(&options)
        options["application_name"] = settings.name
        options["client_encoding"] = "UTF8"
        options["target_session_attrs"] = options["target_session_attrs"] ?? "read-write"
        // A function of the same name in another schema must not run as this user.
        let parameters = settings.parameters.merging(["search_path": "pg_catalog"]) { $1 }.sorted { $0.key < $1.key }
            .map { "-c \($0.key)=\($0.value)" }
        options["options"] = ([options["options"]].compactMap { $0 } + parameters).joined(separator: " ")
        return options.map { (keyword: $0.key, value: $0.value) }
    }

    private static let unreadable = PostgresError(
        .unusable,
        "PostgreSQL's connection string cannot be read: write postgresql://USER@HOST/DATABASE?sslrootcert=FILE, and @, : and "
            + "/ of a password as %40, %3A and %2F."
    )

    /// Refuses parts of a password that stand in the wrong place, which libpq would quote, and files without a whole path.
    private static func check(_ options: [String: String]) throws(PostgresError) {
        let hosts = (options["host"] ?? "").split(separator: ",")
        let ports = (options["port"] ?? "").split(separator: ",")
        guard hosts.allSatisfy({ $0.hasPrefix("/") || !$0.contains { "@/".contains($0) } }),
            ports.allSatisfy({ UInt16($0) != nil })
        else { throw Self.unreadable }
        // libpq takes the working directory, which a service manager changes.
        for name in ["sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile"] {
            guard let file = options[name], !file.isEmpty, !file.hasPrefix("/"), file != "system" else { continue }
            throw PostgresError(
                .unusable,
                "\(name) of PostgreSQL's connection string is no whole path: begin it with /."
            )
        }
    }

    /// Begins with any one of several hosts. libpq waits for the first without a limit, so one that hangs would hide the others.
    private static func rotate(_ options: inout [String: String]) {
        let lists = ["host", "hostaddr", "port"].compactMap { name in
            options[name].map { (name: name, entries: $0.split(separator: ",", omittingEmptySubsequences: false)) }
        }
        guard let count = lists.map(\.entries.count).max(), count > 1 else { return }
        let first = Int.random(in: 0..<count)
        // A list with one entry, such as one port, is for all hosts.
        for list in lists where list.entries.count == count {
            options[list.name] = (list.entries[first...] + list.entries[..<first]).joined(separator: ",")
        }
    }

    var isEncrypted: Bool { PQsslInUse(self.handle) == 1 }

    var descriptor: Int32 { PQsocket(self.handle) }

    /// Makes the next step of the connection's start. Returns nil when the connection is ready.
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

    /// Queues a statement, and the end of its transaction.
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
        let sent = Self.withPointers(to: values) { pointers in
            PQsendQueryPrepared(self.handle, name, Int32(values.count), pointers, lengths, formats, 1)
        }
        guard sent == 1, PQpipelineSync(self.handle) == 1 else { throw self.lost() }
    }

    /// Calls `body` with a pointer to the bytes of each value.
    private static func withPointers<Value>(
        to values: [[UInt8]?],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        // One copy of all bytes has an address that stays. An empty value needs an address, too: nil is NULL.
        let bytes = UnsafeMutableBufferPointer<CChar>.allocate(capacity: values.reduce(1) { $0 + ($1?.count ?? 0) })
        defer { bytes.deallocate() }
        var end = 0
        let pointers = values.map { value -> UnsafePointer<CChar>? in
            guard let value, let base = bytes.baseAddress else { return nil }
            let begin = base + end
            UnsafeMutableRawBufferPointer(start: begin, count: value.count).copyBytes(from: value)
            end += value.count
            return UnsafePointer(begin)
        }
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
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
        // libpq looks for messages between two answers when it is asked for the next answer.
        _ = PQisBusy(self.handle)
        guard isOpen else { throw self.lost() }
    }

    /// Returns the next part of the answers; nil if it has not come yet. Call it only while a statement is unanswered.
    func next() throws(PostgresError) -> Answer? {
        // libpq returns no result between two statements.
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
                return .refused(Self.refusal(result))
            default: return .rows(PostgresRows(result))
            }
        }
        return nil
    }

    private static func refusal(_ result: OpaquePointer) -> PostgresError {
        let field = { (code: Int32) in PQresultErrorField(result, code).map { String(cString: $0) } }
        // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY. The detail may quote values, so it is left out.
        let (state, message) = (field(67) ?? "", field(77) ?? "it gave no reason")
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
        // libpq breaks lines, and indents them with tabs.
        var line = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        if line.hasSuffix(".") { line.removeLast() }
        if line.contains("unsupported startup parameter") { return .pooled("it refuses the settings of a session") }
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
