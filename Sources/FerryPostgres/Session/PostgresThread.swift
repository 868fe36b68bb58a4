internal import DequeModule
internal import FerryPlatform
internal import NIOCore

#if PostgreSQL
/// The work of a session's thread. It owns the connection, and waits for the socket, for statements and for deadlines.
final class PostgresThread {
    private struct Pending {
        let request: PostgresSession.Request
        /// The address of the text that this statement prepares; nil if the text was prepared before, and once the
        /// server has prepared it.
        var preparing: UInt?
        var answer: PostgresSession.Answer?
    }

    /// The longest wait of a thread that has no pipe, or whose encrypted connection may hold unread bytes.
    private static let look: TimeAmount = .milliseconds(50)

    private let inbox: PostgresInbox
    private var unanswered: Deque<Pending> = []
    /// The names of the prepared texts, by the address of the text.
    private var prepared: [UInt: String] = [:]
    /// The number of names so far. No name is used twice.
    private var names = 0

    init(_ inbox: PostgresInbox) { self.inbox = inbox }

    func run(_ settings: PostgresSettings, _ onEnd: (PostgresError?) -> Void) {
        var end: PostgresError?
        do { try self.work(settings) } catch { end = error }
        let reason = end ?? PostgresError(.ended, "The session was closed.")
        for pending in self.unanswered { pending.request.then(.failure(reason)) }
        for request in self.inbox.end(reason) { request.then(.failure(reason)) }
        onEnd(end)
    }

    /// Returns when the session was closed. Throws when the session has failed.
    private func work(_ settings: PostgresSettings) throws(PostgresError) {
        let servers = try PostgresOptions.all(settings)
        let end = NIODeadline.sinceBoot + TimeAmount(settings.connectLimit)
        // A silent server would cost time at each connection if it were always the first.
        let first = Int.random(in: servers.indices)
        let order = Array(servers[first...] + servers[..<first])
        let found = try self.firstGood(of: order, until: end) { (server, end) throws(PostgresError) in
            guard let name = server.name else { return try self.connect(server, settings, until: end) }
            guard let addresses = try self.addresses(of: name, until: end) else { return nil }
            return try self.firstGood(of: addresses, until: end) { (address, end) throws(PostgresError) in
                try self.connect(server.at(address), settings, until: end)
            }
        }
        guard let connection = found else { return }
        for index in self.unanswered.indices { try self.send(index, connection) }
        while true {
            let sent = self.unanswered.endIndex
            guard self.takeStatements() else { return }
            for index in sent..<self.unanswered.endIndex { try self.send(index, connection) }
            let writes = try connection.flush()
            try connection.read()
            try self.takeAnswers(connection)
            var deadline = self.unanswered.lazy.map(\.request.deadline).min()
            if let deadline, deadline <= .sinceBoot {
                throw PostgresError(.ended, "PostgreSQL did not answer a statement in time.")
            }
            // OpenSSL may hold bytes of an answer for which the socket does not become readable.
            if let end = deadline, connection.isEncrypted { deadline = min(end, .sinceBoot + Self.look) }
            _ = self.wait(connection.descriptor, writes: writes, until: deadline)
        }
    }

    // MARK: The connection

    /// Returns what `body` returns for the first candidate for which it throws no error; nil if the session was
    /// closed. Each candidate gets an equal share of the time that is left.
    private func firstGood<Candidate>(
        of candidates: [Candidate],
        until end: NIODeadline,
        _ body: (Candidate, NIODeadline) throws(PostgresError) -> PostgresConnection?
    ) throws(PostgresError) -> PostgresConnection? {
        var errors: [PostgresError] = []
        for (index, candidate) in candidates.enumerated() {
            let now = NIODeadline.sinceBoot
            let share = (end - now).nanoseconds / Int64(candidates.count - index)
            do throws(PostgresError) {
                return try body(candidate, now + .nanoseconds(share))
            } catch {
                errors.append(error)
            }
        }
        throw PostgresError(errors)
    }

    /// Looks a name up. Returns nil if the session was closed.
    private func addresses(of name: String, until end: NIODeadline) throws(PostgresError) -> [String]? {
        let lookup = PostgresLookup(name, waking: self.inbox)
        while self.takeStatements() {
            if let addresses = lookup.addresses {
                guard addresses.isEmpty else { return addresses }
                throw PostgresError(.ended, "PostgreSQL: the host name \"\(name)\" has no address.")
            }
            guard NIODeadline.sinceBoot < end else {
                throw PostgresError(.ended, "PostgreSQL: the look-up of the host name \"\(name)\" has no answer.")
            }
            _ = self.wait(-1, writes: false, until: end)
        }
        return nil
    }

    /// Returns a connection to one server, with the parameters that it needs; nil if the session was closed.
    private func connect(
        _ server: PostgresOptions,
        _ settings: PostgresSettings,
        until end: NIODeadline
    ) throws(PostgresError) -> PostgresConnection? {
        let connection = try PostgresConnection(server)
        var interest: PostgresConnection.Interest? = try connection.begin()
        while let awaited = interest {
            guard try self.isReady(connection, awaited, until: end, server) else { return nil }
            interest = try connection.connect()
        }
        guard try self.askParameters(settings, connection) else { return connection }
        while try !self.hasParameters(connection) {
            let awaited: PostgresConnection.Interest = try connection.flush() ? .write : .read
            guard try self.isReady(connection, awaited, until: end, server) else { return nil }
            try connection.read()
        }
        return connection
    }

