internal import FerryCore
internal import FerryHTTP1
internal import FerryTerminal
internal import NIOHTTP1

/// The check of the status that answers a forged notification. A correct receiver answers 400, 401, 403 or 422.
enum StatusCheck {
    /// - Parameter getStatus: the status of a GET for the same URL; nil if it was not answered.
    static func finding(_ response: HTTPClientResponse, to url: HTTPURL, getStatus: Int?) -> Finding {
        let status = response.status
        // A receiver that refuses only the notification answers a GET with another status.
        let isForAll = getStatus == status
        switch status {
        case 200..<300: return self.accepted(status)
        case 300..<400: return RedirectCheck.finding(response, to: url)
        case 401 where isForAll || response.headers.contains(name: "WWW-Authenticate"):
            return self.needsLogin(response)
        case 401, 403, 406, 419, 422, 400, 409, 418: return self.refused(response, url: url, isForAll: isForAll)
        case 404, 410:
            return .fault(
                .answer,
                .pathNotFound,
                "Nothing is there under this path (\(status)).",
                cure: "correct the path; if it is right, look whether a proxy passes it on unchanged, to the right host"
            )
        case 405, 501: return self.methodRefused(response)
        case 411:
            return .fault(
                .answer,
                .lengthRequired,
                "It wants the length of the body (411), although it was sent: something on the way takes it out.",
                cure: "let the proxies on the way pass Content-Length on, or buffer the body (nginx: "
                    + "proxy_request_buffering on)"
            )
        case 413:
            return .fault(
                .body,
                .largeBodyRefused,
                "Even a small notification is too large for it (413); Apple's have up to 19 KB.",
                cure: AnswerChecks.sizeCure
            )
        case 415:
            return .fault(
                .answer,
                .contentTypeRefused,
                "It does not take the content type \(ReceiverProbe.contentType) (415), in which Apple posts.",
                cure: "have the route take application/json with any charset"
            )
        case 429:
            return .fault(
                .answer,
                .tooManyRequests,
                "It says that requests come too often (429), after three of them; Apple may not try again after a 429.",
                cure: "exempt the path from the rate limit, or raise it: renewals come in bursts"
            )
        case 426, 505:
            return .fault(
                .answer,
                .notHTTP1,
                "It does not take HTTP/1.1 (\(status)), which Apple speaks.",
                cure: "switch HTTP/1.1 on at the server"
            )
        case 500...599: return self.broken(status, isForAll: getStatus.map { $0 >= 500 } ?? true)
        default:
            return .fault(
                .answer,
                .otherStatus,
                "It answers \(status) to a notification, which says neither that it refuses nor that it takes it.",
                cure: "answer 200 to what is verified and stored, and 400 or 403 to what is not Apple's"
            )
        }
    }

    private static func accepted(_ status: Int) -> Finding {
        .fault(
            .verification,
            .verifiesNothing,
            "It answers \(status) to a notification that Apple did not sign: anybody can post renewals and refunds "
                + "to it.",
            cure: "before the answer, verify the signature and its certificates up to Apple Root CA - G3, and refuse "
                + "what fails with 400 or 403; if it verifies after the answer, Apple cannot learn of a failure, either"
        )
    }

    private static func needsLogin(_ response: HTTPClientResponse) -> Finding {
        let scheme = response.headers.first(name: "WWW-Authenticate")
            .map { String($0.prefix { $0 != " " && $0 != "," }) }
        return .fault(
            .answer,
            .needsLogin,
            "It wants a user or a token (401\(scheme.map { ", \(String($0.beginning(utf8: 20)).printable)" } ?? "")), and Apple has "
                + "none.",
            cure: "exempt the path from authentication: the signature of a notification is its proof"
        )
    }

    private static func refused(_ response: HTTPClientResponse, url: HTTPURL, isForAll: Bool) -> Finding {
        let status = response.status
        if let keeper = Gatekeeper(response) { return keeper.finding(status) }
        if status == 403, isForAll {
            return .fault(
                .answer,
                .forbidden,
                "It forbids every access to this path (403), a GET as well as a post.",
                cure: "allow posts to it from everywhere, or at least from Apple's 17.0.0.0/8; if only this machine is "
                    + "barred, run ferry doctor from elsewhere"
            )
        }
        return .ok(.verification, "It refuses a notification that Apple did not sign (\(status)), as it should.")
    }

    private static func methodRefused(_ response: HTTPClientResponse) -> Finding {
        let allowed = response.headers["Allow"].joined(separator: ", ")
        return .fault(
            .answer,
            .postNotAllowed,
            "It takes no POST under this path (\(response.status))"
                + (allowed.isEmpty ? "." : ", only \(String(allowed.beginning(utf8: 60)).printable)."),
            cure: "have the route take POST; a path of static files behaves so, or one without its slash at the end"
        )
    }

    /// - Parameter isForAll: whether a GET gets a status of 500 or more, or no answer.
    private static func broken(_ status: Int, isForAll: Bool) -> Finding {
        let (meaning, cure): (String, String) =
            switch status {
            case 502: ("a proxy gets no valid answer from the application", "start the application behind the proxy")
            case 503:
                ("it is overloaded, in maintenance, or has nothing behind it", "start the application behind the proxy")
            case 504: ("a proxy waits for the application in vain", "look for what the application waits for")
            case 520...530: ("Cloudflare gets no valid answer from the server behind it", "look into that server's log")
            default: ("an error in the application", "look into its log")
            }
        return Finding(
            check: .answer,
            // A 500 may be the application's answer to forged notifications only. If a GET gets a status below 500,
            // this is a warning.
            severity: status == 500 && !isForAll ? .warning : .fault,
            problem: .serverError,
            sentence: "It fails on a notification that Apple did not sign (\(status)): \(meaning).",
            cure: status == 500
                ? "\(cure); if only the verification fails there, answer 400 or 403, because Apple repeats what gets 500"
                : "\(cure), and look into the proxy's log"
        )
    }
}
