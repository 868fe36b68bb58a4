# frozen_string_literal: true

require 'ferry'

module Ferry
  # Takes the bytes that a client of the binary protocol writes, in any pieces, and returns the notifications in them.
  class Frames
    # One notification as it was written: the token in hexadecimal digits, nil for what the frame does not have.
    Frame = Struct.new(:identifier, :expiration, :token, :payload, :priority)

    # How many bytes of items a frame may have: more than APNs ever took.
    LONGEST = 1 << 17

    def initialize
      @bytes = String.new
    end

    # Calls the block with each notification that these bytes complete. Then, if what follows is no frame, it raises
    # ArgumentError: nothing after it can be understood.
    def take(bytes)
      @bytes << bytes.b
      while (frame = next_frame)
        yield frame
      end
    end

    private

    def next_frame
      case @bytes.getbyte(0)
      when nil then nil
      when 0 then simple(1)
      when 1 then simple(9)
      when 2 then items
      else raise ArgumentError, "No frame of the binary protocol begins with the byte #{@bytes.getbyte(0)}."
      end
    end

    # A frame of command 0 or 1, whose token has its length at `start`.
    def simple(start)
      token = text(start) or return
      payload = text(start + 2 + token.bytesize) or return
      identifier, expiration = @bytes.unpack('xNN') if start > 1
      cut(start + 4 + token.bytesize + payload.bytesize)
      Frame.new(identifier, expiration, token.unpack1('H*'), payload)
    end

    # The bytes behind a length at `start`; nil if they have not all come.
    def text(start)
      length = @bytes.byteslice(start, 2).to_s.unpack1('n') or return
      bytes = @bytes.byteslice(start + 2, length)
      bytes if bytes && bytes.bytesize == length
    end

    # A frame of command 2.
    def items
      length = @bytes.byteslice(1, 4).unpack1('N') or return
      raise ArgumentError, "A frame of #{length} bytes is too long." if length > LONGEST
      return if @bytes.bytesize < 5 + length
      rest = cut(5 + length).byteslice(5, length)
      frame = Frame.new(nil, nil, '', '')
      until rest.empty?
        item, size = rest.unpack('Cn')
        raise ArgumentError, 'An item ends behind its frame.' if size.nil? || rest.bytesize < 3 + size
        set(frame, item, rest.byteslice(3, size))
        rest = rest.byteslice(3 + size..-1)
      end
      frame
    end

    def set(frame, item, bytes)
      case item
      when 1 then frame.token = bytes.unpack1('H*')
      when 2 then frame.payload = bytes
      when 3 then frame.identifier = bytes.unpack1('N')
      when 4 then frame.expiration = bytes.unpack1('N')
      when 5 then frame.priority = bytes.unpack1('C')
      end
    end

    def cut(length)
      @bytes.slice!(0, length)
    end
  end
end
