# frozen_string_literal: true

require 'grocer/notification_reader'
require 'grocer/ssl_server'

module Grocer
  # A server for tests: what pushers send to it comes out of a queue.
  class Server
    # How many seconds a client of this process needs to take silence for acceptance.
    SETTLE = 4 * SSLServer::CLIENT_OPTIONS[:settleTime]

    attr_reader :notifications

    def initialize(server)
      @server = server
      @clients = []
      @notifications = Queue.new
      @read = -Float::INFINITY
    end

    # The port that it listens on.
    def port
      @server.port
    end

    # Listens, and returns a thread that takes clients.
    def accept
      server = @server
      server.listen if server.respond_to?(:listen)
      Thread.new do
        begin
          server.accept { |client| serve(client) }
        rescue IOError, SystemCallError
          nil # The server was closed.
        end
      end
    end

    def close
      server = @server
      @server = nil
      server.close if server
      # Without this the last notifications would be reported as uncertain, because the server is gone.
      sleep([@read + SETTLE - Ferry.now, 0].max) unless @clients.empty?
      @clients.each(&:close)
      @clients = []
    end

    private

    def serve(client)
      @clients << client
      Thread.new do
        begin
          client.accept if client.respond_to?(:accept)
          NotificationReader.new(client).each do |notification|
            @read = Ferry.now
            @notifications << notification
          end
        rescue IOError, SystemCallError, OpenSSL::OpenSSLError
          nil # The client is gone, or the server was closed.
        rescue ArgumentError, JSON::ParserError => e
          warn "Grocer.server: #{e.message}"
        end
        client.close
      end
    end
  end
end
