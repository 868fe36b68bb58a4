public import FerryAppStore
public import Hummingbird
internal import HTTPTypes
internal import NIOCore

extension RouterMethods {
    /// Answers the posts of the App Store at a path.
    public func appStore(_ path: RouterPath, _ receiver: AppStoreReceiver) {
        for method in [HTTPRequest.Method.post, .get, .head] {
            self.on(path, method: method) { request, _ in
                let body = try await request.body.collect(upTo: receiver.bodyLimit)
                let status = await receiver.answer(
                    to: AppStoreRequest(method: method.rawValue, body: Array(buffer: body))
                )
                return Response(status: .init(code: status))
            }
        }
    }
}
