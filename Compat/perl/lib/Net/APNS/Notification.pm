package Net::APNS::Notification;

use 5.010;
use strict;
use warnings;

use Carp qw(carp croak);
use Ferry qw(:constants);
use Ferry::DropIn;
use JSON::PP ();

our $VERSION = '0.0202';

my %DEFAULT = (
    message => '', badge => 0, sound => '', port => 2195, sandbox => 0, ssl_version => 10, ssl_trace_level => 4,
);

use constant PEM => 1; # Net::SSLeay::FILETYPE_PEM

my $has_warned;

my $json = JSON::PP->new->utf8->canonical;
my $on_failure;

sub on_failure { ($on_failure) = @_ }

sub new {
    my ($class, @arguments) = @_;
    my %arguments = @arguments == 1 ? %{ $arguments[0] } : @arguments;
    my $self = bless { %DEFAULT, custom => {} }, $class;
    for my $name (qw(cert key)) { croak "Net::APNS: $name is required" unless defined $arguments{$name} }
    for my $name (sort keys %arguments) {
        $self->$name($arguments{$name}) if defined $arguments{$name} && $self->can($name);
    }
    return $self;
}

for my $name (qw(cert key passwd port sandbox message sound)) {
    no strict 'refs';
    *$name = sub {
        my ($self, @value) = @_;
        ($self->{$name}) = @value if @value;
        return $self->{$name};
    };
}

sub badge {
    my ($self, @value) = @_;
    if (@value) {
        croak 'badge must be an integer' unless ($value[0] // '') =~ /\A-?[0-9]+\z/;
        $self->{badge} = 0 + $value[0];
    }
    return $self->{badge};
}

sub custom {
    my ($self, @value) = @_;
    if (@value) {
        croak 'custom must be a hash' unless ref $value[0] eq 'HASH';
        $self->{custom} = $value[0];
    }
    return $self->{custom};
}

for my $name (qw(ssl_version ssl_trace_level)) {
    no strict 'refs';
    *$name = sub {
        my ($self, @value) = @_;
        if (@value) {
            carp 'Net::APNS: ssl_version and ssl_trace_level have no effect, the library speaks TLS 1.2 and later'
                if !$has_warned++;
            ($self->{$name}) = @value;
        }
        return $self->{$name};
    };
}

sub type_pem { return PEM }

sub devicetoken {
    my ($self, @value) = @_;
    if (@value) {
        $self->{devicetoken} = $value[0] // '';
        $self->{devicetoken} =~ s/\s//g;
    }
    return $self->{devicetoken};
}

sub host {
    my ($self) = @_;
    return 'gateway.' . ($self->sandbox ? 'sandbox.' : '') . 'push.apple.com';
}

sub write {
    my ($self, $arguments) = @_;
    for my $name (qw(devicetoken message badge sound custom sandbox)) {
        $self->$name($arguments->{$name}) if defined $arguments->{$name};
    }
    my $token = $self->devicetoken // '';
    if ($token !~ /\A(?:[0-9A-Fa-f]{2}){1,100}\z/) {
        # The original wrote something that is no notification, and the gateway hung up.
        $on_failure->({ token => $token, status => 5, reason => 'BadDeviceToken' }) if $on_failure;
        carp 'devicetoken is not hexadecimal: nothing was sent';
        return 0;
    }
    my $provider = Ferry::DropIn->shared(
        host => $self->host, port => $self->port, cert => $self->cert, key => $self->key, passphrase => $self->passwd,
    );
    my ($own) = $provider->send(\&_receive, [undef, { token => pack('H*', $token), payload => $self->_payload }]);
    if ($own && $own->{isLost}) {
        my $cause = $own->{cause} // 0;
        my $prefix = $cause == FERRY_CAUSE_CREDENTIALS ? 'Failed SSL connect: '
            : $cause == FERRY_CAUSE_NO_CONNECTION ? 'Connect: ' : '';
        croak $prefix, $own->{failure};
    }
    _receive($own) if $own;
    return 1;
}

# The message is text, or its bytes as UTF-8.
sub _payload {
    my ($self) = @_;
    my $message = $self->message;
    utf8::decode($message);
    my %payload = (aps => { alert => $message, badge => $self->badge });
    $payload{aps}{sound} = $self->sound if length $self->sound;
    $payload{custom} = $self->custom if %{ $self->custom };
    return $json->encode(\%payload);
}

# Gets news of notifications that were written.
sub _receive {
    my (@news) = @_;
    $_->{token} = unpack 'H*', $_->{token} for @news;
    if ($on_failure) {
        $on_failure->($_) for @news;
    } elsif (my @failures = grep { $_->{failure} } @news) {
        warn 'Net::APNS: ', Ferry::DropIn::complaint(sub { $_[0]{token} }, @failures), "\n";
    }
    return;
}

1;
