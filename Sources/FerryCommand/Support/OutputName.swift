internal import ArgumentParser

/// The names of files that commands write.
enum OutputName {
    /// Checks that a name is not `-`, which elsewhere means a standard stream. A command whose standard output has
    /// other lines would make a file with that name.
    ///
    /// - Parameter what: the option or argument, for the message.
    static func require(_ name: String?, _ what: String) throws {
        guard name == "-" else { return }
        throw ValidationError("\(what) takes a file, and no - for standard output; ./- is a file of that name.")
    }
}
