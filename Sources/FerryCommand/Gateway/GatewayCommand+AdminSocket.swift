internal import FerryOptions
internal import FerryPlatform
internal import FerryTerminal

extension GatewayCommand {
    /// The admin socket that the configuration leads to, for a command that may also ask over a port.
    func adminSocket() throws -> String {
        guard let config else { throw CommandFailure.usage("Give --config FILE, --socket PATH or --url URL.") }
        guard let path = try Self.adminSocket(of: config) else {
            throw CommandFailure.usage(
                "The gateway has no admin socket: give it 'store' or 'admin', or name its port with --url."
            )
        }
        return path
    }

    /// The admin socket that a configuration leads to; nil without a socket.
    ///
    /// The configuration may have a fault elsewhere, as before a reload that is refused. The gateway then names it.
    static func adminSocket(of config: String) throws -> String? {
        do {
            return try self.plan(of: config).admin.socket.path
        } catch {
            guard let bytes = try? FileDescriptor.contents(of: config, limit: self.longest),
                let configuration = try? OptionObject(bytes, of: .gateway)
            else { throw error }
            let directory = URL(filePath: config).deletingLastPathComponent()
            func file(in object: String, _ member: String) -> String? {
                guard case .object(let members) = configuration.members[object],
                    case .text(let text) = members[member]
                else { return nil }
                return URL(filePath: text, relativeTo: directory).path
            }
            let socket = AdminPlan.socket(of: .gateway, file(in: "admin", "socket"), store: file(in: "store", "path"))
            guard let path = socket.path else { throw error }
            return path
        }
    }
}
