internal import ArgumentParser
internal import Ferry
internal import FerryTerminal

/// Options for the HTTP proxy of all connections.
struct ProxyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("An HTTP proxy that connections go through, by CONNECT.", valueName: "host:port"))
    var proxy: Endpoint?

    @Option(help: ArgumentHelp("Who you are at the proxy, by Basic authentication.", valueName: "name"))
    var proxyUser: String?

    @Option(help: ArgumentHelp("A file whose first line is the password for the proxy.", valueName: "file"))
    var proxyPasswordFile: String?

    func validate() throws {
        if self.proxy != nil, self.proxy?.port == nil { throw ValidationError("--proxy takes HOST:PORT.") }
        if self.proxy == nil, self.proxyUser != nil || self.proxyPasswordFile != nil {
            throw ValidationError("--proxy-user and --proxy-password-file need --proxy.")
        }
        if self.proxyUser == nil, self.proxyPasswordFile != nil {
            throw ValidationError("--proxy-password-file needs --proxy-user.")
        }
    }

    /// Reads the password, and returns the proxy. Nil if no proxy was named.
    func httpProxy() throws(CommandFailure) -> HTTPProxy? {
        guard let proxy, let port = proxy.port else { return nil }
        return HTTPProxy(host: proxy.host, port: port, userName: self.proxyUser, password: try self.password())
    }

    private func password() throws(CommandFailure) -> String? {
        guard let proxyPasswordFile else { return nil }
        let file = OptionFile("--proxy-password-file", proxyPasswordFile)
        let password = try file.firstLine()
        file.warnIfOpen(holding: "a password")
        return password
    }
}
