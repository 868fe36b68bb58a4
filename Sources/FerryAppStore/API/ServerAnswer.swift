internal import FerryCore
internal import FerryHTTP1
internal import FerryPlatform
internal import NIOHTTP1

/// The meaning of an answer of the App Store Server API, without I/O.
enum ServerAnswer {
    case object(JSONObject)
    case failure(AppStoreServerError, RequestRetry.Failure)

    /// The largest part of Apple's message that an error shows, in bytes.
    private static let messageLimit = 200
    /// The smallest value of `Retry-After` that is a point in time. Apple sends "the UNIX time, in milliseconds"
    /// ("Identifying rate limits", Apple). A proxy may send seconds from now, as HTTP defines (RFC 9110, section
    /// 10.2.3). A number of seconds is smaller than this value.
    private static let smallestTime: Int64 = 1_000_000_000_000

    init(_ response: HTTPClientResponse, from host: String, now: Date) {
        if 200...299 ~= response.status {
            if let object = JSONObject(response.body) {
                self = .object(object)
            } else {
                self = .failure(Self.misshapen(host, status: response.status), .lasting)
            }
            return
        }
        let error = JSONObject(response.body)
        let number = error?.integer("errorCode")
        let code = number.map { AppStoreServerError.Code(number: $0) } ?? Self.code(response.status)
        let retryAfter = response.headers.first(name: "Retry-After").flatMap(Int64.init).map { value in
            value < Self.smallestTime ? now + Double(value) : Date(milliseconds: value)
        }
        var sentence = "\(host) answered with status \(response.status)"
        if let number { sentence += " and error \(number)" }
        if let advice = code.advice {
            sentence += ". \(advice)"
        } else if let message = error?.string("errorMessage") {
            sentence += ": \(message.printable.beginning(utf8: Self.messageLimit))"
        } else {
            sentence += "."
        }
        let failure: RequestRetry.Failure =
            if response.status == 429 || code == .rateLimitExceeded {
                .rateLimited(after: retryAfter.map { .seconds($0.timeIntervalSince(now)) })
            } else if code == .generalInternalRetryable {
                .rateLimited(after: nil)
            } else if response.status >= 500 {
                .serverTrouble
            } else {
                .lasting
            }
        self = .failure(
            AppStoreServerError(code, sentence, status: response.status, retryAfter: retryAfter),
            failure
        )
    }

    static func misshapen(_ host: String, status: Int? = 200) -> AppStoreServerError {
        AppStoreServerError(
            .unexpectedAnswer,
            "The answer of \(host) does not have the form that Apple documents. Check the address, and that no proxy "
                + "answers in its place.",
            status: status
        )
    }

    private static func code(_ status: Int) -> AppStoreServerError.Code {
        switch status {
        case 401: .unauthorized
        case 429: .rateLimitExceeded
        case 500...: .generalInternal
        default: .unexpectedAnswer
        }
    }
}
