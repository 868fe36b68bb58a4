internal import Ferry
internal import FerryCore
internal import FerryOptions

/// The options of a call, merged with those of the file that its option `config` names. The file wins, except for
/// `outcomes` and `events`.
struct ResolvedOptions {
    var options: OptionObject
    /// The file of `config`, if the call names one.
    var file: ConfigFile?
    /// The options of the call as a text, without those of the file and without those that each handle of a shared
    /// provider has for itself.
    var own: String

    /// - Throws: ``OptionFault``.
    init(_ text: UnsafeBufferPointer<UInt8>, isFeedback: Bool = false) throws(OptionFault) {
        self.options = try OptionObject(text, of: .c)
        self.own = self.options.text(without: ProviderOption.ofOneHandle)
        let path = try self.options.take("config")?.text
        self.options.resolveServer(isFeedback: isFeedback)
        guard let path else { return }
        let file = try ConfigFile(path: path)
        self.file = file
        self.options = try self.options.replaced(by: file.options)
        // If only the file names the host, `auto` is replaced here.
        self.options.resolveServer()
    }
}

extension ProviderOption {
    /// The names of the options that may differ between handles of one shared provider.
    static var ofOneHandle: Set<String> { self.names(in: .c) { $0.isOfOneHandle } }

    /// The names of the options that name a server or go with it.
    fileprivate static var ofServer: Set<String> { self.names(.namesServer, .ofServer) }

    fileprivate static func names(_ replacements: Replacement...) -> Set<String> {
        self.names(in: .c) { replacements.contains($0.replacement) }
    }

    /// The names of the options that belong to this owner only.
    fileprivate static func names(of owner: Owner) -> Set<String> { self.names(in: .c) { $0.owners == [owner] } }
}

extension OptionObject {
    /// The backend, if the option names one.
    private var backend: BackendName? { self.peek("backend").flatMap { BackendName(rawValue: $0) } }

    /// Puts a protocol in place of the backend `auto`: HTTP/2 for Apple's hosts, the binary protocol for any other
    /// host. Without a host, `auto` stays.
    ///
    /// - Parameter isFeedback: whether a host and port beside `auto` name a feedback service. If so, `host` is copied
    ///   to `feedbackHost`, and `port` becomes `feedbackPort`. This does not happen for Apple's hosts, or if one of
    ///   the new names is already there.
    mutating func resolveServer(isFeedback: Bool = false) {
        let apple = self.peek("host").flatMap { AppleHost($0) }
        if isFeedback, self.backend == .auto, apple == nil, !self.has("feedbackHost"), !self.has("feedbackPort") {
            self.set("feedbackHost", self.members["host"])
            self.set("feedbackPort", self.members["port"])
            self.remove(["port"])
        }
        guard self.backend == .auto, self.has("host") else { return }
        guard let apple else {
            self.set("backend", .text("binary"))
            return self.remove(ProviderOption.names(of: .http2))
        }
        self.remove(ProviderOption.ofServer.union(ProviderOption.names(of: .binary)))
        self.set("backend", .text("http2"))
        self.set("production", .boolean(apple.environment == .production))
    }

    /// Returns the program's options with those of `file` laid over them. The file wins where both name an option.
    ///
    /// `outcomes` and `events` are exceptions: those of the program stay. Otherwise the program might wait for ever for
    /// outcomes or events that do not come.
    ///
    /// If the file names another backend, the program's options for the old server and for the other protocol are
    /// removed. The backend `echo` keeps only the options of the handle. If the new backend is `migrate`, the
    /// program's options become defaults of its two sides. If the old backend is `migrate`, the options of the
    /// remaining side become the program's options.
    func replaced(by file: OptionObject) throws(OptionFault) -> OptionObject {
        var own = self
        var file = file
        file.resolveServer()
        file.remove(ProviderOption.names(.never).filter { own.has($0) })
        guard let before = self.backend, let after = file.backend, before != after else {
            return own.overlaid(with: file)
        }
        switch (before, after) {
        case (_, .migrate):
            for side in [ProviderOption.Owner.binary, .http2] {
                let names = ProviderOption.names(in: .c) { $0.owners.contains(side) && !$0.owners.contains(.migration) }
                var defaults = OptionObject(
                    own.members.filter { names.contains($0.key) },
                    of: .c,
                    at: "\(side.rawValue)."
                )
                if before.rawValue != side.rawValue { defaults.remove(ProviderOption.ofServer) }
                let given = try file.object(side.rawValue)
                own.set(side.rawValue, object: defaults.overlaid(with: given))
            }
            own.keep(ProviderOption.names(in: .c) { !$0.owners.isDisjoint(with: [.handle, .migration]) })
        case (.migrate, .binary), (.migrate, .http2):
            let side = try own.object(after.rawValue)
            own.remove(ProviderOption.names(of: .migration))
            if let side { own.replaceMembers(by: side) }
        case (_, .binary): own.remove(ProviderOption.ofServer.union(ProviderOption.names(of: .http2)))
        case (_, .http2): own.remove(ProviderOption.ofServer.union(ProviderOption.names(of: .binary)))
        case (_, .echo): own.keep(ProviderOption.names(of: .handle))
        case (_, .auto): break
        }
        return own.overlaid(with: file)
    }

    /// Returns these options together with those of `other`. If both name an option, `other` wins. If `other` names a
    /// server or credentials, all options of the earlier server or credentials are removed.
    private func overlaid(with other: OptionObject?) -> OptionObject {
        guard let other else { return self }
        var result = self
        let groups: [(ProviderOption.Replacement, ProviderOption.Replacement)] = [
            (.namesServer, .ofServer), (.namesCredentials, .ofCredentials),
        ]
        for (names, of) in groups where ProviderOption.names(names).contains(where: other.has) {
            result.remove(ProviderOption.names(names, of))
        }
        result.replaceMembers(by: other)
        return result
    }
}
