/// The value of the option `backend`.
enum BackendName: String, CaseIterable {
    case binary, http2, migrate, echo
    /// The host decides: see ``OptionObject/resolveServer()``.
    case auto
}
