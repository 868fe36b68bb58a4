/// The value of the option `backend`.
enum BackendName: String, CaseIterable {
    case binary, http2, migrate, echo
    /// The protocol that fits the host: see ``OptionObject/resolveServer(isFeedback:)``.
    case auto
}
