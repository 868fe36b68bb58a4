package Net::APNs::Extended::Base;

use 5.010;
use strict;
use warnings;

use Carp qw(carp croak);
use Ferry::DropIn;

our $VERSION = '0.14';

my %DEFAULT = (cert_type => 1, key_type => 1, read_timeout => 3, write_timeout => undef);

# Programs name these two without loading Net::SSLeay, because the original did.
BEGIN {
    no strict 'refs';
    my %type = (FILETYPE_PEM => 1, FILETYPE_ASN1 => 2);
    for my $name (grep { !defined &{"Net::SSLeay::$_"} } keys %type) {
        my $value = $type{$name};
        *{"Net::SSLeay::$name"} = sub { return $value };
    }
}

my $has_warned;

sub mk_accessors {
    my ($class, @names) = @_;
    for my $name (@names) {
        no strict 'refs';
        *{"${class}::$name"} = sub {
            my ($self, @value) = @_;
            ($self->{$name}) = @value if @value;
            return $self->{$name};
        };
    }
    return;
}

__PACKAGE__->mk_accessors(qw(
    host_production host_sandbox is_sandbox port password cert_file cert cert_type key_file key key_type read_timeout
    write_timeout json
));

sub new {
    my ($class, %arguments) = @_;
    croak '`cert_file` or `cert` must be specify' unless exists $arguments{cert_file} || exists $arguments{cert};
    for my $name (qw(cert key)) {
        croak "specifying both `${name}_file` and `$name` is not allowed"
            if exists $arguments{"${name}_file"} && exists $arguments{$name};
    }
    carp "$class: cert_type and key_type have no effect, the form of a file is recognized"
        if (exists $arguments{cert_type} || exists $arguments{key_type}) && !$has_warned++;
    my $self = bless { %DEFAULT, %arguments }, $class;
    $self->{json} ||= Ferry::DropIn::coder();
    return $self;
}

sub hostname {
    my ($self) = @_;
    return $self->is_sandbox ? $self->host_sandbox : $self->host_production;
}

# The connection belongs to all objects with the same certificate. What was sent stays sent, and errors can still be
# read.
sub disconnect { return 1 }

# The server and the credentials as options of the library.
sub _request {
    my ($self) = @_;
    my $password = $self->password // $self->{passwd};
    return (
        host       => $self->hostname,
        port       => $self->port,
        cert       => $self->cert_file // \$self->{cert},
        key        => $self->key_file  // (defined $self->key ? \$self->{key} : undef),
        passphrase => ref $password ? $password->() : $password,
    );
}

1;
