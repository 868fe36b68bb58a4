internal import FerrySQLite

/// An error that prevents the use of a store.
public struct AppStoreStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of faults. The owner of the store reacts differently to each.
    @nonexhaustive
    public enum Code: Sendable {
        /// Another process has locked the file. Stop that process, or ask it about the store.
        case locked
        /// The disk or its quota is full.
        case full
        /// The file is damaged or not a database, its last commits are gone, or its `-mark` file cannot be used at
        /// the opening.
        case damaged
        /// The file cannot be opened, read or written.
        case inaccessible
        /// The store was closed with ``AppStoreStore/close()``, and accepts nothing more.
        case closed
    }

    /// The kind of fault. Programs decide by it, because sentences may change.
    public let code: Code
    /// The fault as a text for an operator. If the fault is in the file, the text usually names the file.
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ sentence: String, _ error: SQLiteError) {
        let code: Code =
            switch error.kind {
            case .locked: .locked
            case .full: .full
            case .damaged: .damaged
            case .inaccessible, .other: .inaccessible
            }
        self.init(code, "\(sentence) \(error.description)")
    }
}
