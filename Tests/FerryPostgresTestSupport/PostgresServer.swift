internal import FerryCore
internal import Foundation
internal import FerryPlatform

/// A PostgreSQL server of Debian's packages on a Unix socket, in a directory that goes with the process.
///
/// The first test that needs one starts it. Each test has a database of its own.
package final class PostgresServer: Sendable {
    /// The server of this process; nil if PostgreSQL is not installed.
    package static let shared = PostgresServer()
    /// A server that also takes connections with TLS, at ``port`` of 127.0.0.1; nil as above.
    package static let secure = PostgresServer(hasTLS: true)

    private let programs: String
    private let directory: String
    /// The port of the server, also in the name of its socket.
    package let port: Int
    private let hasTLS: Bool

    private static func programs() -> String? {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        guard let version = versions.compactMap({ Int($0) }).max() else { return nil }
        let programs = "\(root)/\(version)/bin"
        return access("\(programs)/initdb", X_OK) == 0 ? programs : nil
    }

    private init?(hasTLS: Bool = false) {
        guard let programs = Self.programs() else { return nil }
        self.hasTLS = hasTLS
        self.port = hasTLS ? Self.freePort() : 5432
        self.programs = programs
        self.directory = "/tmp/ferry-postgres-\(UUID().uuidString)"
        guard mkdir(self.directory, 0o700) == 0 else { return nil }
        // The server refuses to run as root.
        if geteuid() == 0, let user = getpwnam("postgres") {
            chown(self.directory, user.pointee.pw_uid, user.pointee.pw_gid)
        }
        guard self.run("initdb", "-D", self.data, "-U", "ferry", "-A", "trust", "-N", "-E", "UTF8", "--locale=C.UTF-8")
        else {
            return nil
        }
        if hasTLS { guard self.makeCertificate() else { return nil } }
        guard self.start() else { return nil }
        // A process that is killed leaves its server, and the next one removes nothing that it did not make.
        let directory = self.directory
        let isFirst = Self.leaving.withLock { leaving in
            leaving.append((programs, directory))
            return leaving.count == 1
        }
        if isFirst { atexit { PostgresServer.leave() } }
    }

    private static let leaving = Locked<[(programs: String, directory: String)]>([])

    private static func leave() {
        for (programs, directory) in self.leaving.withLock({ $0 }) {
            _ = Self.run("\(programs)/pg_ctl", ["-D", "\(directory)/data", "-m", "immediate", "stop"])
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    /// The certificate of the server, with the name `localhost` alone, and of its authority.
    package var certificate: String { "\(self.data)/server.crt" }

    private func makeCertificate() -> Bool {
        Self.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost", "-keyout", "\(self.data)/server.key", "-out", self.certificate,
            ]
        )
    }

    /// A port that no program has. The system gives none of this range to a program that asks for any.
    private static func freePort() -> Int {
        while true {
            let port = Int.random(in: 20_000..<32_000)
            let probe = socket(AF_INET, SystemCalls.streamSocket, 0)
            defer { close(probe) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            let code = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if code == 0 { return port }
        }
    }

    private var data: String { "\(self.directory)/data" }

    /// Starts the server, which accepts connections when the call returns.
    @discardableResult
    package func start() -> Bool {
        let way = self.hasTLS ? "-c listen_addresses=127.0.0.1 -c ssl=on" : "-c listen_addresses=''"
        // Nothing that a test writes need survive a loss of power.
        return self.run(
            "pg_ctl",
            "-D",
            self.data,
            "-w",
            "-l",
            "\(self.directory)/log",
            "-o",
            "-k \(self.directory) -c port=\(self.port) \(way) -c fsync=off -c max_connections=200",
            "start"
        )
    }

    /// Stops the server as a crash would.
    package func kill() { _ = self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop") }

    private func run(_ program: String, _ arguments: String...) -> Bool {
        Self.run("\(self.programs)/\(program)", arguments)
    }

    private static func run(_ program: String, _ arguments: [String]) -> Bool {
        var arguments = [program] + arguments
        if geteuid() == 0 { arguments = ["/usr/sbin/runuser", "-u", "postgres", "--"] + arguments }
        // Foundation's `Process` waits for the server, too, because the server inherits one of its sockets.
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in 0...2 as ClosedRange<Int32> {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        // The server outlives a killed test. It must hold no lock and no pipe of the process that started the test.
        for descriptor in 3..<256 as Range<Int32> { posix_spawn_file_actions_addclose(&actions, descriptor) }
        let copies = arguments.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var process = pid_t()
        guard posix_spawn(&process, arguments[0], &actions, nil, copies + [nil], environ) == 0 else { return false }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }

    /// The path of the server's socket.
    package var socketPath: String { "\(self.directory)/.s.PGSQL.\(self.port)" }

    /// The connection string of a database.
    package func connection(to database: String) -> String {
        "host=\(self.directory) port=\(self.port) user=ferry dbname=\(database) sslmode=disable"
    }

    /// Runs SQL with `psql`, and returns its output: a line for each row, with `|` between columns.
    @discardableResult
    package func query(_ sql: String, in database: String) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "\(self.programs)/psql")
        process.arguments = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.connection(to: database), "-c", sql]
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw QueryFailure() }
        return text.trimmingCharacters(in: .newlines)
    }

    struct QueryFailure: Error {}

    /// Makes an empty database, and returns its name. It goes with the server.
    package func database() throws -> String {
        let name = "test_\(UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: ""))"
        try self.query("create database \(name)", in: "postgres")
        return name
    }
}

extension PostgresServer {
    /// Whether this build has PostgreSQL, and the machine a server. Tests without one are left out.
    package static var isAvailable: Bool {
        #if PostgreSQL
        Self.shared != nil
        #else
        false
        #endif
    }
}
