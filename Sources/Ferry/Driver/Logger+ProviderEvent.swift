internal import FerryCore
internal import Logging

extension Logger {
    /// Logs an event of a provider, at `debug`, without device tokens or payloads.
    func log(_ event: ProviderEvent) {
        switch event {
        case .connected(let id, let open):
            self.debug("connected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .disconnected(let id, let open):
            self.debug("disconnected", metadata: ["apns.connection": "\(id.rawValue)", "apns.open": "\(open)"])
        case .socketError(let id, let error):
            self.debug(
                "connection failed",
                metadata: ["apns.connection": "\(id.rawValue)", "apns.error": "\(error)"]
            )
        case .error(let error):
            self.debug("provider failed", metadata: ["apns.error": "\(error)"])
        case .resent(let count, _):
            self.debug("sending again", metadata: ["apns.count": "\(count)"])
        case .transmissionError(let rejection, _, _, _):
            self.debug("rejected", metadata: ["apns.reason": "\(rejection.reason)"])
        case .requestReset(let id, let errorCode, _):
            self.debug(
                "request reset",
                metadata: ["apns.connection": "\(id.rawValue)", "apns.error": "\(errorCode)"]
            )
        case .contradicted(let contradiction):
            self.debug("outcomes contradicted", metadata: ["apns.count": "\(contradiction.count)"])
        default:
            break
        }
    }
}
