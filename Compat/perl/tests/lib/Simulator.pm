package Simulator;

# Starts `ferry simulate` on free ports, and writes the files that FERRY_CONFIG names.

use 5.010;
use strict;
use warnings;

use File::Temp ();
use JSON::PP ();
use POSIX ();
use Time::HiRes qw(sleep time);

# The user who installs a package may have set the options of the programs.
delete @ENV{grep { /\AFERRY_/ && !/\AFERRY_(?:LIBRARY|COMMAND|TEST_)/ } keys %ENV};

my $json = JSON::PP->new->utf8->canonical;

# All simulators of a test have the same keys.
my $keys = File::Temp->newdir;

# Tokens that begin like this are refused, or gone.
our %SCRIPT = (
    rules => [{ prefix => 'bad0', status => 8 }, { prefix => '909e', action => 'gone', since => 1_700_000_000 }],
    http2 => { rules => [
        { prefix => 'bad0', status => 400, reason => 'BadDeviceToken' },
        { prefix => '909e', status => 410, timestamp => 1_700_000_000_000 },
    ] },
);

# Whether there is a command to start.
sub is_there {
    my $command = $ENV{FERRY_COMMAND} // 'ferry';
    return scalar grep { -x } $command =~ m{/} ? $command : map { "$_/$command" } split /:/, $ENV{PATH};
}

# `script` has keys of the script beside or in place of those above.
sub new {
    my ($class, %script) = @_;
    my $directory = File::Temp->newdir;
    my $self = bless { directory => $directory, count => 0 }, $class;
    $self->{tls} = $ENV{FERRY_TEST_TLS} // $keys->dirname;
    my $record = $self->{record} = "$directory/record.jsonl";
    write_file("$directory/script.json", $json->encode({ %SCRIPT, feedback => {}, %script }));
    my @command = ($ENV{FERRY_COMMAND} // 'ferry', qw(simulate --binary 0 --feedback 0 --http2 0),
        '--tls-dir', $self->{tls},
        '--script', "$directory/script.json", '--record', $record);
    $self->{pid} = open(my $output, '-|') // die "fork: $!\n";
    if (!$self->{pid}) {
        # It warns of a script for one protocol alone.
        open STDERR, '>', "$directory/errors";
        exec @command or POSIX::_exit(127);
    }
    $self->{output} = $output;
    $self->{ports} = $json->decode(scalar(<$output>) // die "$command[0] did not start: ",
        read_file("$directory/errors"), "\n");
    $self->{owner} = $$;
    return $self;
}

sub cert { return "$_[0]{tls}/client.pem" }
sub key  { return "$_[0]{tls}/client-key.pem" }

# A file of both, as Apple's portal gave it.
sub both {
    my ($self) = @_;
    return $self->{both} //= $self->file(join '', map { read_file($_) } $self->cert, $self->key);
}

sub file {
    my ($self, $text) = @_;
    my $path = "$self->{directory}/file" . ++$self->{count};
    write_file($path, $text);
    return $path;
}

# Options that lead to this simulator.
sub options {
    my ($self, $backend, %more) = @_;
    return (
        backend => $backend, host => 'localhost', port => $self->{ports}{$backend}, ca => "$self->{tls}/ca.pem",
        $backend eq 'http2' ? (feedback => "$self->{directory}/gone.jsonl")
            : (feedbackPort => $self->{ports}{feedback}), %more,
    );
}

sub config {
    my ($self, $backend, %more) = @_;
    return $self->file($json->encode({ $self->options($backend, %more) }));
}

# What was accepted, as hashes: waits until there are `count`, or for 10 s.
sub accepted {
    my ($self, $count) = @_;
    my $end = time + 10;
    while (1) {
        my @lines = grep { /\n\z/ } read_file($self->{record}) =~ /^.*\n/mg;
        return map { $json->decode($_) } @lines if @lines >= $count || time > $end;
        sleep 0.02;
    }
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or die "$path: $!\n";
    local $/;
    return scalar(<$file>) // '';
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    print {$file} $text;
    close $file or die "$path: $!\n";
    return;
}

sub stop {
    my ($self) = @_;
    return if !$self->{pid} || $self->{owner} != $$;
    kill TERM => delete $self->{pid};
    local $?;
    close $self->{output};
    return;
}

sub DESTROY { $_[0]->stop }

1;
