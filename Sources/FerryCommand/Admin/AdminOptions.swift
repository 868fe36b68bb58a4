internal import ArgumentParser
internal import FerryCore
internal import FerryTerminal

/// The settings of an admin service as options.
struct AdminOptions: ParsableArguments {
    @Option(
        name: .customLong("admin-socket"),
        help: ArgumentHelp(
            "The admin socket. Unless given, it is in $RUNTIME_DIRECTORY, else beside the store.",
            valueName: "path"
        )
    )
    var socket: String?

    @Option(
        name: .customLong("admin-port"),
        help: ArgumentHelp("A port for metrics, health and the page, which only reads; 0 for any.", valueName: "port")
    )
    var port: Int?

    @Option(
        name: .customLong("admin-host"),
        help: ArgumentHelp(
            "The address of the admin port; \(AdminSettings.defaultHost) unless given.",
            valueName: "address"
        )
    )
    var host: String?

    @Option(
        name: .customLong("admin-token-file"),
        help: ArgumentHelp("A file with the token that readers of the admin port must send.", valueName: "file")
    )
    var tokenFile: String?

    @Option(
        name: .customLong("admin-cert"),
        help: ArgumentHelp("The certificate of the admin port, in PEM form.", valueName: "file")
    )
    var cert: String?

    @Option(name: .customLong("admin-key"), help: ArgumentHelp("Its key, in PEM form.", valueName: "file"))
    var key: String?

    func validate() throws {
        if let host { try HostName.require(host, "--admin-host") }
        if let port, !(0...65_535 ~= port) { throw ValidationError("--admin-port takes a port, 0 to 65535.") }
    }

    /// - Throws: ``CommandFailure`` that names the option at fault.
    func plan(of server: AdministeredServer, store: String?) throws -> AdminPlan {
        if let key { OptionFile("--admin-key", key).warnIfOpen(holding: "a private key") }
        if let tokenFile { OptionFile("--admin-token-file", tokenFile).warnIfOpen(holding: "a token") }
        var settings = AdminSettings()
        settings.socket = self.socket
        settings.port = self.port
        settings.host = self.host
        settings.tokenFile = self.tokenFile
        settings.cert = self.cert
        settings.key = self.key
        do {
            return try AdminPlan(settings, .options, of: server, store: store) { path, name in
                guard FileName(path).shown != nil else {
                    let option = AdminSettings.Form.options.word(name)
                    throw CommandFailure.usage(FileName(path).sentence("does not exist", option: option))
                }
                return path
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure.usage("--admin-cert and --admin-key cannot be used: \(Sentence.of(error))")
        }
    }
}
