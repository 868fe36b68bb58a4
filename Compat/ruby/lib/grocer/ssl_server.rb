# frozen_string_literal: true

require 'grocer/base'
require 'socket'

module Grocer
  # The listener of a server for tests, on this machine only. Its certificate is made anew in each process.
  class SSLServer
    # What makes a pusher of this process accept that certificate, and take silence for acceptance soon.
    CLIENT_OPTIONS = { rejectUnauthorized: false, settleTime: 0.05 }.freeze
    LOCAL = %w[127.0.0.1 localhost].freeze
    DAYS = 86_400

    @ports = []

    class << self
      attr_reader :ports

      # Whether a server of this process listens there.
      def open_at?(gateway, port)
        LOCAL.include?(gateway) && ports.include?(port.to_i)
      end

      def context
        @context ||= OpenSSL::SSL::SSLContext.new.tap do |context|
          context.key = OpenSSL::PKey::RSA.new(2048)
          context.cert = certificate(context.key)
        end
      end

      private

      def certificate(key)
        OpenSSL::X509::Certificate.new.tap do |certificate|
          certificate.version = 2
          certificate.serial = 1
          certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse('/CN=localhost')
          certificate.public_key = key.public_key
          certificate.not_before = Time.now - DAYS
          certificate.not_after = Time.now + 30 * DAYS
          extensions = OpenSSL::X509::ExtensionFactory.new
          certificate.add_extension(extensions.create_extension('subjectAltName', 'DNS:localhost,IP:127.0.0.1'))
          certificate.sign(key, OpenSSL::Digest.new('SHA256'))
        end
      end
    end

    # 0: the system chooses one, and after `listen` it stands here.
    attr_accessor :port

    def initialize(options = {})
      @port = options[:port] || options['port'] || 2195
      @ssl_socket = nil
    end

    def listen
      return if @ssl_socket
      @is_closed = false
      socket = TCPServer.new('127.0.0.1', port)
      @ssl_socket = OpenSSL::SSL::SSLServer.new(socket, SSLServer.context)
      # A client that says nothing must not keep others waiting: the handshake is for the reader's thread.
      @ssl_socket.start_immediately = false
      self.port = socket.addr[1] if port.to_i.zero?
      SSLServer.ports << port.to_i
    end

    # Calls the block with each client, until the server is closed.
    def accept
      listen unless @is_closed
      while (client = @ssl_socket && @ssl_socket.accept)
        yield client if block_given?
      end
    end

    def close
      server = @ssl_socket
      @is_closed = !server.nil?
      @ssl_socket = nil
      return if server.nil? || server.closed?
      SSLServer.ports.delete_at(SSLServer.ports.index(port.to_i) || SSLServer.ports.size)
      begin
        server.shutdown
      rescue Errno::ENOTCONN
        nil # A listener need not have a peer.
      end
      server.close
    end
  end
end
