internal import FerryCore
internal import FerryPlatform

extension HTTPProxy {
    /// The fault of these settings, or of `host`; nil if they are valid. A line break in a name could add lines to the
    /// request.
    func fault(connectingTo host: String) -> ConfigurationError? {
        let isClean: (String) -> Bool = { !$0.isEmpty && $0.utf8.allSatisfy { 0x21...0x7e ~= $0 } }
        guard isClean(self.host), isClean(host) else {
            return ConfigurationError(.invalidProxy, "A host name is empty or holds what is not visible ASCII.")
        }
        guard 1...65_535 ~= self.port else {
            return ConfigurationError(.invalidProxy, "The port of the proxy \(self.host) is not 1 to 65535.")
        }
        guard self.userName?.contains(":") != true else {
            return ConfigurationError(.invalidProxy, "The user name for the proxy \(self) must not hold a colon.")
        }
        return nil
    }

    /// The request that opens a tunnel.
    ///
    /// - Parameter target: host and port.
    func connectRequest(to target: String) -> String {
        var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
        if self.userName != nil || self.password != nil {
            let pair = Data("\(self.userName ?? ""):\(self.password ?? "")".utf8)
            lines.append("Proxy-Authorization: Basic \(pair.base64EncodedString())")
        }
        return lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// The message for a proxy that refused the tunnel.
    func refusal(_ status: Int, target: String) -> String {
        guard status == 407 else {
            return "The proxy \(self) did not connect to \(target): status \(status). "
                + "Check that it allows CONNECT to this host and port."
        }
        guard self.userName != nil else {
            return "The proxy \(self) wants a user name and a password (status 407)."
        }
        return "The proxy \(self) refused the user name and the password (status 407). Check both."
    }
}
