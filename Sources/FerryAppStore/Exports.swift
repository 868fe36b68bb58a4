// A program imports one module, and gets the types of other modules that a configuration names.
@_exported public import class FerryOpenSSL.ES256Key
@_exported public import struct FerryOpenSSL.TLSError
@_exported public import struct FerryOpenSSL.TLSIdentity
@_exported public import enum FerryOpenSSL.TrustRoots