    /// Waits until the socket may be ready. Returns false if the session was closed.
    private func isReady(
        _ connection: borrowing PostgresConnection,
        _ interest: PostgresConnection.Interest,
        until end: NIODeadline,
        _ server: PostgresOptions
    ) throws(PostgresError) -> Bool {
        while self.takeStatements() {
            guard NIODeadline.sinceBoot < end else { throw server.silence }
            // OpenSSL may hold bytes of an answer for which the socket does not become readable.
            let look = connection.isEncrypted ? min(end, .sinceBoot + Self.look) : end
            if self.wait(connection.descriptor, writes: interest == .write, until: look) || connection.isEncrypted {
                return true
            }
        }
        return false
    }

    /// Asks which parameters differ from the settings, because a pooler may ignore settings. Returns false if the
    /// settings have no parameters to ask for.
    private func askParameters(
        _ settings: PostgresSettings,
        _ connection: borrowing PostgresConnection
    ) throws(PostgresError) -> Bool {
        // The parameters of TCP are not asked for, because a Unix socket has none.
        let parameters = settings.parameters.filter { !$0.key.hasPrefix("tcp_") }
        guard !parameters.isEmpty else { return false }
        let statement = PostgresStatement(
            """
            select name, current_setting(name) from unnest($1::text[], $2::text[]) s(name, value)
              where current_setting(name) <> value
            """,
            [.texts(parameters.map(\.key)), .texts(parameters.map(\.value))]
        )
        try connection.send(statement, as: "", prepares: true)
        return true
    }

    /// Returns true when the server has answered that no parameter differs; false while the answer is not complete.
    /// Throws if a parameter differs.
    private func hasParameters(_ connection: borrowing PostgresConnection) throws(PostgresError) -> Bool {
        while let answer = try connection.next() {
            switch answer {
            case .rows(let rows):
                guard let name = rows.text(0, 0) else { continue }
                throw .pooled("\(name) is \(rows.text(0, 1) ?? "not set")")
            // Without this answer the session is of no use. Because the error is `ended`, the owner makes another
            // session.
            case .refused(let error): throw PostgresError(.ended, state: error.state, error.description)
            case .end: return true
            }
        }
        return false
    }

    // MARK: Statements

    /// Takes the statements that have come. Returns false if the session was closed.
    private func takeStatements() -> Bool {
        guard let requests = self.inbox.take() else { return false }
        for request in requests { self.unanswered.append(Pending(request: request)) }
        return true
    }

    private func send(_ index: Int, _ connection: borrowing PostgresConnection) throws(PostgresError) {
        let statement = self.unanswered[index].request.statement
        let text = UInt(bitPattern: statement.text.utf8Start)
        if let name = self.prepared[text] {
            try connection.send(statement, as: name, prepares: false)
        } else {
            let name = "ferry\(self.names)"
            self.names += 1
            self.prepared[text] = name
            self.unanswered[index].preparing = text
            try connection.send(statement, as: name, prepares: true)
        }
    }

    private func takeAnswers(_ connection: borrowing PostgresConnection) throws(PostgresError) {
        while !self.unanswered.isEmpty, let answer = try connection.next() {
            switch answer {
            case .rows(let rows):
                if self.unanswered[0].preparing == nil {
                    self.unanswered[0].answer = .success(rows)
                } else {
                    self.unanswered[0].preparing = nil
                }
            case .refused(let error):
                // The first error is the reason. The server skips the rest of the statement.
                if case .failure = self.unanswered[0].answer { continue }
                self.unanswered[0].answer = .failure(error)
                if let text = self.unanswered[0].preparing { self.prepared[text] = nil }
            case .end:
                let pending = self.unanswered.removeFirst()
                self.inbox.answered()
                let answer = pending.answer ?? .failure(PostgresError(.ended, "PostgreSQL gave no answer."))
                pending.request.then(answer)
                if case .failure(let error) = answer, error.kind == .ended { throw error }
            }
        }
    }

    /// Waits for the socket, for a statement or for the deadline. Returns whether the socket is ready.
    private func wait(_ descriptor: Int32, writes: Bool, until deadline: NIODeadline?) -> Bool {
        var polls = [
            pollfd(fd: descriptor, events: Int16(writes ? POLLIN | POLLOUT : POLLIN), revents: 0),
            pollfd(fd: self.inbox.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        var left = deadline.map { max($0 - .sinceBoot, .zero) }
        if self.inbox.descriptor < 0 { left = min(left ?? Self.look, Self.look) }
        // The time is rounded up. With 0 ms the thread would spin until the deadline.
        poll(&polls, 2, left.map { Int32(clamping: $0.nanoseconds / 1_000_000 + 1) } ?? -1)
        return polls[0].revents != 0
    }
}
#else
/// A build without PostgreSQL has no session.
struct PostgresThread {
    private let inbox: PostgresInbox

    init(_ inbox: PostgresInbox) { self.inbox = inbox }

    func run(_ settings: PostgresSettings, _ onEnd: (PostgresError?) -> Void) {
        for request in self.inbox.end(.missing) { request.then(.failure(.missing)) }
        onEnd(.missing)
    }
}
#endif
