# frozen_string_literal: true

require 'ferry/frames'
require 'ferry/sender'
require 'socket'

module Ferry
  # What a program has that wrote frames to a socket of its own: it takes the frames apart and sends the notifications.
  # Error responses come to `read`. Nothing that was written is discarded because of them.
  class Stream
    # How many error responses wait for a program that does not read. Then the oldest are dropped.
    MOST = 10_000
    MISSING_TOKEN = 2

    # A notification on its way.
    Entry = Struct.new(:stream, :identifier)

    # What the sender tells of notifications.
    class << self
      def taken(entry, line)
        entry.stream.taken(entry, line)
      end

      # True: an error response says it to a program that reads.
      def settled(entry, outcome, _raises)
        entry.stream.settled(entry, outcome)
      end
    end

    # `library` is the name for lines on standard error, `options` are those of Sender.options, `certificate` is PEM
    # text. `for_push`: `read` does not read the list of devices that are gone.
    def initialize(library, options, certificate, for_push: false)
      @library = library
      @options = options
      @certificate = certificate
      @frames = Frames.new
      @pending = {}.compare_by_identity # entry => its line
      @responses = Queue.new
      @rest = nil # what was read in part
      @has_written = for_push
      @reader, @writer = UNIXSocket.pair
    end

    # Finds a fault of options and certificate, and raises what the old libraries raised.
    def open
      sender.push([])
      self
    end

    # Sends what the bytes complete. Returns when it was written, and raises if it was not delivered.
    def write(bytes)
      @has_written = true
      pairs = []
      begin
        @frames.take(bytes) { |frame| pairs << pair(frame) }
      ensure
        sender.push(pairs.compact)
        Sender.watch
      end
      bytes.bytesize
    end

    # Waits for an error response: 6 bytes. nil: everything that was written has another outcome. A stream that nothing
    # was written to reads the list of devices that are gone.
    def read(length = nil, buffer = nil)
      @rest ||= @has_written ? String.new : feedback
      while @has_written && (length.nil? || @rest.bytesize < length) && (response = await_response)
        @rest << response
      end
      bytes = @rest.slice!(0, length || @rest.bytesize)
      bytes = nil if bytes.empty? && length && length > 0
      buffer ? buffer.replace(bytes.to_s) && bytes : bytes
    end

    # For IO.select: readable while there is an error response, always writable.
    def to_io
      @reader
    end

    attr_accessor :sync

    def flush
      self
    end

    def close
      @reader.close
      @writer.close
    end

    def closed?
      @reader.closed?
    end

    def taken(entry, line)
      @pending[entry] = line
    end

    def settled(entry, outcome)
      @pending.delete(entry)
      return false if outcome.legacy.zero? || closed?
      respond(outcome.legacy, entry)
      true
    end

    private

    def pair(frame)
      entry = Entry.new(self, frame.identifier || 0)
      return respond(MISSING_TOKEN, entry) if frame.token.empty?
      [entry, { token: frame.token, payload: frame.payload, expiration: frame.expiration, priority: frame.priority }]
    end

    def sender
      @sender ||= Sender.for(@library, @options, @certificate, Stream)
    end

    def respond(status, entry)
      @responses.pop(true) if @responses.size >= MOST
      @responses << [8, status, entry.identifier].pack('CCN')
      signal
      nil
    rescue ThreadError # Another thread has read them.
      retry
    end

    def signal
      @writer.write_nonblock('!', exception: false)
    rescue IOError
      nil # It was closed meanwhile.
    end

    # The next error response; nil when everything has its outcome.
    def await_response
      while @responses.empty?
        entry, line = @pending.first
        return unless entry
        line.await(Float::INFINITY) { !@responses.empty? || !@pending.key?(entry) }
        @pending.delete(entry) if line.dead?
      end
      response = @responses.pop(true)
      if @responses.empty?
        @reader.read_nonblock(1 << 16, exception: false)
        signal unless @responses.empty?
      end
      response
    rescue ThreadError # Another thread has read it.
      retry
    end

    # The tuples of the feedback service.
    def feedback
      tuples = String.new
      Sender.each_gone(@options, @certificate) do |token, time|
        tuples << [time, token.size / 2, token].pack('NnH*')
      end
      tuples
    rescue Error => e
      # What was read is no longer on the list.
      raise if tuples.empty?
      warn "#{@library}: #{e.message}"
      tuples
    end
  end
end
