# frozen_string_literal: true

require 'forwardable'
require 'grocer/connection'
require 'grocer/notification'

module Grocer
  class Pusher
    extend Forwardable
    def_delegators :@connection, :gateway, :port, :passphrase

    def initialize(connection)
      @connection = connection
    end

    # Returns the length of the notification in bytes, as there.
    def push(notification)
      is_ours = @connection.is_a?(Connection) && notification.respond_to?(:record)
      return @connection.write(notification.to_bytes) unless is_ours
      record = notification.record
      @connection.push(notification, record)
      Notification::FRAME_SIZE + record[:payload].bytesize
    end
  end
end
