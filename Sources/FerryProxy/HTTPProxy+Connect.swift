internal import FerryPlatform

extension HTTPProxy {
    /// Returns the reason why the settings, or the host behind the proxy, cannot be used; nil if they can. A line
    /// break in a host name could add lines to the request.
    package func fault(connectingTo host: String) -> String? {
        let isClean: (String) -> Bool = { !$0.isEmpty && $0.utf8.allSatisfy { 0x21...0x7e ~= $0 } }
        guard isClean(self.host), isClean(host) else {
            return "A host name is empty or holds what is not visible ASCII."
        }
        guard 1...65_535 ~= self.port else { return "The port of the proxy \(self.host) is not 1 to 65535." }
        guard self.userName?.contains(":") != true else {
            return "The user name for the proxy \(self) must not hold a colon."
        }
        return nil
    }

    /// Returns the request that opens a tunnel.
    ///
    /// - Parameter target: host and port behind the proxy, as `HOST:PORT`.
    func connectRequest(to target: String) -> String {
        var lines = ["CONNECT \(target) HTTP/1.1", "Host: \(target)"]
        if self.userName != nil || self.password != nil {
            let pair = Data("\(self.userName ?? ""):\(self.password ?? "")".utf8)
            lines.append("Proxy-Authorization: Basic \(pair.base64EncodedString())")
        }
        return lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }
}
