# frozen_string_literal: true

require 'grocer/base'
require 'grocer/ssl_server'

module Grocer
  # A server and a certificate. What pushes and what reads the feedback list goes through one.
  class Connection
    attr_reader :certificate, :passphrase, :gateway, :port, :retries

    def initialize(options = {})
      @certificate = options[:certificate]
      @passphrase = options[:passphrase]
      @gateway = options.fetch(:gateway) { raise NoGatewayError }
      @port = options.fetch(:port) { raise NoPortError }
      @retries = options.fetch(:retries, 3)
      @wait = options[:wait]
      @text = nil
    end

    # Finds a fault of options and certificate. Ferry connects when it has something to send.
    def connect
      stream.open
      nil
    end

    # Sends frames of the binary protocol: Notification#to_bytes, or the program's own.
    def write(content)
      extending_errors { stream.write(content) }
    end

    # Reads error responses to `write`; if nothing was written, the feedback list.
    def read(size = nil, buf = nil)
      stream.read(size, buf)
    end

    # Sends a notification whose outcome goes to Grocer.on_failure.
    def push(notification, record)
      extending_errors { sender.push([[notification, record]]) }
    ensure
      Ferry::Sender.watch if Grocer.failures_wanted?
    end

    # Calls the block with each device that is gone, as the feedback service writes it.
    def each_tuple
      Ferry::Sender.each_gone(options, text) do |token, time|
        yield [time, token.size / 2, token].pack('NnH*')
      end
    end

    private

    def extending_errors
      yield
    rescue StandardError => e
      e.extend(CertificateExpiredError) if e.message =~ /certificate.*expired/i
      raise
    end

    # A server for tests may come and go while the program keeps its pusher.
    def sender
      (@senders ||= {})[own_server?] ||= Ferry::Sender.for('grocer', push_options, text, Grocer)
    end

    def own_server?
      SSLServer.open_at?(gateway, port) && !ENV['FERRY_CONFIG']
    end

    def stream
      @stream ||= Ferry::Stream.new('grocer', push_options, text, for_push: for_push?)
    end

    # Whether `read` never reads the feedback list.
    def for_push?
      false
    end

    # `retries` counts attempts to connect, and the option of Ferry those that may fail.
    def push_options
      options(connectionRetryLimit: [retries - 1, 0].max, wait: @wait)
    end

    def options(others = {})
      own = own_server? ? SSLServer::CLIENT_OPTIONS : {}
      Ferry::Sender.options(gateway, port, own.merge(others).merge(passphrase: passphrase))
    end

    # The PEM text. Read when it is needed first, as there.
    def text
      return @text if @text || certificate.nil?
      return @text = File.read(certificate) unless certificate.respond_to?(:read)
      @text = certificate.read
      certificate.rewind if certificate.respond_to?(:rewind)
      @text
    end
  end
end
