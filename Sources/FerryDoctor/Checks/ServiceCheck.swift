internal import Ferry

/// The check for hosts that Apple has switched off.
enum ServiceCheck {
    /// Returns the finding for a retired host of Apple's; nil for all other hosts.
    static func finding(_ host: String) -> Finding? {
        guard let apple = AppleHost(host), apple.isRetired else { return nil }
        let cure =
            switch apple.service {
            case .feedback:
                "over HTTP/2 the list is gone, and the status 410 of each notification takes its place; a stack that "
                    + "needs the list needs a gateway that keeps one"
            case .binary, .http2, .channels:
                "send over HTTP/2 to \(apple.successor), port 443 or 2197; for a stack that cannot, run a gateway that "
                    + "takes the binary protocol and forwards over HTTP/2, and set the stack's host to it"
            }
        return .fault(
            .service,
            .serviceRetired,
            "\(host) is Apple's binary service, which Apple switched off on 2021-03-31; nothing was connected to.",
            cure: cure
        )
    }
}
