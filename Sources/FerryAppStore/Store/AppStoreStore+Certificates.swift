internal import NIOPosix

/// The certificates that a verifier has learnt. The store keeps them for the next start.
extension AppStoreStore {
    /// Gives `verifier` the certificates of the file, now or when the file is opened. The store then keeps the
    /// certificates that the verifier finds good.
    func keepCertificates(of verifier: AppStoreVerifier) {
        verifier.whenNewCertificates { [weak self] certificates in
            self?.thread.submit { [weak self] state in
                guard case .active = state else { return }
                // An error is ignored, because the store works without these certificates. The next start then learns
                // the certificates from the first posts. A flood of forged posts can delay this.
                try? self?.core.file?.keep(certificates)
            }
        }
        self.thread.submit { [weak self] state in
            guard case .active = state, let self else { return }
            self.core.verifier = verifier
            self.teach()
        }
    }

    /// Gives the certificates of the file to the verifier. Call it on the store's thread.
    func teach() {
        guard let verifier = self.core.verifier, let list = try? self.core.file?.certificates() else { return }
        verifier.learn(list)
    }
}
