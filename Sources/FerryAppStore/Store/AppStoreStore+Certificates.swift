internal import NIOPosix

/// The certificates that a verifier has learnt, for the next start.
extension AppStoreStore {
    /// Tells `verifier` the certificates of the file, now or when it is opened, and keeps those that it finds good.
    func keepCertificates(of verifier: AppStoreVerifier) {
        verifier.whenNewCertificates { [weak self] certificates in
            self?.thread.submit { [weak self] state in
                guard case .active = state else { return }
                // Only an aid: without it, the next start learns them again from the first posts.
                try? self?.core.file?.keep(certificates)
            }
        }
        self.thread.submit { [weak self] state in
            guard case .active = state, let self else { return }
            self.core.verifier = verifier
            self.teach()
        }
    }

    /// On the store's thread.
    func teach() {
        guard let verifier = self.core.verifier, let list = try? self.core.file?.certificates() else { return }
        verifier.learn(list)
    }
}
