internal import FerryAdmin
internal import FerryCore
internal import FerryHTTP1
internal import FerryPlatform
internal import FerryTerminal

/// The answers of a gateway's admin service to a command.
extension AdminClient {
    enum Method {
        case GET, POST
    }

    /// Returns the body of an answer.
    ///
    /// - Throws: ``CommandFailure`` when nobody answers, or with the sentence of an answer whose status is not 200.
    func ask(_ method: Method, _ path: String, _ body: [UInt8] = []) async throws(CommandFailure) -> [UInt8] {
        try Self.body(of: try await self.response(method, path, body))
    }

    func response(
        _ method: Method,
        _ path: String,
        _ body: [UInt8] = []
    ) async throws(CommandFailure) -> HTTPClientResponse {
        do throws(HTTPClientError) {
            switch method {
            case .GET: return try await self.get(path)
            case .POST: return try await self.post(path, body)
            }
        } catch {
            throw CommandFailure(.noConnection, "The gateway does not answer: \(error.description)")
        }
    }

    static func body(of response: HTTPClientResponse) throws(CommandFailure) -> [UInt8] {
        guard response.status == 200 else {
            let sentence = String(decoding: response.body, as: UTF8.self).prefix { $0 != "\n" }
            throw .refused(String(sentence).printable)
        }
        return response.body
    }

    static func decoded<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) throws(CommandFailure) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw CommandFailure(
                .noConnection,
                "The answer is not one of a gateway of this version: use the 'ferry' that it was started with."
            )
        }
    }
}
