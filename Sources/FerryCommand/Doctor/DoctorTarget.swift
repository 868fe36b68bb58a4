internal import ArgumentParser
internal import FerryHTTP1
internal import FerryTerminal

/// The target of `ferry doctor`: a server of push services, or a receiver of App Store Server Notifications.
enum DoctorTarget: ExpressibleByArgument, Equatable {
    case host(Endpoint)
    /// The address of a receiver, or its fault.
    case receiver(Result<HTTPURL, HTTPURL.Fault>)

    init?(argument: String) {
        if argument.contains("://") {
            self = .receiver(Result { () throws(HTTPURL.Fault) in try HTTPURL(argument) })
        } else if let endpoint = Endpoint(argument: argument) {
            self = .host(endpoint)
        } else {
            return nil
        }
    }
}
