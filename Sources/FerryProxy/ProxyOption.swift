/// The option `proxy` of a configuration, with `proxyUser` and the password of `proxyPasswordFile`.
package enum ProxyOption {
    /// Returns the proxy for connections to a host; nil if the host is reached without a proxy.
    ///
    /// - Parameters:
    ///   - text: the value of `proxy`; nil if it was not given.
    ///   - password: the content of the file; nil if no file was named.
    /// - Throws: ``ProxyAddressFault`` for options that do not fit together, or that name no proxy that can be used.
    package static func proxy(
        _ text: String?,
        userName: String?,
        password: String?,
        for host: String,
        environment: @autoclosure () -> ProxyEnvironment = ProxyEnvironment()
    ) throws(ProxyAddressFault) -> HTTPProxy? {
        guard let text else {
            guard userName == nil, password == nil else {
                throw ProxyAddressFault("The options 'proxyUser' and 'proxyPasswordFile' need 'proxy'.")
            }
            return nil
        }
        if text == ProxyEnvironment.word {
            guard userName == nil, password == nil else {
                throw ProxyAddressFault(
                    "The options 'proxyUser' and 'proxyPasswordFile' do not go with 'proxy' \"environment\", where HTTPS_PROXY "
                        + "has both."
                )
            }
            return try environment().proxy(for: host)?.proxy
        }
        guard userName != nil || password == nil else {
            throw ProxyAddressFault("The option 'proxyPasswordFile' needs 'proxyUser'.")
        }
        guard let proxy = HTTPProxy(address: text, userName: userName, password: password) else {
            throw ProxyAddressFault("The option 'proxy' takes HOST:PORT, or \"environment\".")
        }
        if let fault = proxy.fault(connectingTo: host) { throw ProxyAddressFault(fault) }
        return proxy
    }
}
