#if PostgreSQL
internal import CFerryPostgreSQL
internal import FerryPlatform

/// libpq's options for one server of a connection string.
struct PostgresOptions {
    private(set) var values: [String: String]

    /// The options for each server, in the order of the string.
    static func all(_ settings: PostgresSettings) throws(PostgresError) -> [PostgresOptions] {
        var options = try Self.parsed(settings.connection)
        if options["sslmode"] == nil, getenv("PGSSLMODE") == nil { options["sslmode"] = "verify-full" }
        // With a ticket of Kerberos, libpq would otherwise encrypt by GSSAPI, and verify no certificate.
        if options["gssencmode"] == nil, getenv("PGGSSENCMODE") == nil { options["gssencmode"] = "disable" }
        options["target_session_attrs"] = options["target_session_attrs"] ?? "read-write"
        options["application_name"] = settings.name
        options["client_encoding"] = "UTF8"
        // With another `search_path`, a function of the same name in another schema could run with this user's
        // rights.
        let parameters = settings.parameters.merging(["search_path": "pg_catalog"]) { $1 }.sorted { $0.key < $1.key }
            .map { "-c \($0.key)=\($0.value.replacing(" ", with: "\\ "))" }
        options["options"] = ([options["options"]].compactMap { $0 } + parameters).joined(separator: " ")
        return try Self.split(options).map { PostgresOptions(values: $0) }
    }

    private static func parsed(_ connection: String) throws(PostgresError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(connection, &message) else {
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
        guard options["service"] == nil, getenv("PGSERVICE") == nil else {
            throw PostgresError(
                .unusable,
                "PostgreSQL's connection string names a service (service, PGSERVICE): name the server in the string itself."
            )
        }
        // libpq would otherwise read these variables itself, and look up the host without a time limit.
        for (name, variable) in ["host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"] {
            if options[name] == nil, let value = getenv(variable) { options[name] = String(cString: value) }
        }
        // A password that is not escaped may end up in the host or the port, which libpq quotes in its messages.
        let hosts = (options["host"] ?? "").split(separator: ",")
        let ports = (options["port"] ?? "").split(separator: ",")
        guard hosts.allSatisfy({ $0.hasPrefix("/") || !$0.contains { "@/".contains($0) } }),
            ports.allSatisfy({ UInt16($0) != nil })
        else { throw Self.unreadable }
        // libpq resolves a relative path in the working directory, which differs under a service manager.
        for name in ["sslrootcert", "sslcert", "sslkey", "sslcrl", "sslcrldir", "passfile"] {
            guard let file = options[name], !file.isEmpty, !file.hasPrefix("/"), file != "system" else { continue }
            throw PostgresError(
                .unusable,
                "\(name) of PostgreSQL's connection string is no whole path: begin it with /."
            )
        }
        return options
    }

    private static let unreadable = PostgresError(
        .unusable,
        "PostgreSQL's connection string cannot be read: write postgresql://USER@HOST/DATABASE?sslrootcert=FILE, and @, : and "
            + "/ of a password as %40, %3A and %2F."
    )

    /// Returns the options of each server. With the whole lists, libpq would wait for a silent server without a limit.
    private static func split(_ options: [String: String]) throws(PostgresError) -> [[String: String]] {
        let lists = ["host", "hostaddr", "port"].compactMap { name in
            options[name].map { (name: name, entries: $0.split(separator: ",", omittingEmptySubsequences: false)) }
        }
        let count = lists.map(\.entries.count).max() ?? 1
        // A list with one entry, such as one port, is for all servers.
        guard lists.allSatisfy({ [1, count].contains($0.entries.count) }) else {
            throw PostgresError(
                .unusable,
                "PostgreSQL's connection string has lists of different lengths: name as many ports as hosts, or one."
            )
        }
        return (0..<count).map { place in
            var options = options
            for list in lists where list.entries.count > 1 { options[list.name] = String(list.entries[place]) }
            return options
        }
    }

    /// The name that has to be looked up; nil for an address, for the path of a socket, and without a host.
    var name: String? {
        guard self.values["hostaddr"] ?? "" == "", let host = self.values["host"], !host.isEmpty,
            !host.hasPrefix("/"), PostgresLookup.addresses(of: host, flags: AI_NUMERICHOST).isEmpty
        else { return nil }
        return host
    }

    /// The same server by one address of its name.
    func at(_ address: String) -> PostgresOptions {
        var options = self
        options.values["hostaddr"] = address
        return options
    }

    /// Sets the whole seconds after which libpq gives up a connection. libpq obeys this limit only in calls that
    /// wait.
    mutating func limit(to time: Duration) { self.values["connect_timeout"] = "\(time.components.seconds)" }

    /// Calls `body` with the keywords and the values as libpq takes them: the last one of each is null.
    func withStrings<Result>(
        _ body: (_ keywords: [UnsafePointer<CChar>?], _ values: [UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = self.values.map { (strdup($0), strdup($1)) }
        defer {
            for (keyword, value) in copies {
                free(keyword)
                free(value)
            }
        }
        return body(copies.map { UnsafePointer($0.0) } + [nil], copies.map { UnsafePointer($0.1) } + [nil])
    }

    /// The name and the address of the server, as libpq writes them after a look-up of its own.
    private var title: String {
        let host = self.values["host"] ?? ""
        guard let address = self.values["hostaddr"], !address.isEmpty else { return "\"\(host)\"" }
        return host.isEmpty ? "\"\(address)\"" : "\"\(host)\" (\(address))"
    }

    /// The error of a server that does not answer.
    var silence: PostgresError {
        let place = self.title + (self.values["port"].map { ", port \($0)" } ?? "")
        return PostgresError(.ended, "PostgreSQL: connection to server at \(place) failed: it does not answer.")
    }

    /// Puts the name of the server into a message of libpq, which has the address alone.
    func naming(_ message: String) -> String {
        guard let address = self.values["hostaddr"], !address.isEmpty else { return message }
        return message.replacing("server at \"\(address)\"", with: "server at \(self.title)")
    }
}

extension PostgresSettings {
    /// Opens a connection to the first server of the string, with the options of a session, and waits for it. The
    /// parameters are not checked. The connection may have failed: see `PQstatus`. The caller calls `PQfinish`.
    ///
    /// - Returns: the connection; nil without memory.
    /// - Throws: ``PostgresError`` when the string cannot be used.
    package func connectAndWait() throws(PostgresError) -> OpaquePointer? {
        guard var server = try PostgresOptions.all(self).first else { return nil }
        server.limit(to: self.connectLimit)
        return server.withStrings { PQconnectdbParams($0, $1, 0) }
    }
}
#endif
