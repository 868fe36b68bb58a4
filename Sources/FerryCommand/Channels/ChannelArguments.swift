internal import ArgumentParser
internal import Ferry

/// Whether APNs keeps messages of a channel, from an option.
struct StoragePolicyOption: ExpressibleByArgument {
    var policy: MessageStoragePolicy

    init?(argument: String) {
        switch argument {
        case "none", "0": self.policy = .noMessageStored
        case "latest", "1": self.policy = .mostRecentMessageStored
        default: return nil
        }
    }

    static let allValueStrings = ["none", "latest", "0", "1"]
}

/// The identifier of a channel, from an argument.
struct ChannelArgument: ExpressibleByArgument {
    var id: ChannelID

    init?(argument: String) {
        guard let id = ChannelID(rawValue: argument) else { return nil }
        self.id = id
    }
}
