internal import Ferry
internal import FerryOptions
internal import FerryProxy
internal import FerryTerminal

extension GatewayPlan {
    /// Sets the proxy of an upstream: that of the configuration, else that of the variables of the process.
    ///
    /// - Parameters:
    ///   - index: the index of the upstream in ``upstreams``.
    ///   - path: the path of a file that has to be there.
    mutating func setProxy(
        _ upstream: GatewayFile.Upstream,
        at index: Int,
        _ environment: ProxyEnvironment,
        _ path: (_ name: String, _ member: String) throws -> String
    ) throws {
        let name = self.upstreamNames[index]
        let host = self.upstreams[index].host
        let option = upstream.text("proxy")
        let password = try upstream.text("proxyPasswordFile").map { given in
            let file = OptionFile("'upstreams.\(name).proxyPasswordFile'", try path(given, "proxyPasswordFile"))
            self.passwords.append(file)
            return try file.firstLine()
        }
        do throws(ProxyAddressFault) {
            self.upstreams[index].proxy = try ProxyOption.proxy(
                option,
                userName: upstream.text("proxyUser"),
                password: password,
                for: host,
                environment: environment
            )
            if option == nil, let found = try environment.proxy(for: host) {
                self.upstreams[index].proxy = found.proxy
                self.foundProxies.append((name, host, found))
            }
        } catch {
            throw Self.fault(error.description)
        }
    }

    /// Warns of files with passwords that others may read, and says which upstreams have a proxy of the variables.
    ///
    /// - Parameter names: the upstreams whose proxy is said; nil for all.
    func sayProxies(of names: Set<String>? = nil, _ say: (LogMessage) -> Void) {
        for file in self.passwords { file.warnIfOpen(holding: "a password", say: say) }
        for (name, host, found) in self.foundProxies where names?.contains(name) ?? true {
            say(
                LogMessage(
                    GatewayLogEvent.proxy,
                    .notice,
                    "upstreams.\(name): \(found.sentence(for: host))",
                    [.upstream: .text(name)]
                )
            )
        }
    }
}
