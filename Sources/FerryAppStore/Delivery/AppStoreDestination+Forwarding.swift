internal import FerryHTTP1
public import FerryOpenSSL
internal import FerryPlatform
internal import NIOHTTP1

/// An error that says why a URL or a secret cannot be used. The error contains neither the URL nor the secret.
public struct AppStoreForwardingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence with the fault of the URL or the secret. The sentence quotes neither, so a log may contain it.
    public let description: String
}

extension AppStoreDestination {
    /// The longest time of one attempt to forward a notification: name lookup, connection and answer.
    private static var answerLimit: Duration { .seconds(30) }

    /// Makes a destination from a URL of your own. The URL gets each notification in plain JSON by POST. Every status
    /// from 200 to 299 counts as delivered.
    ///
    /// ```
    /// content-type:      application/json
    /// webhook-id:        the notification's UUID, the same for each attempt
    /// webhook-timestamp: seconds since 1970 of the attempt
    /// webhook-signature: v1,base64(HMAC-SHA256(secret, id "." timestamp "." body))
    /// ferry-attempt:     1 for the first
    /// ferry-stale:       true if a newer notification of the same customer was delivered before
    /// ```
    ///
    /// The signature follows Standard Webhooks (standardwebhooks.com). Libraries for most languages can check it.
    ///
    /// - Parameters:
    ///   - url: `https://…`, or `http://…` within your own network. The URL is also the name of the destination.
    ///   - secrets: the secrets that sign. Each is `whsec_` and 24 to 64 bytes in Base64. During a change of secrets,
    ///     pass the new and the old secret.
    ///   - trustRoots: the authorities that may sign the URL's certificate.
    /// - Throws: ``AppStoreForwardingError``; `TLSError` if the trust roots cannot be read.
    public static func forward(
        to url: String,
        secrets: [String],
        trustRoots: TrustRoots = .system
    ) throws -> AppStoreDestination {
        guard let signature = WebhookSignature(secrets: secrets), !secrets.isEmpty else {
            throw AppStoreForwardingError(
                description: "A secret for forwarding is whsec_ and then 24 to 64 random bytes in Base64."
            )
        }
        return try self.posting(to: url, trustRoots: trustRoots, needsPost: false) { delivery throws(DeliveryFailure) in
            let notification = delivery.notification
            let signed = signature.headers(
                id: notification.uuid,
                seconds: Int64(Date.now.timeIntervalSince1970),
                body: notification.json
            )
            let headers = HTTPHeaders(
                [("content-type", "application/json")] + signed
                    + [("ferry-attempt", "\(delivery.attempt)"), ("ferry-stale", "\(delivery.isStale)")]
            )
            return (headers, notification.json)
        }
    }

    /// Makes a destination that gets Apple's posts after they were verified, for example a subscription service or a
    /// second system of yours. The text that Apple signed is unchanged. In version 2, members that Apple did not sign
    /// are removed. A post of version 1 stays whole. Apple itself sends to only one URL for each app and environment.
    /// The destination needs a store.
    ///
    /// - Parameters:
    ///   - url: `https://…`, or `http://…` within your own network. The URL is also the name of the destination.
    ///   - trustRoots: the authorities that may sign the URL's certificate.
    /// - Throws: ``AppStoreForwardingError``; `TLSError` if the trust roots cannot be read.
    public static func forwardPost(to url: String, trustRoots: TrustRoots = .system) throws -> AppStoreDestination {
        try self.posting(to: url, trustRoots: trustRoots, needsPost: true) { delivery throws(DeliveryFailure) in
            // The store keeps a post only if a destination needs posts at the arrival of the post.
            guard !delivery.post.isEmpty else {
                throw DeliveryFailure("Apple's post was not kept, because no URL needed it when it came")
            }
            return (HTTPHeaders([("content-type", "application/json")]), delivery.post)
        }
    }

    private static func posting(
        to text: String,
        trustRoots: TrustRoots,
        needsPost: Bool,
        _ request: @escaping @Sendable (AppStoreDelivery) throws(DeliveryFailure) -> (HTTPHeaders, [UInt8])
    ) throws -> AppStoreDestination {
        let url: HTTPURL
        do {
            url = try HTTPURL(text)
        } catch {
            throw AppStoreForwardingError(description: error.description)
        }
        var configuration = HTTPClient.Configuration()
        configuration.trustRoots = trustRoots
        configuration.idleConnections = DeliveryFlight.limit
        let client = try HTTPClient(configuration)
        if url.scheme == .https { try client.checkTLS() }
        return AppStoreDestination(name: text, needsPost: needsPost) { delivery in
            let (headers, body) = try request(delivery)
            // A notification may be delivered more than once, so the request may be repeated.
            var request = HTTPClientRequest(.POST, url, headers: headers, body: body, isIdempotent: true)
            // The status alone says whether the application accepted the notification.
            request.needsBody = false
            let response: HTTPClientResponse
            do throws(HTTPClientError) {
                response = try await client.send(request, within: self.answerLimit)
            } catch {
                throw DeliveryFailure(error.description)
            }
            guard 200...299 ~= response.status else {
                throw DeliveryFailure(ForwardingAnswer(response, of: url, isSigned: !needsPost).sentence)
            }
        }
    }
}
