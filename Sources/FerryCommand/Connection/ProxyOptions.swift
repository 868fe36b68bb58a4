internal import ArgumentParser
internal import Ferry
internal import FerryOptions
internal import FerryProxy
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
    /// Returns the proxy for connections to a host: that of the options, else that of the variables of the process, which
    /// is said on standard error. Nil: there is none. Reads the password.
    ///
    /// - Parameter readsVariables: whether variables such as HTTPS_PROXY count. False for connections without TLS,
    ///   and for those of the binary protocol.
    func httpProxy(to host: String, readsVariables: Bool = true) throws(CommandFailure) -> HTTPProxy? {
        guard let proxy = self.endpoint("proxy"), let port = proxy.port else {
            return readsVariables ? try Self.proxyOfVariables(for: host) : nil
        }
        let found = HTTPProxy(
            host: proxy.host,
            port: port,
            userName: self.text("proxy-user"),
            password: try self.password()
        )
        if let fault = found.fault(connectingTo: host) { throw .usage(fault) }
        return found
    }

    private static func proxyOfVariables(for host: String) throws(CommandFailure) -> HTTPProxy? {
        do throws(ProxyAddressFault) {
            guard let found = try ProxyEnvironment().proxy(for: host) else { return nil }
            Console.error("ferry: \(found.sentence(for: host))")
            return found.proxy
        } catch {
            throw .usage(error.description)
        }
    }

    private func password() throws(CommandFailure) -> String? {
        guard let path = self.text("proxy-password-file") else { return nil }
        let file = OptionFile("--proxy-password-file", path)
        let password = try file.firstLine()
        file.warnIfOpen(holding: "a password")
        return password
    }
}
