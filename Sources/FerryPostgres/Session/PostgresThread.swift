internal import DequeModule
internal import FerryPlatform
internal import NIOCore

#if PostgreSQL
/// The work of a session's thread. It owns the connection, and waits for the socket, for statements and for deadlines.
final class PostgresThread {
    private struct Pending {
        let request: PostgresSession.Request
        /// The text that this statement prepares first, until the server has done so.
        var preparing: UInt?
        var answer: PostgresSession.Answer?
    }

    /// How long a thread waits at most before it looks again, if it has no pipe, or for the rest of an encrypted answer.
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

    /// Returns when the session was closed.
    private func work(_ settings: PostgresSettings) throws(PostgresError) {
        let deadline = NIODeadline.sinceBoot + TimeAmount(settings.connectLimit)
        let connection = try PostgresConnection(settings)
        while let interest = try connection.connect() {
            guard let requests = self.inbox.take() else { return }
            self.queue(requests)
            guard NIODeadline.sinceBoot < deadline else {
                throw PostgresError(.ended, "PostgreSQL does not answer: the connection took \(settings.connectLimit).")
            }
            self.wait(connection.descriptor, writes: interest == .write, until: deadline)
        }
        try self.check(settings, connection, deadline)
        for index in self.unanswered.indices { try self.send(index, connection) }
        while let requests = self.inbox.take() {
            for request in requests {
                self.queue([request])
                try self.send(self.unanswered.endIndex - 1, connection)
            }
            let writes = try connection.flush()
            try connection.read()
            try self.takeAnswers(connection)
            var deadline = self.unanswered.lazy.map(\.request.deadline).min()
            if let deadline, deadline <= .sinceBoot {
                throw PostgresError(.ended, "PostgreSQL did not answer a statement in time.")
            }
            // OpenSSL may hold bytes of an answer for which the socket does not become readable.
            if let end = deadline, connection.isEncrypted { deadline = min(end, .sinceBoot + Self.look) }
            self.wait(connection.descriptor, writes: writes, until: deadline)
        }
    }

    private func queue(_ requests: [PostgresSession.Request]) {
        for request in requests { self.unanswered.append(Pending(request: request)) }
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

    /// Checks that the server has taken the parameters. A pooler may ignore them.
    private func check(
        _ settings: PostgresSettings,
        _ connection: borrowing PostgresConnection,
        _ deadline: NIODeadline
    ) throws(PostgresError) {
        // A Unix socket has no parameters of TCP.
        let parameters = settings.parameters.filter { !$0.key.hasPrefix("tcp_") }
        guard !parameters.isEmpty else { return }
        let statement = PostgresStatement(
            """
            select name, current_setting(name) from unnest($1::text[], $2::text[]) s(name, value)
              where current_setting(name) <> value
            """,
            [.texts(parameters.map(\.key)), .texts(parameters.map(\.value))]
        )
        try connection.send(statement, as: "", prepares: true)
        while true {
            let writes = try connection.flush()
            try connection.read()
            while let answer = try connection.next() {
                switch answer {
                case .rows(let rows):
                    guard let name = rows.text(0, 0) else { continue }
                    throw .pooled("\(name) is \(rows.text(0, 1) ?? "not set")")
                case .refused(let error): throw error
                case .end: return
                }
            }
            guard NIODeadline.sinceBoot < deadline else {
                throw PostgresError(.ended, "PostgreSQL does not answer: the connection took \(settings.connectLimit).")
            }
            self.wait(connection.descriptor, writes: writes, until: deadline)
        }
    }

    /// Waits for the socket, for a statement or for the deadline.
    private func wait(_ descriptor: Int32, writes: Bool, until deadline: NIODeadline?) {
        var polls = [
            pollfd(fd: descriptor, events: Int16(writes ? POLLIN | POLLOUT : POLLIN), revents: 0),
            pollfd(fd: self.inbox.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        var left = deadline.map { max($0 - .sinceBoot, .zero) }
        if self.inbox.descriptor < 0 { left = min(left ?? Self.look, Self.look) }
        // One millisecond more, because a part of one would be cut off.
        poll(&polls, 2, left.map { Int32(clamping: $0.nanoseconds / 1_000_000 + 1) } ?? -1)
    }
}
#else
/// A build without PostgreSQL has no session.
struct PostgresThread {
    private let inbox: PostgresInbox

    init(_ inbox: PostgresInbox) { self.inbox = inbox }

    func run(_ settings: PostgresSettings, _ onEnd: (PostgresError?) -> Void) {
        let error = PostgresError(
            .unusable,
            "This build of Ferry has no PostgreSQL: build it with --traits PostgreSQL."
        )
        for request in self.inbox.end(error) { request.then(.failure(error)) }
        onEnd(error)
    }
}
#endif
