# frozen_string_literal: true

require 'ferry/stream'
require 'forwardable'
require 'openssl'
require 'uri'

module Houston
  # A connection that the program writes frames to: Notification#message, or its own. Error responses come to `read`.
  # What was written after a rejected notification is sent, so the program must not write it again.
  class Connection
    # How many failures to connect in a row make a write or a push raise.
    RETRIES = 3

    extend Forwardable
    def_delegators :@uri, :scheme, :host, :port
    def_delegators :@stream, :read, :write

    attr_reader :certificate, :passphrase

    class << self
      def open(uri, certificate, passphrase)
        return unless block_given?
        connection = new(uri, certificate, passphrase)
        connection.open
        begin
          yield connection
        ensure
          connection.close
        end
      end
    end

    def initialize(uri, certificate, passphrase)
      @uri = URI(uri)
      @certificate = certificate.to_s
      @passphrase = passphrase.to_s unless passphrase.nil?
      @stream = nil
    end

    # False: it is open.
    def open
      return false if open?
      options = Ferry::Sender.options(host, port, connectionRetryLimit: RETRIES, passphrase: passphrase)
      text = certificate unless certificate.empty?
      @stream = Ferry::Stream.new('Houston::Connection', options, text).open
    end

    def open?
      !@stream.nil?
    end

    # False: it is closed.
    def close
      return false if closed?
      @stream.close
      @stream = nil
    end

    def closed?
      !open?
    end

    # What has `read` and `write`, and goes to IO.select.
    def ssl
      @stream
    end

    # For IO.select only.
    def socket
      @stream && @stream.to_io
    end
  end
end
