# frozen_string_literal: true

require 'forwardable'
require 'grocer/connection'
require 'grocer/failed_delivery_attempt'

module Grocer
  class Feedback
    extend Forwardable
    include Enumerable
    def_delegators :@connection, :gateway, :port, :passphrase

    def initialize(connection)
      @connection = connection
    end

    def each
      return enum_for(:each) unless block_given?
      return @connection.each_tuple { |tuple| yield FailedDeliveryAttempt.new(tuple) } if @connection.is_a?(Connection)
      while (tuple = @connection.read(FailedDeliveryAttempt::LENGTH))
        yield FailedDeliveryAttempt.new(tuple)
      end
    end
  end
end
