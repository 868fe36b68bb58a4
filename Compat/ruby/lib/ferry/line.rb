# frozen_string_literal: true

require 'ferry'

module Ferry
  # One handle of libferry, which one thread uses at a time, and the notifications on their way through it.
  #
  # A drop-in gives it a `listener`, which learns of notifications:
  #   taken(notification, line)
  #   settled(notification, outcome, raises)
  # `raises` says that `push` will raise because of it. `settled` returns whether the program learns of a loss.
  class Line
    BATCH = 4096
    READ = 256
    # How many seconds the first call waits for an answer: see `await_first_answer`.
    FIRST_ANSWER = 0.5

    # Whether the server has answered, or was silent for long enough, and so has accepted the credentials.
    attr_reader :is_answered
    # Whether the server answers in the time that the program gives it. A gateway of the binary protocol is silent about
    # what it accepts, and a program must not wait for that each time.
    attr_accessor :is_prompt

    def initialize(provider, library, listener, is_answered)
      @provider = provider
      @library = library
      @listener = listener
      @is_answered = is_answered
      @is_prompt = true
      @pid = Process.pid
      @lock = Mutex.new
      @next_tag = 0
      @pending = {}    # tag => notification
      @outcomes = []   # read from libferry, and not delivered yet
      @silent = []     # outcomes of which the program does not learn, and should
      @first_tag = nil # of the call in progress
      @failures = []   # outcomes for which the call in progress raises
    end

    # Whether it is of no use any more: it was freed, or belongs to the parent process.
    def dead?
      @provider.nil? || @pid != Process.pid
    end

    def pending?
      !@pending.empty?
    end

    # Calls the block and returns its value; nil if the line is in use or dead. Nobody waits for the lock: the handler
    # of a signal may not do that, and can use another line.
    #
    # Timeout and Thread#kill strike where the line waits, and not between a call of libferry and what must follow it.
    def exclusive
      Thread.handle_interrupt(Object => :on_blocking) do
        return if dead? || !@lock.try_lock
        begin
          yield unless dead?
        ensure
          @lock.unlock
        end
      end
    end

    # Sends pairs of a notification and its record: the arguments of Ferry.append without a tag. Returns when all was
    # written. Raises when some were not delivered.
    def push(pairs)
      @first_tag = @next_tag
      @failures.clear
      pairs.each_slice(BATCH) do |slice|
        submit(slice)
        break unless @failures.empty?
      end
      read until @provider.flush(0.1)
      read
      await_first_answer
      raise failure(pairs.size) unless @failures.empty?
    ensure
      @first_tag = nil
      tell
    end

    # Delivers the outcomes that have come.
    def read
      loop do
        count = 0
        Thread.handle_interrupt(Object => :never) do
          outcomes = @provider.read(READ)
          count = outcomes.size
          @outcomes.concat(outcomes)
        end
        deliver(@outcomes.shift) until @outcomes.empty?
        break if count < READ
      end
    end

    # Delivers outcomes; where the server is prompt, until the block returns true or the time is over.
    def await(ends)
      until yield || dead?
        left = ends - Ferry.now
        has_read = exclusive do
          read
          @provider.wait([left, 0.1].min) if @is_prompt && left > 0 && !yield
          tell
          true
        end
        @is_prompt = false if left <= 0 && has_read && !yield
        break if left <= 0 || !@is_prompt
        sleep 0.005 unless has_read
      end
    end

    # Waits for outcomes until `ends`, and gives up what has none then.
    def finish(ends)
      @provider.drain([ends - Ferry.now, 0].max)
      read
      return unless pending?
      @provider.close(0)
      read
      tell
      @provider = nil
    ensure
      tell
    end

    # Frees the handle, if nothing is on its way. Returns whether.
    def free
      read
      tell
      return false if pending?
      @provider.free
      @provider = nil
      true
    end

    # Writes to standard error what the program would not learn.
    def tell
      return if @silent.empty?
      kinds = @silent.group_by { |outcome| "#{outcome.outcome} (#{outcome.reason || outcome.detail})" }
      kinds = kinds.map { |kind, outcomes| "#{outcomes.size} #{kind}" }
      @silent = []
      warn "#{@library}: notifications that did not arrive, or may not have: #{kinds.join(', ')}. #{last_error}".strip
    end

    private

    def submit(slice)
      records = String.new(capacity: slice.size * 256)
      slice.each_with_index { |(_, record), index| Ferry.append(records, tag: @next_tag + index, **record) }
      until slice.empty?
        count = 0
        Thread.handle_interrupt(Object => :never) do
          count, used = @provider.submit_records(records)
          records = records.byteslice(used..-1)
          slice.shift(count).each do |notification, _|
            @pending[@next_tag] = notification
            @next_tag += 1
            @listener.taken(notification, self)
          end
        end
        read
        @provider.wait(0.1) if count.zero?
      end
    end

    # A server may refuse a certificate of TLS 1.3 only after the first notification was written. The first call of the
    # old libraries waited for a handshake, and raised then.
    def await_first_answer
      ends = Ferry.now + FIRST_ANSWER
      until @is_answered || !pending? || (left = ends - Ferry.now) <= 0
        @provider.wait([left, 0.1].min)
        read
      end
      @is_answered ||= pending?
    end

    def deliver(outcome)
      kind = outcome.outcome
      @is_answered ||= kind == :accepted || kind == :rejected && outcome.detail != :ferry
      notification = @pending.delete(outcome.tag)
      return unless notification
      raises = kind == :undelivered && !@first_tag.nil? && outcome.tag >= @first_tag
      @failures << outcome if raises
      is_told = @listener.settled(notification, outcome, raises)
      @silent << outcome if loss?(outcome) && !is_told && !raises
    end

    # Rejected without a status of the binary protocol: not because of the notification, but of the topic, the
    # credentials, or APNs. A user of the old library would never hear of it. 410 is in the feedback list.
    def loss?(outcome)
      case outcome.outcome
      when :undelivered, :uncertain then true
      when :rejected then outcome.legacy.zero? && outcome.status != 410
      end
    end

    # What the old library raised: after a failed handshake, a refused connection, or another end of the connection.
    def failure(count)
      outcome = @failures.first
      sentence = "#{@failures.size} of #{count} notifications not delivered (#{outcome.detail}). #{last_error}".strip
      case outcome.detail
      when :credentials
        require 'openssl'
        OpenSSL::SSL::SSLError.new(sentence)
      when :no_connection then Errno::ECONNREFUSED.new(sentence)
      else Errno::EPIPE.new(sentence)
      end
    end

    def last_error
      @provider.report['lastError']
    end
  end
end
