/// The environment that a service manager, such as systemd, gives to a process.
///
/// | variable | meaning |
/// |---|---|
/// | `NOTIFY_SOCKET` | the socket for notices to the manager: a path, or `@` and an abstract name |
/// | `WATCHDOG_USEC`, `WATCHDOG_PID` | the time (µs) that a process may be silent, and its identifier |
/// | `LISTEN_FDS`, `LISTEN_FDNAMES`, `LISTEN_PID` | the number of passed sockets, their names, and the process that gets them |
///
/// A child inherits these variables. So the second and third row do not count if `WATCHDOG_PID` or `LISTEN_PID` names
/// another process (sd_notify(3), sd_watchdog_enabled(3), sd_listen_fds(3)).
package struct ServiceEnvironment: Hashable, Sendable {
    /// The first descriptor that is passed (`SD_LISTEN_FDS_START`).
    private static let firstDescriptor: Int32 = 3
    /// The largest value of `LISTEN_FDS`. A program takes far fewer sockets.
    private static let socketLimit = 1024

    /// The address of the manager's socket; nil if the manager takes no notices.
    package let notifySocket: String?
    /// The time that this process may be silent before the manager ends the process; nil if there is no limit for it.
    package let watchdog: Duration?
    /// The descriptors of the sockets that are passed to this process, by name.
    package let sockets: [String: Int32]

    /// - Parameters:
    ///   - variables: the environment.
    ///   - process: the identifier of this process.
    ///   - names: the sockets that this program takes.
    /// - Throws: ``ServiceFault`` when a variable is malformed, when two sockets have the same name, and when this
    ///   program does not take a passed socket. The clients of such a socket would wait for ever.
    package init(_ variables: [String: String], process: Int32, names: [String]) throws(ServiceFault) {
        self.notifySocket = try Self.notifySocket(variables["NOTIFY_SOCKET"])
        self.watchdog = try Self.watchdog(variables, process: process)
        self.sockets = try Self.sockets(variables, process: process, names: names)
    }

    private static func notifySocket(_ text: String?) throws(ServiceFault) -> String? {
        guard let text, !text.isEmpty else { return nil }
        guard text.utf8.count > 1, text.hasPrefix("/") || text.hasPrefix("@") else {
            throw ServiceFault("NOTIFY_SOCKET must be an absolute path, or @ and an abstract name.")
        }
        return text
    }

    private static func watchdog(_ variables: [String: String], process: Int32) throws(ServiceFault) -> Duration? {
        guard let text = variables["WATCHDOG_USEC"] else { return nil }
        guard try self.isMeant(process, by: "WATCHDOG_PID", variables) ?? true else { return nil }
        guard let microseconds = Int64(text), microseconds > 0 else {
            throw ServiceFault("WATCHDOG_USEC must be a whole number of microseconds above 0.")
        }
        return .microseconds(microseconds)
    }

    private static func sockets(
        _ variables: [String: String],
        process: Int32,
        names known: [String]
    ) throws(ServiceFault) -> [String: Int32] {
        guard let text = variables["LISTEN_FDS"] else { return [:] }
        // Without LISTEN_PID, it is unknown for which process the sockets are meant.
        guard try self.isMeant(process, by: "LISTEN_PID", variables) ?? false else { return [:] }
        guard let count = Int(text), 0...self.socketLimit ~= count else {
            throw ServiceFault("LISTEN_FDS must be the number of passed sockets.")
        }
        let given = (variables["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        var sockets: [String: Int32] = [:]
        for index in 0..<count {
            let name = index < given.count ? String(given[index]) : ""
            guard !known.isEmpty else {
                throw ServiceFault(
                    "The service manager passes a socket with the name '\(name)', and with this configuration the program "
                        + "takes none: start it by a unit without sockets, which Compat/systemd has."
                )
            }
            guard known.contains(name) else {
                throw ServiceFault(
                    "The service manager passes a socket with the name '\(name)', and this program takes "
                        + "\(known.map { "'\($0)'" }.joined(separator: ", ")): set FileDescriptorName= in the socket's unit."
                )
            }
            guard sockets[name] == nil else {
                throw ServiceFault(
                    "The service manager passes two sockets with the name '\(name)': one with ListenStream=[::]:PORT "
                        + "takes clients of both IP versions."
                )
            }
            sockets[name] = self.firstDescriptor + Int32(index)
        }
        return sockets
    }

    /// Whether a variable names this process; nil without the variable.
    private static func isMeant(
        _ process: Int32,
        by name: String,
        _ variables: [String: String]
    ) throws(ServiceFault) -> Bool? {
        guard let text = variables[name] else { return nil }
        guard let number = Int32(text) else { throw ServiceFault("\(name) must be the number of a process.") }
        return number == process
    }
}
