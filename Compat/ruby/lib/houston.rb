# frozen_string_literal: true

# Drop-in for houston 2.4: the same names, over libferry. README.md has the differences.

require 'ferry/sender'
require 'ferry/status'
require 'houston/connection'
require 'json'
require 'uri'

module Houston
  VERSION = '2.4.0'

  APPLE_PRODUCTION_GATEWAY_URI = 'apn://gateway.push.apple.com:2195'
  APPLE_PRODUCTION_FEEDBACK_URI = 'apn://feedback.push.apple.com:2196'
  APPLE_DEVELOPMENT_GATEWAY_URI = 'apn://gateway.sandbox.push.apple.com:2195'
  APPLE_DEVELOPMENT_FEEDBACK_URI = 'apn://feedback.sandbox.push.apple.com:2196'

  class Client
    attr_accessor :gateway_uri, :feedback_uri, :certificate, :passphrase
    # For how many seconds after `push` Notification#sent? and #error wait for the outcome.
    attr_accessor :timeout
    # New: true makes `push` wait for the outcomes.
    attr_accessor :wait

    class << self
      def development
        at(APPLE_DEVELOPMENT_GATEWAY_URI, APPLE_DEVELOPMENT_FEEDBACK_URI)
      end

      def production
        at(APPLE_PRODUCTION_GATEWAY_URI, APPLE_PRODUCTION_FEEDBACK_URI)
      end

      # New, for tests: no server. Tokens that begin with bad0 are rejected, all others accepted.
      def mock
        at('echo:', nil)
      end

      private

      def at(gateway_uri, feedback_uri)
        new.tap do |client|
          client.gateway_uri = gateway_uri
          client.feedback_uri = feedback_uri
        end
      end
    end

    def initialize
      @gateway_uri = ENV['APN_GATEWAY_URI']
      @feedback_uri = ENV['APN_FEEDBACK_URI']
      @certificate = certificate_data
      @passphrase = ENV['APN_CERTIFICATE_PASSPHRASE']
      @timeout = Float(ENV['APN_TIMEOUT'] || 0.5)
    end

    def push(*notifications)
      pairs = {}.compare_by_identity
      notifications.flatten.each_with_index do |notification, index|
        next if !notification.is_a?(Notification) || notification.sent? || pairs.key?(notification)
        if notification.valid?
          notification.id = index
          pairs[notification] = notification.record
        else
          notification.apns_error_code = Notification::PAYLOAD_TOO_LARGE
        end
      end
      return if pairs.empty?
      begin
        sender.push(pairs.to_a)
      ensure
        ends = Ferry.now + timeout.to_f
        pairs.each_key { |notification| notification.await_until(ends) }
      end
      nil
    end

    def unregistered_devices
      devices = []
      Ferry::Sender.each_gone(options(feedback_uri), certificate) do |token, time|
        devices << { token: token.scan(/.{1,8}/).join(' '), timestamp: time }
      end
      devices
    rescue Ferry::Error => e
      # What was read is no longer on the list.
      raise if devices.empty?
      warn "houston: #{e.message}"
      devices
    end

    def devices
      unregistered_devices.map { |device| device[:token] }
    end

    def certificate_data
      if ENV['APN_CERTIFICATE']
        File.read(ENV['APN_CERTIFICATE'])
      elsif ENV['APN_CERTIFICATE_DATA']
        ENV['APN_CERTIFICATE_DATA']
      end
    end

    private

    def sender
      options = options(gateway_uri, connectionRetryLimit: Connection::RETRIES, wait: wait)
      text = certificate unless options[:backend] == 'echo'
      Ferry::Sender.for('houston', options, text, Notification)
    end

    def options(uri, others = {})
      raise ArgumentError, 'no URI: set the environment variable APN_GATEWAY_URI' unless uri || ENV['FERRY_CONFIG']
      uri = URI(uri || '')
      return { backend: 'echo' } if uri.scheme == 'echo'
      Ferry::Sender.options(uri.host, uri.port, others.merge(passphrase: passphrase))
    end
  end

  class Notification
    class APNSError < RuntimeError
      CODES = Ferry::STATUSES.merge(255 => 'Unknown error').freeze

      attr_reader :code

      def initialize(code)
        raise ArgumentError, "no such status: #{code}" unless CODES.key?(code)
        super(CODES[code])
        @code = code
      end
    end

    MAXIMUM_PAYLOAD_SIZE = 2048
    PAYLOAD_TOO_LARGE = 7
    UNKNOWN = 255

    ATTRIBUTES = %i[alert badge sound category content_available mutable_content id expiry priority url_args
                    thread_id].freeze

    attr_accessor :token, :custom_data, *ATTRIBUTES
    attr_reader :sent_at
    attr_writer :apns_error_code
    # New: the Ferry::Outcome, as soon as there is one.
    attr_reader :outcome

    alias device token
    alias device= token=

    # What the sender tells of notifications.
    class << self
      def taken(notification, line)
        notification.taken(line)
      end

      # False: `error` says it to a program that asks. So what was lost is also written to standard error.
      def settled(notification, outcome, _raises)
        notification.settled(outcome)
        false
      end
    end

    def initialize(options = {})
      token = options.delete(:token)
      device = options.delete(:device)
      @token = token || device
      ATTRIBUTES.each { |name| instance_variable_set("@#{name}", options.delete(name)) }
      @custom_data = options
      @sent_at = nil
      @apns_error_code = nil
      @line = nil
    end

    def payload
      json = (custom_data || {}).transform_keys(&:to_s)
      aps = json['aps'] ||= {}
      aps['alert'] = alert if alert
      aps['badge'] = badge.respond_to?(:to_i) ? badge.to_i : 0 if badge
      aps['sound'] = sound if sound
      aps['category'] = category if category
      aps['content-available'] = 1 if content_available
      aps['mutable-content'] = 1 if mutable_content
      aps['url-args'] = url_args if url_args
      aps['thread-id'] = thread_id if thread_id
      json
    end

    # The frame of the binary protocol. `push` does not use it.
    def message
      json = payload.to_json
      items = [[1, 32, digits].pack('CnH64'), [2, json.bytesize, json.b].pack('Cna*')]
      items << [3, 4, id].pack('CnN') if id
      items << [4, 4, expiry.to_i].pack('CnN') if expiry
      items << [5, 1, priority].pack('CnC') if priority
      frame = items.join
      [2, frame.bytesize, frame].pack('CNa*')
    end

    # What Ferry sends: as `message`, but a token keeps its length.
    def record
      { token: Ferry::Sender.token(digits), payload: payload.to_json, expiration: expiry, priority: priority }
    end

    def mark_as_sent!
      @sent_at = Time.now
    end

    def mark_as_unsent!
      @sent_at = nil
    end

    def sent?
      await_outcome
      !@sent_at.nil?
    end

    def valid?
      payload.to_json.bytesize <= MAXIMUM_PAYLOAD_SIZE
    end

    def error
      await_outcome
      return if @apns_error_code.nil? || @apns_error_code.zero?
      APNSError.new(APNSError::CODES.key?(@apns_error_code) ? @apns_error_code : UNKNOWN)
    end

    # It is on its way.
    def taken(line)
      mark_as_sent!
      @line = line
      @outcome = nil
      @apns_error_code = nil
      @ends = Float::INFINITY
    end

    # Makes `sent?` and `error` wait for the outcome until then.
    def await_until(ends)
      @ends = ends
    end

    def settled(outcome)
      @line.is_prompt = true if @line && Ferry.now < @ends
      @line = nil
      @outcome = outcome
      return if outcome.accepted? || outcome.status == 410 # 410: it is in the feedback list.
      # It may have arrived if it is uncertain, and another push would then be a second notification.
      mark_as_unsent! unless outcome.outcome == :uncertain
      return if outcome.outcome == :expired
      @apns_error_code = outcome.legacy.zero? ? UNKNOWN : outcome.legacy
    end

    private

    def digits
      token.gsub(/[<\s>]/, '')
    end

    def await_outcome
      line = @line
      line.await(@ends) { @line.nil? } if line
    end
  end
end
