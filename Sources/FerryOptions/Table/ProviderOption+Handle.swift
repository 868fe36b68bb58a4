/// The options of a migration, and of a handle of the C interface.
extension ProviderOption {
    package static let migration: [ProviderOption] = [
        .init("share", .number(0...100), [.migration]).ofOneHandle
            .help("The share of devices that go over HTTP/2, in percent.").by(default: "0"),
        .init("shareFile", .file, [.migration])
            .help(
                "A file with the share, a number. It is read again each second, and a change moves devices in the run."
            )
            .absent(in: .c, because: "the file of 'config' is read again"),
        .init("fallback", .flag, [.migration])
            .help("Let each side take over what the other certainly did not deliver, while that is down or refused."),
        .init("downAfter", .seconds, [.migration]).by(default: "5.0")
            .help("With --fallback: how long a side with work may have no usable connection before it is down."),
        .init("includesUnknown", .flag, [.migration])
            .absent(in: .commandLine, because: "a person reads what is uncertain, and decides"),
        .init("binary", .object, [.migration]).absent(in: .commandLine, because: "--binary-to, --binary-ca and so on"),
        .init("http2", .object, [.migration]).absent(in: .commandLine, because: "--http2-to, --http2-ca and so on"),
    ]

    private static let handle: [ProviderOption] = [
        .init("backend", .choice(["binary", "http2", "migrate", "echo", "auto"]), [.handle]),
        .init("config", .file, [.handle]),
        .init("outcomes", .choice(["all", "failures", "none"]), [.handle]).replaced(.never).ofOneHandle,
        .init("events", .count(0...1_000_000), [.handle]).replaced(.never),
        .init("queueLimit", .count(1...1_000_000_000), [.handle]).ofOneHandle,
        .init("wait", .flag, [.handle]).ofOneHandle,
        .init("atExit", .number(0...3600), [.handle]).ofOneHandle,
        .init("shared", .text, [.handle]).ofOneHandle,
        .init("feedback", .file, [.handle]),
        .init("feedbackHost", .text, [.handle]).replaced(.ofServer),
        .init("feedbackPort", .count(1...65_535), [.handle]).replaced(.ofServer),
    ]

    // MARK: The table

    /// All options of a provider. Each exists in every language, or its row has the reason why not.
    package static let all = [
        Self.server, Self.credentials, Self.tokenKey, Self.tokenFile, Self.proxy, Self.topic, Self.connections,
        Self.binaryProtocol, Self.http2Protocol, Self.migration, Self.handle,
    ].flatMap { $0 }

    private static let byName = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.name, $0) })

    /// Returns the row of an option.
    ///
    /// - Parameter name: the name of the option in the library. Any other name is a fault of the caller.
    package static func named(_ name: String) -> ProviderOption {
        guard let option = self.byName[name] else { preconditionFailure("the table has no option \(name)") }
        return option
    }

    /// Returns the row of an option with this name in a language; nil if the table has no such row.
    package static func named(_ name: String, in language: OptionLanguage) -> ProviderOption? {
        self.all.first { $0.name(in: language) == name }
    }

    /// Returns the names, in a language, of the options for which `isIncluded` returns true.
    package static func names(in language: OptionLanguage, where isIncluded: (ProviderOption) -> Bool) -> Set<String> {
        Set(self.all.lazy.filter(isIncluded).compactMap { $0.name(in: language) })
    }
}
