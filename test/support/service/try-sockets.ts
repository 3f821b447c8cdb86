/**
 * A command that prints what it could open: sockets and pairs of every family, NETLINK for what is not about routes, and the x32
 * call. It uses the numbers of the system calls, so that no library has a say.
 */
export const trySockets = `perl -e '
  my ($socket, $pair) = qx(uname -m) =~ /x86_64/ ? (41, 53) : (198, 199);
  for my $family (0 .. 45) {
    for my $type (1, 2, 3, 5) {
      print "socket $family\\n" if syscall($socket, $family, $type, 0) >= 0;
      my $two = "\\0" x 8;
      print "pair $family\\n" if syscall($pair, $family, $type, 0, $two) >= 0;
    }
  }
  for my $protocol (1 .. 31) { print "netlink $protocol\\n" if syscall($socket, 16, 3, $protocol) >= 0 }
  print "x32\\n" if syscall($socket + 0x40000000, 1, 1, 0) >= 0;
'`
