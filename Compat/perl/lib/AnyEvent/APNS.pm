package AnyEvent::APNS;

use 5.010;
use strict;
use warnings;

use AnyEvent 4.80;
use AnyEvent::APNS::Handler;
use Carp qw(carp croak);
use Ferry::DropIn;
use Scalar::Util qw(looks_like_number);

our $VERSION = '0.10';

# The longest payload in bytes. The text of a longer one is cut, as it was.
use constant PAYLOAD => 256;

# How long a notification without an expiry may be delivered, in seconds.
use constant DAY => 24 * 3600;

for my $name (qw(certificate private_key sandbox debug_port on_error on_eof on_connect on_error_response last_identifier)) {
    no strict 'refs';
    *$name = sub {
        my ($self, @value) = @_;
        ($self->{$name}) = @value if @value;
        return $self->{$name};
    };
}

sub new {
    my ($class, @arguments) = @_;
    my %arguments = @arguments == 1 ? %{ $arguments[0] } : @arguments;
    for my $name (qw(certificate private_key)) {
        croak "AnyEvent::APNS: $name is required" unless defined $arguments{$name};
    }
    return bless {
        sandbox         => 0,
        on_error        => sub { warn "$_[2]\n" },
        on_connect      => sub { },
        last_identifier => 0,
        %arguments,
    }, $class;
}

# Whether `send` goes to a test server of the program, without TLS and without the library.
sub is_debug { return exists $_[0]{debug_port} }

sub json_driver {
    my ($self, @value) = @_;
    ($self->{json_driver}) = @value if @value;
    return $self->{json_driver} ||= Ferry::DropIn::coder();
}

# The original connected here. The library connects when there is something to send, so callbacks of the connection come
# soon.
sub connect {
    my ($self) = @_;
    if ($self->connected) {
        carp 'AnyEvent::APNS: there is a connection already';
        return;
    }
    if ($self->is_debug) {
        require AnyEvent::APNS::Plain;
        $self->{connecting} = AnyEvent::APNS::Plain->connect($self, $self->debug_port);
        return $self;
    }
    $self->{handler} = AnyEvent::APNS::Handler->new(
        $self,
        host => 'gateway.' . ($self->sandbox ? 'sandbox.' : '') . 'push.apple.com',
        port => 2195,
        cert => $self->certificate,
        key  => $self->private_key,
    );
    return $self;
}

sub handler       { return $_[0]{handler} }
sub connected     { return exists $_[0]{handler} }
sub clear_handler { return delete $_[0]{handler} }

sub send {
    my ($self, $token, $payload, $expiry) = @_;
    croak 'AnyEvent::APNS: not connected: call connect first' unless $self->connected;
    croak 'AnyEvent::APNS: send() takes a device token and a hash' unless defined $token && ref $payload eq 'HASH';
    my $identifier = $self->{last_identifier} = ($self->{last_identifier} + 1) & 0xFFFF_FFFF;
    $self->handler->send($identifier, {
        token      => $token,
        payload    => $self->_json($payload),
        expiration => Ferry::DropIn::expiration($expiry // time + DAY),
    });
    return $identifier;
}

sub _json {
    my ($self, $payload) = @_;
    my $badge = ref $payload->{aps} eq 'HASH' ? $payload->{aps}{badge} : undef;
    # APNs refuses a badge that is a string.
    $payload = { %$payload, aps => { %{ $payload->{aps} }, badge => $badge + 0 } } if looks_like_number($badge);
    my ($json) = Ferry::DropIn::fitted($self->json_driver, $payload, PAYLOAD);
    return $json;
}

sub DESTROY {
    my ($self) = @_;
    $self->{handler}->destroy if $self->{handler} && (${^GLOBAL_PHASE} // '') ne 'DESTRUCT';
}

1;
