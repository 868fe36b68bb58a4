internal import Ferry
internal import FerryCore

/// The options of a call after the file of `config` was put over them.
///
/// Their texts belong to the caller and to `file`: use them inside ``with(_:_:)`` only.
enum ResolvedOptions {
    /// Calls `body` with the options of a call, their configuration file if they name one, and the options of the call alone as a
    /// text, without those that belong to a handle.
    ///
    /// - Throws: ``OptionsFault``, and what `body` throws.
    static func with<Result>(
        _ text: UnsafeBufferPointer<UInt8>,
        isFeedback: Bool = false,
        _ body: (inout OptionsObject, ConfigFile?, _ own: String) throws -> Result
    ) throws -> Result {
        var options = try OptionsObject(text)
        let own = options.text(without: OptionGroups.ofOneHandle)
        let path = try options.string("config")
        try options.resolveServer(isFeedback: isFeedback)
        guard let path else { return try body(&options, nil, own) }
        let file = try ConfigFile(path: path)
        return try file.bytes.withUnsafeBufferPointer { bytes in
            var merged = try options.replaced(by: file.options(bytes))
            // The host may stand in the file alone.
            try merged.resolveServer()
            return try body(&merged, file, own)
        }
    }
}

extension OptionsObject {
    /// The backend, if the option names one.
    private var backend: BackendName? { self.peek("backend").flatMap { BackendName(rawValue: $0) } }

    /// Puts a protocol in place of the backend `auto`: HTTP/2 for Apple's hosts, the binary protocol for any other host. Without
    /// a host it stays.
    ///
    /// - Parameter isFeedback: whether a host and port beside `auto` name a feedback service. They then get names of their own.
    mutating func resolveServer(isFeedback: Bool = false) throws(OptionsFault) {
        let apple = self.peek("host").flatMap { AppleHost($0) }
        if isFeedback, self.backend == .auto, apple == nil, !self.has("feedbackHost"), !self.has("feedbackPort") {
            self.copy("host", as: "feedbackHost")
            self.rename("port", to: "feedbackPort")
        }
        guard self.backend == .auto, self.has("host") else { return }
        guard let apple else {
            try self.set(#"{"backend":"binary"}"#)
            return self.remove(OptionGroups.ofHTTP2)
        }
        self.remove(OptionGroups.server.all.union(OptionGroups.ofBinary))
        try self.set(#"{"backend":"http2"}"#)
        if apple.environment == .production {
            try self.set(#"{"production":true}"#)
        } else {
            try self.set(#"{"production":false}"#)
        }
    }

    /// Returns these options with those of `file` in their place.
    ///
    /// What the program reads stays as it says, because it would wait for ever for what does not come. If the file names another
    /// backend, options that it does not know are left out. If that is a migration, these options become
    /// defaults of its sides.
    func replaced(by file: OptionsObject) throws(OptionsFault) -> OptionsObject {
        var own = self
        var file = file
        try file.resolveServer()
        file.remove(OptionGroups.ofReading.filter { own.has($0) })
        guard let before = self.backend, let after = file.backend, before != after else {
            return own.overlaid(with: file)
        }
        switch after {
        case .migrate:
            var merged = OptionsObject(prefix: "")
            for name in OptionGroups.ofHandle.union(OptionGroups.ofMigration) where own.has(name) {
                merged.copy(name, from: own)
            }
            for (side, name) in [(BackendName.binary, "binary"), (.http2, "http2")] {
                let given = try file.object(name)
                merged.set(
                    name,
                    own.defaults(of: side, isServerOfSide: before == side, prefix: "\(name).").overlaid(with: given)
                )
            }
            return merged.overlaid(with: file)
        case .binary: own.remove(OptionGroups.server.all.union(OptionGroups.ofHTTP2))
        case .http2: own.remove(OptionGroups.server.all.union(OptionGroups.ofBinary))
        case .echo: own.remove(own.names.subtracting(OptionGroups.ofHandle))
        case .auto: break
        }
        return own.overlaid(with: file)
    }

    /// Returns the options of a migration's side that stand in these.
    private func defaults(of side: BackendName, isServerOfSide: Bool, prefix: String) -> OptionsObject {
        var defaults = OptionsObject(prefix: prefix)
        let names = OptionGroups.ofBoth.union(side == .binary ? OptionGroups.ofBinary : OptionGroups.ofHTTP2)
        for name in names.subtracting(OptionGroups.ofMigration) where self.has(name) { defaults.copy(name, from: self) }
        if !isServerOfSide { defaults.remove(OptionGroups.server.all) }
        return defaults
    }

    /// Returns these options, and in their place those of `other`. A server or credentials of `other` replace these altogether.
    private func overlaid(with other: OptionsObject?) -> OptionsObject {
        guard let other else { return self }
        var result = self
        for group in [OptionGroups.server, OptionGroups.credentials]
        where group.naming.contains(where: { other.has($0) }) {
            result.remove(group.all)
        }
        result.replaceValues(by: other)
        return result
    }
}
