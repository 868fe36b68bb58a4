internal import FerryTerminal
internal import FerryTesting

/// A check of a script. Finds parts for services that are not simulated, and rules for only one of two simulated
/// services.
///
/// One file has sections for all services, so a rule may easily be in the section of a service that is not simulated.
struct ScriptCheck {
    /// A service, with its option and its section of the script.
    enum Service: CaseIterable {
        case binary, http2, feedback

        var name: String {
            switch self {
            case .binary: "the binary gateway"
            case .http2: "HTTP/2"
            case .feedback: "the feedback service"
            }
        }

        var option: String {
            switch self {
            case .binary: "--binary"
            case .http2: "--http2"
            case .feedback: "--feedback"
            }
        }

        var place: String {
            switch self {
            case .binary: "at the top of the script"
            case .http2: "under \"http2\""
            case .feedback: "under \"feedback\""
            }
        }
    }

    let script: GatewayScript
    let simulated: Set<Service>

    /// The error for a script without any effect. Nil if it has an effect or is empty.
    var fault: String? {
        let addressed = Service.allCases.filter { self.addresses($0) }
        guard let other = addressed.first, self.simulated.isDisjoint(with: addressed) else { return nil }
        return self.sentence(other)
    }

    /// Warnings about parts without effect, and about rules for only one of two services.
    var warnings: [String] {
        var warnings = Service.allCases.filter { self.addresses($0) && !self.simulated.contains($0) }.map(self.sentence)
        if self.simulated.isSuperset(of: [.binary, .http2]),
            self.script.rules.isEmpty != self.script.http2.rules.isEmpty
        {
            let (ruled, other): (Service, Service) = self.script.rules.isEmpty ? (.http2, .binary) : (.binary, .http2)
            warnings.append(
                "The script's rules are for \(ruled.name) only; those for \(other.name) stand \(other.place)."
            )
        }
        return warnings
    }

    /// Whether the script contains anything for `service`.
    private func addresses(_ service: Service) -> Bool { !self.keys(of: service).isEmpty }

    private func sentence(_ service: Service) -> String {
        let keys = self.keys(of: service).map { "\"\($0)\"" }
        let places = Service.allCases.filter(self.simulated.contains).map {
            "what is for \($0.name) stands \($0.place)"
        }
        return "The script says \(keys.listed) to \(service.name), which is not simulated (\(service.option)); "
            + "\(places.listed)."
    }

    /// The keys of the script for `service`, as they appear in the file.
    private func keys(of service: Service) -> [String] {
        let (own, none) = (self.script, GatewayScript())
        let keys: [(String, Bool)] =
            switch service {
            case .binary:
                [
                    ("handshake", own.handshake != none.handshake),
                    ("payloadLimit", own.payloadLimit != none.payloadLimit),
                    ("errorDelaySeconds", own.errorDelay != none.errorDelay),
                    ("keepsOpen", own.keepsOpen != none.keepsOpen), ("lingerSeconds", own.linger != none.linger),
                    ("bytesPerSecond", own.bytesPerSecond != none.bytesPerSecond), ("rules", own.rules != none.rules),
                ]
            case .http2: [("http2", own.http2 != none.http2)]
            case .feedback: [("feedback", own.feedback != none.feedback)]
            }
        return keys.filter(\.1).map(\.0)
    }
}
