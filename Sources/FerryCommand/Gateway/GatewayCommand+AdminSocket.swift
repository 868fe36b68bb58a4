internal import ArgumentParser
internal import FerryOptions
internal import FerryPlatform
internal import FerryTerminal

/// The option `--config` in the help of a command below `ferry gateway`.
///
/// Help shows no options of a parent command. The parent takes the value before this option can, so read
/// ``GatewayCommand/config``.
struct ShownConfigOption: ParsableArguments {
    @Option(help: ArgumentHelp("The gateway's configuration, which leads to its admin socket.", valueName: "file"))
    var config: String?
}

extension GatewayCommand {
    /// The admin socket that the configuration leads to.
    ///
    /// - Parameter orPort: whether the command may also ask over a port.
    func adminSocket(orPort: Bool) throws -> String {
        guard let config else {
            let options = orPort ? "--config FILE, --socket PATH or --url URL" : "--config FILE or --socket PATH"
            throw CommandFailure.usage("Give \(options).")
        }
        guard let path = try Self.adminSocket(of: config) else {
            let port = orPort ? ", or name its port with --url" : ""
            throw CommandFailure.usage("The gateway has no admin socket: give it 'store' or 'admin'\(port).")
        }
        return path
    }

    /// The admin socket that a configuration leads to; nil without a socket.
    static func adminSocket(of config: String) throws -> String? { try self.places(of: config).socket }

    /// The admin socket and the store that a configuration leads to; nil for what it does not have.
    ///
    /// The configuration may have a fault elsewhere, as before a reload that is refused. The gateway then names it.
    static func places(of config: String) throws -> (socket: String?, store: String?) {
        do {
            let plan = try self.plan(of: config)
            return (plan.admin.socket.path, plan.store?.path)
        } catch {
            guard let bytes = try? FileDescriptor.contents(of: config, limit: ConfigurationFile.longest),
                let configuration = try? OptionObject(bytes, of: .gateway)
            else { throw error }
            let directory = URL(filePath: config).deletingLastPathComponent()
            func file(in object: String, _ member: String) -> String? {
                guard case .object(let members) = configuration.members[object],
                    case .text(let text) = members[member]
                else { return nil }
                return URL(filePath: text, relativeTo: directory).path
            }
            let store = file(in: "store", "path")
            let socket = AdminPlan.socket(of: .gateway, file(in: "admin", "socket"), store: store)
            guard let path = socket.path else { throw error }
            return (path, store)
        }
    }
}
