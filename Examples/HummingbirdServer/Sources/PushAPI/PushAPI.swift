public import Ferry
public import Hummingbird

/// The body of `POST /devices/TOKEN`.
struct PushRequest: Decodable {
    var text: String
}

/// The answer to it.
public struct PushAnswer: ResponseCodable, Equatable, Sendable {
    /// What became of the notification, in words.
    public var outcome: String
    /// Whether the caller should delete the device token.
    public var forgetToken: Bool

    public init(outcome: String, forgetToken: Bool) {
        self.outcome = outcome
        self.forgetToken = forgetToken
    }
}

/// Makes the application. `POST /devices/TOKEN` sends one notification, and answers when its outcome is known.
///
/// | status | the notification |
/// |---|---|
/// | 200 | was accepted |
/// | 422 | was rejected |
/// | 502 | may have arrived, or not |
/// | 503 | was not sent: send it again later |
/// | 400 | is malformed, or its device token is |
///
/// - Parameter provider: the application runs it and shuts it down. Hummingbird first ends the HTTP server, with the
///   requests under way, and then the provider.
public func makeApplication(
    provider: any PushProvider,
    configuration: ApplicationConfiguration = .init()
) -> some ApplicationProtocol {
    let router = Router()
    router.post("devices/{token}") { request, context in
        try await push(request, context, provider)
    }
    return Application(router: router, configuration: configuration, services: [provider])
}

private func push(
    _ request: Request,
    _ context: some RequestContext,
    _ provider: any PushProvider
) async throws -> EditedResponse<PushAnswer> {
    let body = try await request.decode(as: PushRequest.self, context: context)
    let outcome: Outcome
    do {
        let device = try DeviceToken(hex: context.parameters.require("token"))
        let notification = try PushNotification(Payload(alert: .init(body: body.text)), pushType: .alert)
        outcome = try await provider.send(notification, to: device)
    } catch let error as PushValidationError {
        throw HTTPError(.badRequest, message: "\(error)")
    } catch SubmitError.shutDown {
        throw HTTPError(.serviceUnavailable, message: "The server shuts down.")
    }
    // An outcome is about a notification. The provider's last error tells why there was no connection.
    if case .undelivered = outcome, let error = provider.lastError { context.logger.error("\(error)") }
    let answer = PushAnswer(
        outcome: "\(outcome)",
        forgetToken: outcome.tokenIsGone(confirmed: provider.counts.confirmed)
    )
    return EditedResponse(status: outcome.status, response: answer)
}

extension Outcome {
    fileprivate var status: HTTPResponse.Status {
        switch self {
        case .accepted: .ok
        // What is the server's fault or passes must not look final to the caller.
        case .rejected(let rejection) where rejection.status == 403: .internalServerError
        case .rejected(let rejection) where rejection.status == 429 || rejection.status ?? 0 >= 500: .serviceUnavailable
        case .rejected, .expired: .unprocessableContent
        case .undelivered: .serviceUnavailable
        case .uncertain: .badGateway
        @unknown default: .badGateway
        }
    }
}
