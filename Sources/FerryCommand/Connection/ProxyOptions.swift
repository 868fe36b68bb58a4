internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryTerminal

/// Options for the HTTP proxy of all connections.
typealias ProxyOptions = OptionArguments<ProxySection>

enum ProxySection: OptionSection {
    static let arguments = OptionArgument.of(ProviderOption.proxy)

    static func validate(_ proxy: ProxyOptions) throws {
        let (hasUser, hasPassword) = (proxy.isGiven("proxy-user"), proxy.isGiven("proxy-password-file"))
        if let address = proxy.endpoint("proxy"), address.port == nil {
            throw ValidationError("--proxy takes HOST:PORT.")
        }
        if !proxy.isGiven("proxy"), hasUser || hasPassword {
            throw ValidationError("--proxy-user and --proxy-password-file need --proxy.")
        }
        if hasPassword, !hasUser { throw ValidationError("--proxy-password-file needs --proxy-user.") }
    }
}

extension OptionArguments where Section == ProxySection {
    /// Reads the password, and returns the proxy. Nil if no proxy was named.
    func httpProxy() throws(CommandFailure) -> HTTPProxy? {
        guard let proxy = self.endpoint("proxy"), let port = proxy.port else { return nil }
        return HTTPProxy(
            host: proxy.host,
            port: port,
            userName: self.text("proxy-user"),
            password: try self.password()
        )
    }

    private func password() throws(CommandFailure) -> String? {
        guard let path = self.text("proxy-password-file") else { return nil }
        let file = OptionFile("--proxy-password-file", path)
        let password = try file.firstLine()
        file.warnIfOpen(holding: "a password")
        return password
    }
}
