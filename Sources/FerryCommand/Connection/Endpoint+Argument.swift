internal import ArgumentParser
internal import FerryTerminal

extension Endpoint: ExpressibleByArgument {}

extension HostName {
    /// Checks a name. Does nothing if it is nil.
    ///
    /// - Parameter option: the option's name, for the message.
    static func require(_ name: String?, _ option: String) throws {
        guard let name, !self.isOne(name) else { return }
        throw ValidationError("\(option) takes the name or the address of a host.")
    }
}
