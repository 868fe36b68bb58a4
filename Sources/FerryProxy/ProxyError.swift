/// The reason why a proxy opened no tunnel. The description has neither user name nor password.
package struct ProxyError: Error, Sendable, CustomStringConvertible {
    /// The ways in which a proxy fails to open a tunnel.
    package enum Fault: Equatable, Sendable {
        /// The proxy answered with this status, which is neither 2xx nor 407.
        case refused(status: Int)
        /// The proxy answered with status 407, and no user name was given.
        case wantsPassword
        /// The proxy answered with status 407 to the user name and the password.
        case refusesPassword
        case closed
        /// The proxy sent something other than an answer of HTTP/1.x.
        case notHTTP
        case answerTooLong
        /// The connection to the proxy failed, for this reason.
        case lost(String)
    }

    package let fault: Fault
    package let proxy: HTTPProxy
    /// Host and port behind the proxy.
    package let target: String
    /// The error of the connection if the fault is ``Fault/lost(_:)``; nil for all other faults.
    package let cause: (any Error)?

    init(_ fault: Fault, _ proxy: HTTPProxy, target: String, cause: (any Error)? = nil) {
        self.fault = fault
        self.proxy = proxy
        self.target = target
        self.cause = cause
    }

    /// Whether the same request would fail in the same way until somebody changes the options. A password that is sent
    /// again and again may lock its user out.
    package var isLasting: Bool {
        switch self.fault {
        case .wantsPassword, .refusesPassword, .notHTTP, .answerTooLong: true
        case .refused, .closed, .lost: false
        }
    }

    /// Whether the proxy wants another user name or password.
    package var isAboutPassword: Bool {
        switch self.fault {
        case .wantsPassword, .refusesPassword: true
        case .refused, .closed, .notHTTP, .answerTooLong, .lost: false
        }
    }

    /// The fault, and its cure if there is a short one.
    package var description: String {
        switch self.fault {
        case .refused(let status):
            "The proxy \(self.proxy) did not connect to \(self.target): status \(status). "
                + "Check that it allows CONNECT to this host and port."
        case .wantsPassword: "The proxy \(self.proxy) wants a user name and a password (status 407)."
        case .refusesPassword:
            "The proxy \(self.proxy) refused the user name and the password (status 407). Check both."
        case .closed: "The proxy \(self.proxy) closed the connection before it answered."
        case .notHTTP: "What answers at \(self.proxy) is no HTTP proxy. Check host and port of the proxy."
        case .answerTooLong:
            "The proxy \(self.proxy) answered with more than \(ProxyAnswer.headLimit) bytes of header."
        case .lost(let reason): "The connection to the proxy \(self.proxy) failed: \(reason)."
        }
    }
}
