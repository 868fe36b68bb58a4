internal import Foundation
internal import FerryPlatform

/// A PostgreSQL server of Debian's packages on a Unix socket, in a directory that goes with the process.
///
/// The first test that needs one starts it. Each test has a database of its own.
package final class PostgresServer: Sendable {
    /// The server of this process; nil if PostgreSQL is not installed.
    package static let shared = PostgresServer()

    private let programs: String
    private let directory: String

    private static func programs() -> String? {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        guard let version = versions.compactMap({ Int($0) }).max() else { return nil }
        let programs = "\(root)/\(version)/bin"
        return access("\(programs)/initdb", X_OK) == 0 ? programs : nil
    }

    private init?() {
        guard let programs = Self.programs() else { return nil }
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
        guard self.start() else { return nil }
        // A process that is killed leaves its server, and the next one removes nothing that it did not make.
        Self.leaving = (programs, self.directory)
        atexit { PostgresServer.leave() }
    }

    nonisolated(unsafe) private static var leaving: (programs: String, directory: String)?

    private static func leave() {
        guard let (programs, directory) = self.leaving else { return }
        _ = Self.run(programs, ["pg_ctl", "-D", "\(directory)/data", "-m", "immediate", "stop"])
        try? FileManager.default.removeItem(atPath: directory)
    }

    private var data: String { "\(self.directory)/data" }

    /// Starts the server, which accepts connections when the call returns.
    @discardableResult
    package func start() -> Bool {
        // Nothing that a test writes need survive a loss of power.
        self.run(
            "pg_ctl",
            "-D",
            self.data,
            "-w",
            "-l",
            "\(self.directory)/log",
            "-o",
            "-k \(self.directory) -c listen_addresses='' -c fsync=off -c max_connections=200",
            "start"
        )
    }

    /// Stops the server as a crash would.
    package func kill() { _ = self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop") }

    private func run(_ arguments: String...) -> Bool { Self.run(self.programs, arguments) }

    private static func run(_ programs: String, _ arguments: [String]) -> Bool {
        var arguments = arguments
        arguments[0] = "\(programs)/\(arguments[0])"
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
    package var socketPath: String { "\(self.directory)/.s.PGSQL.5432" }

    /// The connection string of a database.
    package func connection(to database: String) -> String {
        "host=\(self.directory) user=ferry dbname=\(database) sslmode=disable"
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
