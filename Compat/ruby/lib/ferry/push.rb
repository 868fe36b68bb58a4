# frozen_string_literal: true

module Ferry
  # The answer for one notification. As a string it is the sentence.
  class Answer
    # The device token, as it was given.
    attr_reader :token
    # :accepted, :rejected, :expired, :undelivered (certainly not delivered) or :uncertain
    attr_reader :outcome
    # Apple's word such as "BadDeviceToken", or the cause such as "noConnection"; nil: none.
    attr_reader :reason
    # Of HTTP/2, or of the binary protocol; nil: nobody answered.
    attr_reader :status
    # The identifier of the notification at APNs; nil: none.
    attr_reader :apns_id
    # Since when the device is gone, in milliseconds of UNIX time; nil: it is not.
    attr_reader :timestamp
    # All of this in words, with the cause and the cure.
    attr_reader :sentence

    def initialize(token, words)
      @token = token
      @outcome = words['outcome'].to_sym
      @reason, @status, @apns_id, @timestamp, @sentence = words.values_at(*%w[reason status apnsId timestamp sentence])
    end

    def accepted?
      @outcome == :accepted
    end

    def to_s
      @sentence
    end

    def inspect
      "#<Ferry::Answer #{@sentence}>"
    end
  end

  # Sends one payload to a device, or to many, and returns the Answer, or an Array of them in the order of the tokens.
  #
  # Tokens are hexadecimal. The payload is what becomes JSON, or JSON. All else is options: of the provider, as
  # Docs/begin/c.md has them (key_id: is keyId), and collapse_id, expiration, priority and push_type of the notification.
  # What is not given comes from the environment: FERRY_P8, FERRY_KEY_ID, FERRY_TEAM_ID, FERRY_TOPIC and so on.
  # Connections stay open for the next call with the same options.
  #
  # Raises Ferry::Error for options, and ArgumentError for a notification, that cannot be used. Then nothing was sent. A
  # token that cannot be one is an answer.
  def self.push(tokens, payload, options = {})
    answers = Pushing.answers(tokens.is_a?(Array) ? tokens : [tokens], payload, options)
    tokens.is_a?(Array) ? answers : answers.first
  end

  # Inside of Ferry.push.
  module Pushing
    # How many seconds after its submission a notification may still be written, unless the options say so.
    DEADLINE = 30
    # How many seconds beyond the deadline the last answers may take.
    LAST = 15
    FIELDS = %i[collapse_id expiration priority push_type].freeze
    TRUTHS = { '1' => true, 'true' => true, '0' => false, 'false' => false }.freeze

    module_function

    def answers(tokens, payload, given)
      given = given.transform_keys(&:to_sym)
      fields = given.select { |name, _| FIELDS.include?(name) }
      fields[:payload] = payload.is_a?(String) ? payload : JSON.generate(payload)
      options = completed(given.reject { |name, _| FIELDS.include?(name) })
      provider = open(options)
      good, bad = tokens.each_with_index.partition { |token, _| digits(token) }
      notifications = good.map { |token, tag| { tag: tag, token: digits(token) }.merge(fields) }
      words = outcomes(provider, notifications, options.fetch('deadline', DEADLINE) + LAST)
      bad.each { |_, tag| words[tag] = words(provider, REJECTED, ORIGIN_FERRY, 2) } # BadDeviceToken
      late = words(provider, UNDELIVERED, CAUSE_DEADLINE)
      tokens.each_with_index.map { |token, tag| Answer.new(token, words.fetch(tag, late)) }
    ensure
      provider.free if provider
    end

    # The hexadecimal digits of a device token; nil if it is none.
    def digits(token)
      digits = token.is_a?(String) ? token.delete(" \t\r\n<>") : ''
      digits if digits.match?(/\A(?:\h\h){1,100}\z/)
    end

    # Returns the outcome of each notification in words, by its tag.
    def outcomes(provider, notifications, patience)
      words = {}
      submitted = 0
      ends = Ferry.now + patience
      while words.size < notifications.size && Ferry.now < ends
        taken = provider.submit(notifications[submitted, Provider::BATCH])
        submitted += taken
        provider.wait(1)
        ends = Ferry.now + patience if read(provider, words) + taken > 0
      end
      provider.close(0)
      nil until read(provider, words).zero?
      words
    end

    def read(provider, words)
      outcomes = provider.read
      outcomes.each { |outcome| words[outcome.tag] = provider.words(outcome) }
      outcomes.size
    end

    def words(provider, outcome, detail, reason = 0)
      provider.words(Outcome.new([0, outcome, detail, 0, reason, 0, 0, 0].pack('Q<CCS<S<CCq<x16')))
    end

    def open(options)
      begin
        return Provider.new({ 'shared' => "push #{JSON.generate(options.sort.to_h)}" }.merge(options))
      rescue Error
        nil # Options that are wrong, or more shared providers than a process may have: only the former raise again.
      end
      Provider.new(options)
    end

    # The options by their names in Docs/begin/c.md, with those that the environment has.
    def completed(given)
      options = given.map { |name, value| [name.to_s.gsub(/_([a-z])/) { $1.upcase }, value] }.to_h
      ENVIRONMENT.each do |group|
        next if group.keys.any? { |name| options.key?(name) }
        group.each { |name, variable| options[name] = value(name, ENV[variable]) unless ENV[variable].to_s.empty? }
      end
      options['backend'] ||= 'http2'
      options['deadline'] ||= DEADLINE if %w[auto binary http2].include?(options['backend'].to_s)
      options
    end

    def value(name, text)
      return text.to_i if name == 'port' && text.match?(/\A\d+\z/)
      name == 'production' ? TRUTHS.fetch(text.downcase, text) : text
    end
  end
  private_constant :Pushing
end
